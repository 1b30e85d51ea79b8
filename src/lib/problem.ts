// Errors that API callers see. Any other error is answered as `internal` with a fixed sentence, so that no foreign message, which may
// quote a secret, a host or a body, is sent.

interface ProblemEntry {
  status: number
  /** Never changes. */
  title: string
  /** Meaning and remedy, for the documentation. */
  help: string
  /** An example of the message. */
  example: string
}

/** All problems of the API. `docs/reference/errors.md` and the pages at `/problems` are generated from this table. */
export const problems = {
  invalid_json: {
    status: 400,
    title: 'The request body is not valid JSON',
    help:
      'The body is empty, is not UTF-8, or is not JSON according to RFC 8259. These are also errors: a duplicate key, ' +
      'the key `__proto__`, a NUL character, a lone surrogate, an integer beyond 2^53 - 1, and more than 32 levels of ' +
      'nesting. The message has the position. Nothing was changed.',
    example: 'the body is not valid JSON at line 1, column 9: expected a value',
  },
  invalid_body: {
    status: 400,
    title: 'The request body is invalid',
    help:
      'All validation errors are returned at once. A field is unknown, has the wrong type, is out of bounds, is ' +
      'read-only, or conflicts with another field. Correct the fields and send the request again. Nothing was changed.',
    example: 'role must be one of admin, developer, not "owner"',
  },
  invalid_path: {
    status: 400,
    title: 'An id in the path is invalid',
    help: 'Ids of organizations, users, services and pipes are UUIDs. Copy the id again.',
    example: 'userId must be a uuid, not "amara"',
  },
  invalid_query: {
    status: 400,
    title: 'The query string is invalid',
    help: 'A query parameter is unknown, is repeated, or has an invalid value.',
    example: 'strict must be a boolean, not "yes"',
  },
  invalid_header: {
    status: 400,
    title: 'A header is invalid',
    help: 'A header is repeated, or `If-Match` or `Idempotency-Key` has an invalid value.',
    example: 'If-Match must be * or entity tags in quotes, as in the ETag header',
  },
  invalid_request: {
    status: 400,
    title: 'The HTTP request is invalid',
    help: 'The request is not valid HTTP/1.1, did not arrive within the time limit, or its URL or headers are too long.',
    example: 'the URL is longer than 2048 bytes',
  },
  nothing_to_update: {
    status: 400,
    title: 'The request body has no field to update',
    help: 'The body has no field that can be updated. An empty list, `null` and `false` are values; an empty object is not.',
    example: 'the body has nothing to update; send at least one field that can be updated',
  },
  source_not_validated: {
    status: 400,
    title: 'The source could not be validated',
    help:
      'A request with `validateSamples`, or a schema discovery, could not validate the source. The message names the ' +
      'step (`connect`, `tls`, `authenticate`, `describe`, `read`, `decode` or `fit`), the error and what to do. ' +
      'Nothing was changed. Correct the source, or send the request without `validateSamples`.',
    example:
      'source.kafka.credentials: the step "authenticate" failed: kafka.northwind.example:9092 refused the user name or the password; check both, and that the user has the mechanism SCRAM-SHA-256',
  },
  pipe_already_running: {
    status: 400,
    title: 'The pipe is already running',
    help: '`start` is for a pipe that is stopped, paused, completed or failed. This pipe is running, starting or stopping.',
    example: 'pipe is already running',
  },
  pipe_cannot_resync: {
    status: 400,
    title: 'The pipe cannot be resynced',
    help: '`resync` is for a running PostgreSQL pipe. Start the pipe first. Other pipes cannot be resynced.',
    example: 'a kafka pipe cannot be resynced; only postgres pipes can',
  },
  engine_refuses: {
    status: 400,
    title: 'ClickHouse rejected the request',
    help:
      'The service has no endpoint, or ClickHouse rejects the user name, the password or the query. The message says ' +
      'what to do.',
    example: 'the service has no endpoint; register one',
  },
  unusual_endpoint_id: {
    status: 400,
    title: 'The id does not have the format of the provider',
    help:
      'With `?strict=true`, the id of a private endpoint must have the format of its cloud provider. Check the id, or ' +
      'omit `strict`.',
    example:
      'id "vpce-1" does not look like an endpoint of aws, which is "vpce-" and 8 or 17 hex digits; send it without ?strict=true to use it anyway',
  },
  unauthorized: {
    status: 401,
    title: 'The credentials are missing or invalid',
    help:
      'Every operation requires HTTP Basic authentication with the key id and the secret of an API key. The response is ' +
      'the same for an unknown, disabled or expired key and for a wrong secret. In the console: the session has ended; ' +
      'sign in again.',
    example: 'send a valid API key: header "Authorization: Basic", key id as user name and key secret as password',
  },
  sign_in_failed: {
    status: 401,
    title: 'Sign-in failed',
    help:
      'The email address or the password is wrong, the user has no password, or the sign-in link was used or has ' +
      'expired. If you forgot the password, ask the operator of Penstock for a sign-in link.',
    example: 'the email address or the password is wrong',
  },
  role_not_allowed: {
    status: 403,
    title: 'The role does not allow this operation',
    help:
      'The role `developer` allows only read operations. Use an API key with the role `admin`, or ask an admin to ' +
      'change your role.',
    example: 'Update organization member needs a key with the role admin; this key has the role developer',
  },
  address_not_allowed: {
    status: 403,
    title: 'The API key is not allowed from this address',
    help:
      'The address of the client is not in the IP access list of the key. Behind a proxy, the operator must add the ' +
      'proxy to `PENSTOCK_TRUSTED_PROXIES`.',
    example: 'the key may not be used from 192.0.2.7: the address is not in its IP access list',
  },
  cross_origin: {
    status: 403,
    title: 'The request is not from the console',
    help:
      'A request with a session must come from the console of this Penstock. Its `Origin` must be that of ' +
      '`PENSTOCK_PUBLIC_URL` or, by default, the address that the request was sent to. Set `PENSTOCK_PUBLIC_URL` to the ' +
      'address in the browser. Programs must use an API key.',
    example:
      'the request has a session, but its headers Origin and Sec-Fetch-Site are not those of this Penstock; PENSTOCK_PUBLIC_URL must be the address in the browser',
  },
  csrf_token_mismatch: {
    status: 403,
    title: 'The CSRF token is not that of the session',
    help:
      'A change with a session requires the header `x-csrf-token` with the token from `GET /console/api/session` of the ' +
      'same session. Reload the page.',
    example: 'the header x-csrf-token is not the token of this session; reload the page',
  },
  fresh_sign_in_needed: {
    status: 403,
    title: 'A recent sign-in is required',
    help:
      'An account without a password can set one only within 15 minutes after a sign-in. Sign out, sign in again with ' +
      'the OpenID provider or with a sign-in link, and set the password.',
    example: 'the first password can be set only within 15 minutes after sign-in; sign out, sign in again, and set it',
  },
  sign_in_needed: {
    status: 403,
    title: 'Only the invited person can accept',
    help:
      'The invited person already has an account. Sign in with the email address in the message, then open the link of ' +
      'the invitation again.',
    example:
      'noor.haddad@northwind.example has an account already; sign in as noor.haddad@northwind.example, then open the link of the invitation again',
  },
  wrong_password: {
    status: 403,
    title: 'The current password is wrong',
    help:
      'To change the password, send the current password. Nothing was changed. If you forgot it, ask the operator of ' +
      'Penstock for a sign-in link.',
    example: 'currentPassword is not the password of this account; nothing was changed',
  },
  route_not_found: {
    status: 404,
    title: 'The path does not exist',
    help: 'No operation has this path. `GET /v1` returns the OpenAPI document, and `/docs` shows it.',
    example: 'there is no operation GET /v1/organisations; GET /v1 lists all operations',
  },
  not_found: {
    status: 404,
    title: 'The resource was not found',
    help:
      'No resource with this id exists in the organization of the API key. The response is the same for a resource of ' +
      'another organization.',
    example: 'pipe 4f6f2d7e-58a5-4e6c-9d5e-0d6d1f3c2b1a was not found in service 9c1d7e52-6b3f-4c8a-8e21-5f4b3a2d1c00',
  },
  invitation_not_valid: {
    status: 404,
    title: 'The invitation is not valid',
    help:
      'The invitation was accepted or deleted, has expired, or the link is incomplete. Ask an admin of the organization ' +
      'for a new invitation.',
    example: 'this invitation was accepted or deleted, or has expired; ask the person who invited you for a new one',
  },
  private_endpoints_not_configured: {
    status: 404,
    title: 'No private endpoint service is configured for the region',
    help:
      'The operator of Penstock configures the endpoint service for each provider and region in ' +
      '`PENSTOCK_PRIVATE_ENDPOINT_SERVICES`. Ask the operator to add the provider and region of the service.',
    example:
      'this Penstock has no private endpoint service for aws/eu-west-1; its operator must add one to PENSTOCK_PRIVATE_ENDPOINT_SERVICES',
  },
  method_not_allowed: {
    status: 405,
    title: 'The method is not allowed',
    help: 'The path exists, but does not support this method. The header `Allow` lists the supported methods.',
    example: 'PUT is not allowed here; allowed: GET, PATCH',
  },
  last_admin: {
    status: 409,
    title: 'An organization needs at least one admin',
    help:
      'The member is the only admin of the organization, and can be neither removed nor made a developer. Make another ' +
      'member an admin first.',
    example:
      'member 7c9e6679-7425-40de-944b-e07fc1f90ae7 is the only admin of organization 1b4e28ba-2fa1-41d2-883f-0016d3cca427; make another member an admin first',
  },
  already_member: {
    status: 409,
    title: 'The person is already a member',
    help: 'The organization has a member with this email address. To change the role, update the member.',
    example: 'amara.okafor@northwind.example is already a member of organization 1b4e28ba-2fa1-41d2-883f-0016d3cca427',
  },
  invitation_exists: {
    status: 409,
    title: 'The person is already invited',
    help:
      'An invitation for this email address exists and has not expired. Its link is returned only once. To get a new ' +
      'link, delete the invitation and create another.',
    example:
      'noor.haddad@northwind.example is already invited, until 2026-11-09T16:40:09.120Z; to send a new link, delete invitation b2f7c9d4-1e5a-4c38-9f06-7a8d3e2c5b41 first',
  },
  own_key: {
    status: 409,
    title: 'A key cannot lock itself out',
    help:
      'The request would delete, disable, demote or expire the key that authenticates it, or remove the address of the ' +
      'client from the IP access list of that key. Use another key with the role `admin`. A key can rotate itself.',
    example:
      'this request was made with key 3f0a5c1e-9b7d-4e62-8a41-6d2c9e5b7f10 itself, which cannot disable itself; use another admin key',
  },
  service_has_pipes: {
    status: 409,
    title: 'The service has pipes',
    help: 'A service with pipes cannot be deleted. Delete its pipes first.',
    example: 'service 9c1d7e52-6b3f-4c8a-8e21-5f4b3a2d1c00 has 4 pipes; delete them first',
  },
  private_endpoint_exists: {
    status: 409,
    title: 'The private endpoint exists with another description',
    help: 'The organization has an endpoint with this id and another description. Send that description.',
    example:
      'private endpoint vpce-0a1b2c3d4e5f67890 is already registered with the description "Analytics VPC"; send that description',
  },
  idempotency_key_reused: {
    status: 409,
    title: 'The idempotency key was used for another request',
    help: 'For 24 hours, an `Idempotency-Key` belongs to one request. Use a new key for a new request.',
    example: 'the Idempotency-Key was used before for another request; use a new key for a new request',
  },
  idempotency_key_in_use: {
    status: 409,
    title: 'A request with this idempotency key is still running',
    help:
      'The first request with this `Idempotency-Key` is still running. Wait a second and send the request again to get ' +
      'its response.',
    example: 'a request with this Idempotency-Key is still running; try again in a second',
  },
  changed_meanwhile: {
    status: 409,
    title: 'The resource was changed concurrently',
    help:
      'With `validateSamples`, Penstock checks the source before it stores the change. Other requests changed the pipe ' +
      'during the check, also after retries, so the checked configuration is not current. Nothing was changed. Send the ' +
      'request again.',
    example: 'other requests changed the pipe while its source was being checked; send the request again',
  },
  version_mismatch: {
    status: 412,
    title: 'The resource has changed',
    help:
      'The `If-Match` of the request is not the current `ETag`: the resource was changed after it was read. Read it ' +
      'again and repeat the change.',
    example:
      'If-Match does not match: the resource has changed and its ETag is now "4.1"; read it again and repeat the change',
  },
  body_too_large: {
    status: 413,
    title: 'The request body is too large',
    help: 'The maximum size is 1 MiB. For sign-in and account requests of the console it is 8 KiB.',
    example: 'the body is larger than 1048576 bytes',
  },
  unsupported_media_type: {
    status: 415,
    title: 'The request body is not JSON',
    help:
      'Send the body as `Content-Type: application/json` or `application/merge-patch+json`, in UTF-8 and not ' +
      'compressed.',
    example: 'send the body as application/json or application/merge-patch+json',
  },
  too_many_requests: {
    status: 429,
    title: 'The rate limit of the API key is exceeded',
    help: 'The operator has set a rate limit for each API key. Try again after the number of seconds in `Retry-After`.',
    example: 'the key may make 100 requests in 10 s; try again in 4 s',
  },
  too_many_failed_authentications: {
    status: 429,
    title: 'Too many failed authentications',
    help:
      'Penstock received too many wrong credentials from this address or for this key id, or too many wrong passwords ' +
      'for this email address from this address. Check the credentials, and try again in a second. Requests with a ' +
      'valid key are never rejected for this reason.',
    example: 'too many failed authentications; try again in a second',
  },
  internal: {
    status: 500,
    title: 'Internal error',
    help: 'A defect of Penstock. The log has the details under the request id. Report it with these details.',
    example: 'internal error; the log has the details under request 0b0f2a52-7c0f-4a6e-8f0c-6c2b1f2f9d11',
  },
  engine_unavailable: {
    status: 503,
    title: 'ClickHouse is not reachable',
    help:
      'The ClickHouse of the service did not answer in time. Try again in a few seconds. The state of the service shows ' +
      'whether ClickHouse is reachable.',
    example: 'the engine did not answer within 10 s',
  },
  unavailable: {
    status: 503,
    title: 'Penstock is temporarily unavailable',
    help:
      'The database of Penstock is unreachable or full, or too many requests are waiting. Nothing was changed, unless ' +
      'the connection was lost during the commit. Send the request again with the same `Idempotency-Key`: it is applied ' +
      'once.',
    example: 'the database is not available; try again in a second',
  },
} as const satisfies Record<string, ProblemEntry>

