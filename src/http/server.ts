// The HTTP server. Every operation goes through the same steps, in this order: route and method → throttle → authenticate →
// ids → organization → role → body → validate → run → answer. The body is not read before the caller is authorized.
import { randomUUID } from 'node:crypto'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Log, LogFields } from '../lib/log.ts'
import { describeError } from '../lib/log.ts'
import { invalidBody, Problem } from '../lib/problem.ts'
import { shapeProblems } from '../lib/shape.ts'
import { echoProblems } from '../lib/shape-echo.ts'
import { assertKnownKeywords } from '../lib/shape-keywords.ts'
import { CredentialReader, signInAgain, unauthorized } from './authentication.ts'
import { type ConsoleParts, serveConsoleActions } from './console.ts'
import type { SignedIn } from './console-action.ts'
import { errorAnswer, internalProblem } from './errors.ts'
import { knowEveryMethod, refuseOtherMethods } from './methods.ts'
import type { ServerMetrics } from './metrics.ts'
import {
  type AnyOperation,
  type Caller,
  hasEtag,
  type OperationAnswer,
  type OperationRequest,
  organizationNotFound,
  type Role,
  requireRole,
  takesIfMatch,
} from './operation.ts'
import { FailureThrottle, type RateLimit, RequestLimiter, throttleName, tooManyFailures } from './rate-limit.ts'
import {
  answerClientError,
  canonicalJson,
  checkHeaders,
  limits,
  parseIdempotencyKey,
  parseIfMatch,
  parseJsonBody,
  parseQuery,
  plainAddress,
  userAgentOf,
} from './request.ts'

/** A key as authentication sees it: checked, or refused because of the address. */
export interface AuthenticatedKey {
  id: string
  keyId: string
  organizationId: string
  role: Role
  addressAllowed: boolean
}

/** A session that stands, as an operation sees it. */
export interface PersonWithSession {
  sessionId: string
  userId: string
  /** Of the person in the organization; undefined when the person is no member. */
  role: Role | undefined
  csrfToken: string
}

/** Everything the server asks of the rest of Penstock. */
export interface ServerParts {
  operations: AnyOperation[]
  console: ConsoleParts
  /** Undefined for a session that is unknown or has ended; without an organization the person has no role. */
  findPerson(token: string, organizationId: string | undefined): Promise<PersonWithSession | undefined>
  /** Undefined for every kind of wrong credentials. */
  authenticate(keyId: string, secretHash: string, address: string): Promise<AuthenticatedKey | undefined>
  read(request: OperationRequest): Promise<OperationAnswer>
  write(request: OperationRequest): Promise<OperationAnswer>
  /** The resource that a PATCH is about, as it is read. */
  current(operation: AnyOperation, caller: Caller, params: Record<string, string>): Promise<unknown>
  /** Whether Penstock is shutting down. */
  closing(): boolean
  /** A hash that tells nothing about the text. */
  fingerprint(purpose: string, text: string): string
  hashSecret(secret: string): string
  log: Log
  metrics: ServerMetrics
  rateLimit: RateLimit | undefined
  trustedProxies: string[]
}

declare module 'fastify' {
  interface FastifyRequest {
    penstock: RequestState
  }
}

interface RequestState {
  requestId: string
  startedAtMs: number
  operation: { id: string } | undefined
  key: AuthenticatedKey | undefined
  caller: Caller | undefined
  /** Who is signed in, for an action of the console. */
  signedIn: SignedIn | undefined
  params: Record<string, string>
  headers: Record<string, string>
}

