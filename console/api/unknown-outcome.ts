// Errors of changes with unknown outcome: if the response was lost, the change may have been applied.
import { type ErrorCode, PenstockError } from '../../src/client/error.ts'

const unknownOutcome = 'unknown_outcome'

/**
 * No response, a response of a proxy, or an earlier attempt that still runs. Also an unavailable database, which may have failed
 * after committing the change.
 */
const silentCodes: ErrorCode[] = ['no_answer', 'invalid_answer', 'idempotency_key_in_use', 'unavailable']

/** The error of a change for display. `whatToDo` is shown when the outcome is unknown. */
export function errorOfChange(error: unknown, whatToDo: string): unknown {
  if (!(error instanceof PenstockError) || !silentCodes.includes(error.code)) return error
  const { message, status, requestId, retryAfterSeconds } = error
  const text = `It may have been done. ${whatToDo} Error: ${message}.`
  return new PenstockError(text, { status, code: unknownOutcome, requestId, retryAfterSeconds, cause: error })
}

export function isOutcomeUnknown(error: PenstockError): boolean {
  return error.code === unknownOutcome
}
