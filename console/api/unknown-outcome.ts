// A change whose answer was lost may have been made: nobody may be told that it was not.
import { type ErrorCode, PenstockError } from '../../src/client/error.ts'

const unknownOutcome = 'unknown_outcome'

/**
 * Nothing came back, or the word of something in between, or only that an earlier attempt still runs; or that the database cannot be
 * used, which may have come to pass after it had kept the change.
 */
const silentCodes: ErrorCode[] = ['no_answer', 'invalid_answer', 'idempotency_key_in_use', 'unavailable']

/** The error of a change as people are to be told it. `whatToDo` is for those who cannot know whether it was made. */
export function errorOfChange(error: unknown, whatToDo: string): unknown {
  if (!(error instanceof PenstockError) || !silentCodes.includes(error.code)) return error
  const { message, status, requestId, retryAfterSeconds } = error
  const told = `It may have been done. ${whatToDo} What went wrong: ${message}.`
  return new PenstockError(told, { status, code: unknownOutcome, requestId, retryAfterSeconds, cause: error })
}

export function isOutcomeUnknown(error: PenstockError): boolean {
  return error.code === unknownOutcome
}
