// A field that was corrected is no longer marked: what was said about it was about the value that was sent.
import type { PenstockError } from '../../src/client/error.ts'
import { withFieldErrors } from './field-errors.ts'

function valueAt(body: unknown, pointer: string): unknown {
  const parts = pointer.replace(/^#?\//, '').split('/')
  return parts.reduce<unknown>(
    (value, part) =>
      typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[part] : undefined,
    body,
  )
}

/** The error without the fields that have another value now; undefined when none is left. */
export function openErrors(error: PenstockError | null, sent: unknown, now: unknown): PenstockError | null {
  if (!error || error.errors.length === 0) return error
  const open = error.errors.filter(
    ({ pointer }) => JSON.stringify(valueAt(sent, pointer)) === JSON.stringify(valueAt(now, pointer)),
  )
  if (open.length === error.errors.length) return error
  return open.length === 0 ? null : withFieldErrors(error, open)
}
