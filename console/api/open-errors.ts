// Removes the errors of fields that have changed since they were sent.
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

/** The error without changed fields; undefined when no field error is left. */
export function openErrors(error: PenstockError | null, sent: unknown, now: unknown): PenstockError | null {
  if (!error || error.errors.length === 0) return error
  const open = error.errors.filter(
    ({ pointer }) => JSON.stringify(valueAt(sent, pointer)) === JSON.stringify(valueAt(now, pointer)),
  )
  if (open.length === error.errors.length) return error
  return open.length === 0 ? null : withFieldErrors(error, open)
}