export function buildServer(parts: ServerParts): FastifyInstance {
  const { log, metrics } = parts
  for (const { params, query, body, result } of [...parts.operations, ...parts.console.actions] as AnyOperation[]) {
    for (const shape of [params, query, body, result]) if (shape) assertKnownKeywords(shape)
  }
  const credentialReader = new CredentialReader(parts.hashSecret)
  const failures = new FailureThrottle()
  const limiter = parts.rateLimit && new RequestLimiter(parts.rateLimit)
  /** Idempotency keys of requests that are being run by this process. */
  const underWay = new Set<string>()

  const server = Fastify({
    logger: false,
    bodyLimit: limits.bodyBytes,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.keepAliveMs,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    exposeHeadRoutes: false,
    trustProxy: parts.trustedProxies.length > 0 ? parts.trustedProxies : false,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: limits.urlBytes, querystringParser: parseQuery },
    // Shapes are checked by ourselves; the framework's own compilers would only take memory.
    schemaController: { compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler } },
    clientErrorHandler: answerClientError,
    frameworkErrors: (error: Error, request: FastifyRequest, reply: FastifyReply) => {
      admitToState(request)
      void sendProblem(request, reply, toProblem(error, request))
    },
    http: {
      maxHeaderSize: limits.headerBytes,
      headersTimeout: limits.headersMs,
      connectionsCheckingInterval: 1_000,
      // Checked by ourselves, so that the answer has our form.
      requireHostHeader: false,
    },
  } as Parameters<typeof Fastify>[0]) as unknown as FastifyInstance

  // An Expect that we do not know is no reason not to answer; the default is a 417 without a body.
  server.server.on('checkExpectation', (request, response) => server.server.emit('request', request, response))
  knowEveryMethod(server)
  server.removeAllContentTypeParsers()
  server.addContentTypeParser(/^application\/(?:merge-patch\+)?json(?:$|[\s;])/i, { parseAs: 'buffer' }, parseJsonBody)
  server.decorateRequest('penstock', null as unknown as RequestState)

  function admitToState(request: FastifyRequest, operation?: { id: string }): RequestState {
    request.penstock = {
      requestId: randomUUID(),
      startedAtMs: performance.now(),
      operation,
      key: undefined,
      caller: undefined,
      signedIn: undefined,
      params: {},
      headers: {},
    }
    return request.penstock
  }

  server.addHook('onRequest', (request, _reply, next) => {
    admitToState(request, (request.routeOptions.config as { operation?: { id: string } }).operation)
    try {
      checkHeaders(request.raw)
      next()
    } catch (error) {
      next(error as Error)
    }
  })
  server.setErrorHandler((error, request, reply) => sendProblem(request, reply, toProblem(error, request)))
  server.setNotFoundHandler((request, reply) =>
    sendProblem(
      request,
      reply,
      new Problem(
        'route_not_found',
        `there is nothing at ${request.method} ${pathOf(request)}; GET /v1 describes what there is`,
      ),
    ),
  )

  const byPath = Map.groupBy(parts.operations, (operation) => operation.path)
  for (const [path, offered] of byPath) {
    const url = path.replaceAll(/\{(\w+)\}/g, ':$1')
    for (const operation of offered) {
      server.route({
        method: operation.method,
        url,
        config: { operation } as object,
        onRequest: (request) => admit(operation, request),
        handler: (request, reply) => run(operation, request, reply),
      })
    }
    refuseOtherMethods(
      server,
      url,
      offered.map((operation) => operation.method),
    )
  }

  serveConsoleActions(server, parts.console, { failures, countFailure: () => metrics.failedAuthentication(), send })

  /** Everything up to the body: who is it, where do they belong, may they do this. */
  async function admit(operation: AnyOperation, request: FastifyRequest): Promise<void> {
    const state = request.penstock
    const address = plainAddress(request)
    const neighbourhood = throttleName(address)
    if (failures.isEmpty(neighbourhood)) throw tooManyFailures()
    if (request.headers.authorization === undefined) {
      const token = parts.console.guard.readToken(request.headers)
      if (token !== undefined) return admitPerson(operation, request, token)
    }

    // Not counted: whoever brings nothing does not guess.
    if (request.headers.authorization === undefined) throw isOwnPage(request) ? signInAgain() : unauthorized()

    const credentials = credentialReader.read(request.raw.socket, request.headers.authorization)
    const key = credentials && (await parts.authenticate(credentials.keyId, credentials.secretHash, address))
    if (!key) {
      metrics.failedAuthentication()
      // Asked again: many guesses may have been under way at once.
      const names = [neighbourhood, ...(credentials ? [`key ${credentials.keyId.slice(0, 20)}`] : [])]
      const tooMany = names.some((name) => failures.isEmpty(name))
      for (const name of names) failures.count({ name })
      throw tooMany ? tooManyFailures() : unauthorized()
    }
    // Asked again here too: of many guesses at once, the right one must not be told from those that came too late.
    if (failures.isEmpty(neighbourhood)) throw tooManyFailures()
    state.key = key
    const { id, organizationId } = key
    state.caller = { type: 'key', id, organizationId, address, userAgent: userAgentOf(request) }
    if (limiter) Object.assign(state.headers, limiter.take(key.keyId, 'the key'))
    if (!key.addressAllowed) {
      throw new Problem(
        'address_not_allowed',
        `the key may not be used from ${address}; its IP access list does not have it`,
      )
    }

    const malformed = readParams(operation, request)
    if (malformed) throw malformed
    if (state.params.organizationId !== undefined && state.params.organizationId !== key.organizationId) {
      throw organizationNotFound(state.params.organizationId)
    }
    requireRole(operation, key.role, 'key')
  }

  /** The same for a person with a session instead of a key. */
  async function admitPerson(operation: AnyOperation, request: FastifyRequest, token: string): Promise<void> {
    const state = request.penstock
    const { guard } = parts.console
    const address = plainAddress(request)
    guard.requireSameOrigin(operation.method, request.headers)
    const malformed = readParams(operation, request)
    const organizationId = malformed ? undefined : state.params.organizationId
    const person = await parts.findPerson(token, organizationId)
    // Not counted: a cookie outlives its session, and nobody guesses 256 bits.
    if (!person) throw signInAgain()
    guard.requireCsrfToken(operation.method, request.headers, person.csrfToken)
    const { userId: id, sessionId, role } = person
    const userAgent = userAgentOf(request)
    state.caller = { type: 'user', id, sessionId, organizationId: organizationId ?? '', address, userAgent }
    if (limiter) Object.assign(state.headers, limiter.take(id, 'a person'))
    if (malformed) throw malformed
    if (organizationId !== undefined && !role) throw organizationNotFound(organizationId)
    // Where no organization is named nobody has a role in it, and everybody may read what is theirs.
    requireRole(operation, role ?? 'developer', 'user')
  }

  async function run(operation: AnyOperation, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const admitted = await validate(operation, request)
    const answer = operation.method === 'GET' ? await parts.read(admitted) : await runWrite(admitted)
    return sendAnswer(operation, request, reply, answer)
  }

  async function validate(operation: AnyOperation, request: FastifyRequest): Promise<OperationRequest> {
    const { requestId, caller, params } = request.penstock
    const { body } = request
    const query = request.query as Record<string, unknown>
    const admitted: OperationRequest = {
      operationId: operation.id,
      requestId,
      caller: caller!,
      params,
      query: readQuery(operation, query),
      body: undefined,
      echoes: false,
    }
    if (operation.body) {
      if (body === undefined) throw new Problem('invalid_json', 'the body is empty; send a JSON object')
      admitted.body = body
      admitted.echoes = await checkBody(operation, caller!, params, body)
    } else if (body !== undefined && operation.method !== 'GET') {
      throw new Problem('invalid_request', `${operation.summary} takes no body; send none`)
    }
    const ifMatch = request.headers['if-match']
    if (ifMatch !== undefined && operation.method !== 'GET') {
      admitted.ifMatch = parseIfMatch(ifMatch)
      // To ignore it would be to break the promise that the client relies on.
      if (!takesIfMatch(operation))
        throw new Problem(
          'invalid_header',
          `${operation.summary} has no version to compare If-Match with; leave it out`,
        )
    }
    const key = request.headers['idempotency-key']
    if (key !== undefined && operation.method !== 'GET') {
      const text = canonicalJson([operation.id, params, query, body ?? null])
      admitted.idempotency = { key: parseIdempotencyKey(key), fingerprint: parts.fingerprint('request', text) }
    }
    return admitted
  }

  /** Tells whether the body also has fields of the resource that cannot be changed; throws all that is wrong, at once. */
  async function checkBody(
    operation: AnyOperation,
    caller: Caller,
    params: Record<string, string>,
    body: unknown,
  ): Promise<boolean> {
    const problems = shapeProblems(operation.body, body)
    if (problems.length === 0) return false
    if (!operation.echo) throw invalidBody(problems)
    const withEcho = shapeProblems(operation.body, body, { echo: operation.echo.shape })
    if (withEcho.length === 0) return true
    const current = await parts.current(operation, caller, params)
    if (current === undefined) throw invalidBody(withEcho)
    throw invalidBody([...withEcho, ...echoProblems(operation.body, operation.echo.shape, body, current)])
  }

  async function runWrite(admitted: OperationRequest): Promise<OperationAnswer> {
    if (!admitted.idempotency) return parts.write(admitted)
    const { id, organizationId } = admitted.caller
    const name = `${organizationId} ${id} ${admitted.idempotency.key}`
    if (underWay.has(name)) {
      throw new Problem(
        'idempotency_key_in_use',
        'a request with this Idempotency-Key is still running; try again in a moment',
        {
          headers: { 'retry-after': '1' },
        },
      )
    }
    underWay.add(name)
    try {
      return await parts.write(admitted)
    } finally {
      underWay.delete(name)
    }
  }

  function sendAnswer(
    operation: AnyOperation,
    request: FastifyRequest,
    reply: FastifyReply,
    answer: OperationAnswer,
  ): FastifyReply {
    const { requestId, headers } = request.penstock
    if (operation.textType) return send(request, reply, 200, operation.textType, JSON.parse(answer.result) as string)
    const result = operation.method === 'DELETE' ? '' : `"result":${answer.result},`
    if (hasEtag(operation)) {
      headers.etag = `"${answer.version ?? parts.fingerprint('etag', answer.result).slice(0, 32)}"`
    }
    if (answer.next) headers.link = `<${nextPage(request, answer.next)}>; rel="next"`
    if (answer.warning) headers.warning = `199 - "${answer.warning.replaceAll(/["\\]/g, '\\$&')}"`
    return send(request, reply, 200, 'application/json', `{"requestId":"${requestId}",${result}"status":200}`)
  }

  function sendProblem(request: FastifyRequest, reply: FastifyReply, problem: Problem): FastifyReply {
    const { requestId } = request.penstock
    const { status, contentType, body } = errorAnswer(problem, requestId, request.headers.accept)
    if (status >= 500 && !problem.isOverload) {
      log.error('a request failed', {
        requestId,
        operation: operationName(request),
        status,
        ...(problem.cause ? { error: describeFailure(problem.cause) } : {}),
      })
    }
    Object.assign(request.penstock.headers, problem.headers)
    // What was not read of the body would be taken for the next request.
    if (!request.raw.complete && hasBody(request)) request.penstock.headers.connection = 'close'
    return send(request, reply, status, contentType, body)
  }

  function send(
    request: FastifyRequest,
    reply: FastifyReply,
    status: number,
    contentType: string,
    body: string,
  ): FastifyReply {
    const state = request.penstock
    const seconds = (performance.now() - state.startedAtMs) / 1000
    const operation = operationName(request)
    metrics.observeRequest(operation, status, seconds)
    if (log.logsRequests) {
      log.debug('request', {
        requestId: state.requestId,
        operation,
        method: request.method,
        status,
        durationMs: Math.round(seconds * 1e5) / 100,
        address: plainAddress(request),
        ...callerFields(state),
      })
    }
    const headers: Record<string, string | number> = {
      ...state.headers,
      'x-request-id': state.requestId,
      'content-type': contentType,
      'content-length': Buffer.byteLength(body),
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    }
    // The last answer on this connection: the server is shutting down.
    if (parts.closing()) headers.connection = 'close'
    // Straight to the socket: what the framework would add to a finished text is only time.
    reply.hijack()
    reply.raw.writeHead(status, headers).end(body)
    return reply
  }

  return server
}

