// Errors of the API with other words or pointers for the fields that they name.
import { type FieldError, PenstockError } from '../../src/client/error.ts'

export function withFieldErrors(error: PenstockError, errors: FieldError[]): PenstockError {
  const { message, status, code, requestId, retryAfterSeconds, cause } = error
  return new PenstockError(message, { status, code, requestId, errors, retryAfterSeconds, cause })
}
