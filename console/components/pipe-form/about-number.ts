// Explanation of a number in the pipe form, with its default where it may be empty.
import { rulesOf } from '../pipe-fields.ts'
import { type FormField, resolved } from './form-field.ts'
import type { PipeDraft } from './pipe-draft.ts'

export function aboutNumber({ pointer, about }: Pick<FormField, 'pointer' | 'about'>, draft: PipeDraft): string {
  const { default: standard, update } = rulesOf(pointer)
  // Group separators would disturb a port.
  const text = typeof standard === 'number' && standard >= 10_000 ? standard.toLocaleString('en') : String(standard)
  const mayBeEmpty = !draft.pipe || update === 'nullable'
  return [resolved(about, draft), mayBeEmpty && `Default: ${text}`].filter(Boolean).join(' ')
}