function noCompiler(): never {
  throw new Error('routes have no schemas of their own')
}

function hasBody({ headers }: FastifyRequest): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

function operationName(request: FastifyRequest): string {
  return request.penstock.operation?.id ?? 'none'
}

function describeFailure(cause: unknown): ReturnType<typeof describeError> {
  // A fault from the writer thread has its description with it.
  const { description } = cause as { description?: ReturnType<typeof describeError> }
  return description ?? describeError(cause)
}

function toProblem(error: unknown, request: FastifyRequest): Problem {
  if (error instanceof Problem) return error
  switch ((error as { code?: unknown }).code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new Problem('body_too_large', `the body is larger than ${request.routeOptions.bodyLimit} bytes`)
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new Problem('unsupported_media_type', 'send the body as application/json or application/merge-patch+json')
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new Problem('invalid_request', 'the body is not as long as Content-Length says')
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new Problem('invalid_request', `the URL is longer than ${limits.urlBytes} bytes`)
    case 'FST_ERR_BAD_URL':
      return new Problem('invalid_request', 'the path has a percent-encoding that does not decode')
    case 'FST_ERR_ASYNC_CONSTRAINT':
    case 'ECONNRESET':
      return new Problem('invalid_request', 'the request was broken off')
    default:
      return internalProblem(request.penstock.requestId, error)
  }
}

