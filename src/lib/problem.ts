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

/** All problems of the API. `docs/errors.md` and the pages at `/problems` are generated from this table. */
export const problems = {
  invalid_json: {
    status: 400,
    title: 'The body is not acceptable JSON',
    help: 'The body is empty, is not UTF-8, or is not JSON as RFC 8259 defines it; or it has a repeated key, the key `__proto__`, a NUL character, half of a surrogate pair, an integer beyond 2^53 - 1, or more than 32 levels. The sentence says where. Nothing was changed.',
    example: 'the body is not valid JSON at line 1, column 9: expected a value',
  },
  invalid_body: {
    status: 400,
    title: 'The body is invalid',
    help: 'Every field that is wrong is named, all at once: unknown, of the wrong type, out of bounds, one that cannot be changed, or one that does not go with the others. Correct them all and send the request again. Nothing was changed.',
    example: 'role must be one of admin, developer, not "owner"',
  },
  invalid_path: {
    status: 400,
    title: 'An id in the path is malformed',
    help: 'Ids of organizations, users, services and pipes are uuids. Copy the id again.',
    example: 'userId must be a uuid, not "amara"',
  },
  invalid_query: {
    status: 400,
    title: 'The query is invalid',
    help: 'A query parameter is unknown, repeated or has a value that is not allowed.',
    example: 'strict must be a boolean, not "yes"',
  },
  invalid_header: {
    status: 400,
    title: 'A header is invalid',
    help: 'A header that may come once came twice, or `If-Match` or `Idempotency-Key` is malformed.',
    example: 'If-Match must be * or entity tags in quotes, as the ETag header gave them',
  },
  invalid_request: {
    status: 400,
    title: 'The request is not acceptable HTTP',
    help: 'The request is not valid HTTP/1.1, did not arrive within its time limit, or its URL or headers are too long.',
    example: 'the URL is longer than 2048 bytes',
  },
  nothing_to_update: {
    status: 400,
    title: 'The body changes nothing',
    help: 'The body has no field that may be changed. An empty list, `null` and `false` are values; an empty object is not.',
    example: 'the body has nothing to update; send at least one field that may be changed',
  },
  source_not_validated: {
    status: 400,
    title: 'The source could not be validated',
    help: '`validateSamples` or a schema discovery was asked for, and the source failed. The sentence names the step (`connect`, `tls`, `authenticate`, `describe`, `read`, `decode` or `fit`), the error and what to do. Nothing was changed. Correct the source, or send the request without `validateSamples`.',
    example:
      'source.kafka.credentials: the step "authenticate" failed: kafka.northwind.example:9092 refused the user name or the password; check both, and that the user has the mechanism SCRAM-SHA-256',
  },
  pipe_already_running: {
    status: 400,
    title: 'The pipe runs already',
    help: '`start` is for a pipe that is stopped, paused, completed or failed. This one runs, is on its way to, or has not quite stopped yet.',
    example: 'pipe is already running',
  },
  pipe_cannot_resync: {
    status: 400,
    title: 'The pipe cannot be resynced',
    help: '`resync` is for a postgres pipe that runs. Start the pipe first; a pipe of another kind has nothing to resync.',
    example: 'a kafka pipe cannot be resynced; only postgres pipes can',
  },
  engine_refuses: {
    status: 400,
    title: 'The engine of the service does not allow this',
    help: 'The service has no endpoint, or its engine refuses the user name, the password, or what was asked of it. The sentence says what to do.',
    example: 'the service has no endpoint; register one',
  },
  unusual_endpoint_id: {
    status: 400,
    title: 'The id does not look like one of the provider',
    help: 'With `?strict=true`, the id of a private endpoint must have the form that its cloud provider uses. Check the id, or leave `strict` out.',
    example:
      'id "vpce-1" does not look like an endpoint of aws, which is "vpce-" and 8 or 17 hex digits; send it without ?strict=true to use it anyway',
  },
  unauthorized: {
    status: 401,
    title: 'The credentials are missing or wrong',
    help: 'Every operation needs HTTP Basic authentication with the id and the secret of an API key. An unknown, wrong, disabled or expired key gets the same answer. In the console: the session has ended; sign in again.',
    example: 'send a valid API key: header "Authorization: Basic", key id as user name and key secret as password',
  },
  sign_in_failed: {
    status: 401,
    title: 'Signing in failed',
    help: 'The email address or the password is wrong, or the person has no password; or the sign-in link has been used or has expired. Who has forgotten the password can ask the operator of this Penstock for a sign-in link.',
    example: 'the email address or the password is wrong',
  },
  role_not_allowed: {
    status: 403,
    title: 'The role of the key does not allow this',
    help: 'A key with the role `developer`, or a person who has it in the organization, may read everything and change nothing. Use a key with the role `admin`, or ask an admin for the role.',
    example: 'Update organization member needs a key with the role admin; this key has the role developer',
  },
  address_not_allowed: {
    status: 403,
    title: 'The key may not be used from this address',
    help: 'The key has an IP access list that does not have the address the request came from. Behind a proxy, the operator must name the proxy in `PENSTOCK_TRUSTED_PROXIES`.',
    example: 'the key may not be used from 192.0.2.7; its IP access list does not have it',
  },
  cross_origin: {
    status: 403,
    title: 'The request does not come from the console',
    help: 'A request with a session must come from a page of this very Penstock: its `Origin` must be that of `PENSTOCK_PUBLIC_URL`, or, where that is not set, the address that the request was sent to. Set `PENSTOCK_PUBLIC_URL` to the address in the browser. Programs use an API key instead.',
    example:
      'a request with a session must come from a page of this Penstock, and the headers Origin and Sec-Fetch-Site do not say so; PENSTOCK_PUBLIC_URL must be the address in the browser',
  },
  csrf_token_mismatch: {
    status: 403,
    title: 'The CSRF token does not belong to the session',
    help: 'A change with a session needs the header `x-csrf-token` with the token that `GET /console/api/session` gave for this very session. Load the page again.',
    example: 'the header x-csrf-token is not the token of this session; load the page again',
  },
  fresh_sign_in_needed: {
    status: 403,
    title: 'Sign in again first',
    help: 'An account without a password gets its first one only within 15 minutes after a sign-in. Sign out, sign in again with the OpenID provider or with a sign-in link, and set the password then.',
    example: 'the first password is set within 15 minutes after signing in; sign out, sign in again, and set it then',
  },
  sign_in_needed: {
    status: 403,
    title: 'Only the invited person can accept',
    help: 'The invitation is for somebody who has an account here already. Sign in with the email address that the sentence names, then open the link of the invitation again.',
    example:
      'noor.haddad@northwind.example has an account already; sign in as noor.haddad@northwind.example, then open the link of the invitation again',
  },
  wrong_password: {
    status: 403,
    title: 'The current password is wrong',
    help: 'A password is changed only by somebody who knows it. Nothing was changed. Who has forgotten it can ask the operator of this Penstock for a sign-in link.',
    example: 'currentPassword is not the password of this account; nothing was changed',
  },
  route_not_found: {
    status: 404,
    title: 'There is nothing at this path',
    help: 'No operation has this path. `GET /v1` describes them all, and `/docs` shows them.',
    example: 'there is nothing at GET /v1/organisations; GET /v1 describes what there is',
  },
  not_found: {
    status: 404,
    title: 'The resource was not found',
    help: 'There is nothing with this id in the organization of the key. What belongs to another organization is answered in the same way.',
    example: 'pipe 4f6f2d7e-58a5-4e6c-9d5e-0d6d1f3c2b1a was not found in service 9c1d7e52-6b3f-4c8a-8e21-5f4b3a2d1c00',
  },
  invitation_not_valid: {
    status: 404,
    title: 'The invitation is not valid',
    help: 'There is no invitation with this link: it was accepted or deleted, it has expired, or the link is not complete. Ask an admin of the organization for a new one.',
    example: 'this invitation was accepted or withdrawn, or has expired; ask whoever invited you for a new one',
  },
  private_endpoints_not_configured: {
    status: 404,
    title: 'No private endpoint service is set for the region',
    help: 'What a private endpoint must be connected to is set by the operator of this Penstock, per provider and region, in `PENSTOCK_PRIVATE_ENDPOINT_SERVICES`. Ask the operator to add the provider and region of the service.',
    example:
      'this Penstock has no private endpoint service for aws/eu-west-1; its operator must add one to PENSTOCK_PRIVATE_ENDPOINT_SERVICES',
  },
  method_not_allowed: {
    status: 405,
    title: 'The method is not offered here',
    help: 'The path exists, but not with this method. The header `Allow` lists the methods that it has.',
    example: 'PUT is not offered here; offered: GET, PATCH',
  },
  last_admin: {
    status: 409,
    title: 'An organization keeps at least one admin',
    help: 'The member is the only admin of the organization and cannot stop being one. Make another member an admin first.',
    example:
      'member 7c9e6679-7425-40de-944b-e07fc1f90ae7 is the only admin of organization 1b4e28ba-2fa1-41d2-883f-0016d3cca427; make another member an admin first',
  },
  already_member: {
    status: 409,
    title: 'The person is a member already',
    help: 'The organization has a member with this email address. Nobody needs an invitation to where they are; change the role of the member instead.',
    example: 'amara.okafor@northwind.example is already a member of organization 1b4e28ba-2fa1-41d2-883f-0016d3cca427',
  },
  invitation_exists: {
    status: 409,
    title: 'The person has been invited already',
    help: 'There is an invitation of this email address that has not expired. The link of an invitation is shown once; to send a new one, delete the invitation and create another.',
    example:
      'noor.haddad@northwind.example has been invited already, until 2026-11-09T16:40:09.120Z; to send a new link, delete invitation b2f7c9d4-1e5a-4c38-9f06-7a8d3e2c5b41 first',
  },
  own_key: {
    status: 409,
    title: 'A key cannot shut itself out',
    help: 'The request was made with the very key that it would delete, disable, demote or expire, or whose IP access list would no longer have the address of the request. Use another key with the role `admin`. A key may rotate itself.',
    example:
      'this request was made with key 3f0a5c1e-9b7d-4e62-8a41-6d2c9e5b7f10 itself, which cannot disable itself; use another admin key',
  },
  service_has_pipes: {
    status: 409,
    title: 'The service has pipes',
    help: 'A service cannot be deleted while pipes fill its tables. Delete its pipes first.',
    example: 'service 9c1d7e52-6b3f-4c8a-8e21-5f4b3a2d1c00 has 4 pipes; delete them first',
  },
  private_endpoint_exists: {
    status: 409,
    title: 'The private endpoint exists with another description',
    help: 'The organization has an endpoint with this id and another description. Send the description it has.',
    example:
      'private endpoint vpce-0a1b2c3d4e5f67890 is already registered with the description "Analytics VPC"; send that description',
  },
  idempotency_key_reused: {
    status: 409,
    title: 'The idempotency key was used for another request',
    help: 'Within 24 hours an `Idempotency-Key` stands for one request. Use a new key for a new request.',
    example: 'the Idempotency-Key was used before for another request; use a new key for a new request',
  },
  idempotency_key_in_use: {
    status: 409,
    title: 'A request with this idempotency key is still running',
    help: 'The first request with this `Idempotency-Key` has not been answered yet. Wait a second and send it again: you get its answer.',
    example: 'a request with this Idempotency-Key is still running; try again in a second',
  },
  changed_meanwhile: {
    status: 409,
    title: 'Somebody else changed it at the same time',
    help: 'With `validateSamples` the changed configuration is checked against its source before it is stored. Others changed the same pipe again and again while that went on, so that what was checked is not what would have been stored. Nothing was changed. Send the request again.',
    example: 'the pipe was changed by others while its source was being checked; send the request again',
  },
  version_mismatch: {
    status: 412,
    title: 'The resource has changed',
    help: 'The `If-Match` of the request is not the present `ETag`: somebody changed the resource since it was read. Read it again and repeat the change.',
    example:
      'If-Match does not match: the resource has changed and its ETag is now "4.1"; read it again and repeat the change',
  },
  body_too_large: {
    status: 413,
    title: 'The body is too large',
    help: 'A body may have 1 MiB; what the console sends to sign in or to change an account, 8 KiB.',
    example: 'the body is larger than 1048576 bytes',
  },
  unsupported_media_type: {
    status: 415,
    title: 'The body is not JSON',
    help: 'Send the body as `Content-Type: application/json` (or `application/merge-patch+json`), in UTF-8 and not compressed.',
    example: 'send the body as application/json or application/merge-patch+json',
  },
  too_many_requests: {
    status: 429,
    title: 'The rate limit of the key is used up',
    help: 'The operator has set a limit of requests per key. `Retry-After` says when to try again.',
    example: 'the key may make 100 requests in 10 s; try again in 4 s',
  },
  too_many_failed_authentications: {
    status: 429,
    title: 'Too many failed authentications',
    help: 'Too many requests with wrong credentials came from this address or for this key id; or too many wrong passwords for this email address from this address. Wait a second; check the credentials. The right key is never refused by this.',
    example: 'too many failed authentications; try again in a second',
  },
  internal: {
    status: 500,
    title: 'Something went wrong on our side',
    help: 'A defect of Penstock. The log has the details under the request id; please report it.',
    example: 'something went wrong on our side; the log has it under request 0b0f2a52-7c0f-4a6e-8f0c-6c2b1f2f9d11',
  },
  engine_unavailable: {
    status: 503,
    title: 'The engine of the service cannot be reached',
    help: 'Penstock itself is well; the engine of the service did not answer, or not in time. Try again in a few seconds; the state of the service shows whether it is reachable.',
    example: 'the engine did not answer within 10 s',
  },
  unavailable: {
    status: 503,
    title: 'Penstock cannot do this right now',
    help: 'The database is away or full, or too much is waiting. Nothing was changed, unless the connection was lost while the change was being committed: send the request again with the same `Idempotency-Key`, and it is applied once.',
    example: 'the database cannot be used right now; try again in a second',
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
