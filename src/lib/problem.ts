// The one error a caller may see. Everything that is not a Problem is answered as `internal`, with a fixed sentence,
// so that no foreign message (which may quote a secret, a host or a body) ever leaves.

/** Every problem a caller can meet: its status, and a title that never changes. `docs/errors.md` explains each one. */
export const problems = {
  invalid_json: { status: 400, title: 'The body is not acceptable JSON' },
  invalid_body: { status: 400, title: 'The body does not fit' },
  invalid_path: { status: 400, title: 'An id in the path is malformed' },
  invalid_query: { status: 400, title: 'The query does not fit' },
  invalid_header: { status: 400, title: 'A header does not fit' },
  invalid_request: { status: 400, title: 'The request is not acceptable HTTP' },
  nothing_to_update: { status: 400, title: 'The body changes nothing' },
  source_not_validated: { status: 400, title: 'The source could not be validated' },
  unusual_endpoint_id: { status: 400, title: 'The id does not look like one of the provider' },
  unauthorized: { status: 401, title: 'The credentials are missing or wrong' },
  role_not_allowed: { status: 403, title: 'The role of the key does not allow this' },
  address_not_allowed: { status: 403, title: 'The key may not be used from this address' },
  route_not_found: { status: 404, title: 'There is nothing at this path' },
  not_found: { status: 404, title: 'The resource was not found' },
  method_not_allowed: { status: 405, title: 'The method is not offered here' },
  last_admin: { status: 409, title: 'An organization keeps at least one admin' },
  private_endpoint_exists: { status: 409, title: 'The private endpoint exists with another description' },
  idempotency_key_reused: { status: 409, title: 'The idempotency key was used for another request' },
  idempotency_key_in_use: { status: 409, title: 'A request with this idempotency key is still running' },
  version_mismatch: { status: 412, title: 'The resource has changed' },
  body_too_large: { status: 413, title: 'The body is too large' },
  unsupported_media_type: { status: 415, title: 'The body is not JSON' },
  too_many_requests: { status: 429, title: 'The rate limit of the key is used up' },
  too_many_failed_authentications: { status: 429, title: 'Too many failed authentications' },
  internal: { status: 500, title: 'Something went wrong on our side' },
  unavailable: { status: 503, title: 'Penstock cannot do this right now' },
} as const

export type ProblemCode = keyof typeof problems

/** One thing that is wrong with what was sent. `path` as people write it: `source.kafka.caCertificate`, `columns[2].name`. */
export interface FieldProblem {
  path: string
  /** A sentence that begins with the path; never quotes a secret. */
  detail: string
}

export interface ProblemOptions {
  /** Every field that is wrong, all at once. */
  fields?: FieldProblem[]
  /** Response headers that belong to the problem, such as `Retry-After`. */
  headers?: Record<string, string>
  /** For the log only. */
  cause?: unknown
}

export class Problem extends Error {
  readonly code: ProblemCode
  readonly fields: FieldProblem[]
  readonly headers: Record<string, string>

  /** `detail` is for the caller: what was wrong, quoting what they sent (never a secret), and what to do. */
  constructor(code: ProblemCode, detail: string, options: ProblemOptions = {}) {
    super(detail, { cause: options.cause })
    this.name = 'Problem'
    this.code = code
    this.fields = options.fields ?? []
    this.headers = options.headers ?? {}
  }

  get status(): number {
    return problems[this.code].status
  }
}

/** All that is wrong with a body, in one answer. */
export function invalidBody(fields: FieldProblem[]): Problem {
  return new Problem('invalid_body', fields.map((field) => field.detail).join('; '), { fields })
}

export function notFound(sentence: string): Problem {
  return new Problem('not_found', sentence)
}
