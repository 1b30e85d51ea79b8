// Converts the field errors of an API error to other texts or pointers.
import { type FieldError, PenstockError } from '../../src/client/error.ts'

export function withFieldErrors(error: PenstockError, errors: FieldError[]): PenstockError {
  const { message, status, code, requestId, retryAfterSeconds, cause } = error
  return new PenstockError(message, { status, code, requestId, errors, retryAfterSeconds, cause })
}
