import { type Fact, NotSet } from '../components/facts.tsx'
import type { FieldText } from '../components/pipe-fields.ts'

/** Label and explanation of a field, with its shown value. */
export function fact({ label, about }: FieldText, value: Fact['value'] | undefined): Fact {
  return { label, about, value: value === undefined || value === '' ? <NotSet /> : value }
}

export const secret = (what: string): Fact => ({
  label: what,
  value: <NotSet>Set, never shown</NotSet>,
})

export const yesNo = (value: boolean | undefined): string | undefined =>
  value === undefined ? undefined : value ? 'Yes' : 'No'
