// The one kind of error that the client throws, beside the reason of a signal that was aborted.
import type { ProblemCode } from './shapes.ts'

/** What the client itself finds wrong. None of these was refused by Penstock. */
export type ClientCode =
  /** No answer came; whether a change was applied is not known. */
  | 'no_answer'
  /** An answer came, and not as Penstock gives it: something else listens there, or stands between. */
  | 'invalid_answer'
  /** The request could not be made of what was given; nothing was sent. */
  | 'invalid_request'

export interface FieldError {
  /** A JSON pointer into the body, such as `#/columns/2/name`, or the name of a parameter. */
  pointer: string
  detail: string
}

export interface ErrorFacts {
  status: number
  code: ErrorCode
  requestId?: string | undefined
  errors?: FieldError[]
  retryAfterSeconds?: number | undefined
  cause?: unknown
}

/** Codes that a newer Penstock has are strings too. */
export type ErrorCode = ProblemCode | ClientCode | (string & {})

export class PenstockError extends Error {
  /** The HTTP status code; 0 when no answer came. */
  readonly status: number
  /** What to decide by: a code of docs/errors.md, or one of the client's own. */
  readonly code: ErrorCode
  /** The log of Penstock has the request under this id. */
  readonly requestId: string | undefined
  /** The fields that are wrong. */
  readonly errors: FieldError[]
  /** How long Penstock asked to wait, when that was longer than the call had time for. */
  readonly retryAfterSeconds: number | undefined

  constructor(message: string, facts: ErrorFacts) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause })
    this.name = 'PenstockError'
    this.status = facts.status
    this.code = facts.code
    this.requestId = facts.requestId
    this.errors = facts.errors ?? []
    this.retryAfterSeconds = facts.retryAfterSeconds
  }
}
