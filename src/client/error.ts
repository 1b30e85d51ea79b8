// The error class of the client. Only an aborted signal throws something else: its reason.
import type { ProblemCode } from './shapes.ts'

/** Errors detected by the client, not returned by Penstock. */
export type ClientCode =
  /** No response; it is unknown whether a change was applied. */
  | 'no_answer'
  /** The response is not from Penstock: another server listens there, or a proxy answered. */
  | 'invalid_answer'
  /** The arguments are invalid; nothing was sent. */
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

/** Includes codes of newer versions of Penstock. */
export type ErrorCode = ProblemCode | ClientCode | (string & {})

export class PenstockError extends Error {
  /** HTTP status code; 0 without a response. */
  readonly status: number
  /** A code of docs/reference/errors.md, or one of the client's own. */
  readonly code: ErrorCode
  /** Id of the request in Penstock's log. */
  readonly requestId: string | undefined
  /** Errors by field. */
  readonly errors: FieldError[]
  /** The time from `Retry-After`, when it exceeded the timeout of the call. */
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