function readQuery(operation: AnyOperation, raw: Record<string, unknown>): Record<string, unknown> {
  const names = Object.keys(raw)
  if (names.length === 0 && !operation.query?.required.length) return {}
  const shape = operation.query ?? { type: 'object', properties: {}, additionalProperties: false }
  // Without a prototype, so that a parameter called __proto__ is seen, and refused, like any other.
  const query: Record<string, unknown> = Object.create(null)
  for (const name of names) {
    const value = raw[name]
    if (Array.isArray(value))
      throw new Problem('invalid_query', `the query parameter ${JSON.stringify(name)} is sent more than once`)
    query[name] = fromText(shape.properties[name]?.type, value)
  }
  const problems = shapeProblems(shape, query, { at: 'the query' })
  if (problems.length > 0) throw fieldProblem('invalid_query', problems)
  return query
}

/** A query has only text; `true` and `17` are read as what the shape wants, and nothing else is. */
function fromText(type: string | undefined, text: unknown): unknown {
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  if (type === 'integer' && /^-?\d{1,15}$/.test(String(text))) return Number(text)
  return text
}

function fieldProblem(code: 'invalid_path' | 'invalid_query', fields: { path: string; detail: string }[]): Problem {
  return new Problem(code, fields.map((field) => field.detail).join('; '), { fields })
}