export type ProblemCode = keyof typeof problems

/** One validation error. `path` as people write it: `source.kafka.caCertificate`, `columns[2].name`. */
export interface FieldProblem {
  path: string
  /** A sentence that begins with the path; never quotes a secret. */
  detail: string
}

export interface ProblemOptions {
  /** All invalid fields. */
  fields?: FieldProblem[]
  /** Response headers that belong to the problem, such as `Retry-After`. */
  headers?: Record<string, string>
  /** For the log only. */
  cause?: unknown
  /** Caused by overload, which any caller can produce: not logged as a failure. */
  isOverload?: boolean
}

export class Problem extends Error {
  readonly code: ProblemCode
  readonly fields: FieldProblem[]
  readonly headers: Record<string, string>
  readonly isOverload: boolean

  /** `detail` is for the caller: the error, quoting what was sent (never a secret), and what to do. */
  constructor(code: ProblemCode, detail: string, options: ProblemOptions = {}) {
    // The stack of a Problem is never read, and capturing it takes a quarter of the time of rejecting a request.
    const usualLimit = Error.stackTraceLimit
    Error.stackTraceLimit = 0
    super(detail, { cause: options.cause })
    Error.stackTraceLimit = usualLimit
    this.name = 'Problem'
    this.code = code
    this.fields = options.fields ?? []
    this.headers = options.headers ?? {}
    this.isOverload = options.isOverload ?? false
  }

  get status(): number {
    return problems[this.code].status
  }
}

/** All validation errors of a body in one answer. */
export function invalidBody(fields: FieldProblem[]): Problem {
  return new Problem('invalid_body', fields.map((field) => field.detail).join('; '), { fields })
}

export function notFound(sentence: string): Problem {
  return new Problem('not_found', sentence)
}