/** Ids in lower case into the state; or what is wrong with them. */
function readParams(operation: AnyOperation, request: FastifyRequest): Problem | undefined {
  const params = request.params as Record<string, string>
  const malformed = shapeProblems(operation.params, params, { at: 'the path' })
  if (malformed.length > 0) return fieldProblem('invalid_path', malformed)
  for (const [name, value] of Object.entries(params)) {
    const isUuid = operation.params.properties[name].format === 'uuid'
    request.penstock.params[name] = isUuid ? value.toLowerCase() : value
  }
  return undefined
}

/** The console whose session has been ended in another tab, cookie and all. Programs do not send this, and pages cannot choose to. */
function isOwnPage({ headers }: FastifyRequest): boolean {
  const isInBackground = headers['sec-fetch-mode'] !== 'navigate'
  return headers['sec-fetch-site'] === 'same-origin' && isInBackground
}

function callerFields({ key, caller, signedIn }: RequestState): Pick<LogFields, 'keyId' | 'userId' | 'organizationId'> {
  if (key) return { keyId: key.keyId, organizationId: key.organizationId }
  if (caller) return { userId: caller.id, organizationId: caller.organizationId }
  return signedIn ? { userId: signedIn.userId } : {}
}

/** The same request with another cursor. Relative: only the client knows by which name it reached us. */
function nextPage(request: FastifyRequest, cursor: string): string {
  const [path, query] = request.url.split('?')
  const parameters = new URLSearchParams(query)
  parameters.set('cursor', cursor)
  return `${path}?${parameters}`
}

function pathOf(request: FastifyRequest): string {
  return request.url.split('?')[0]!.slice(0, 200)
}
