// The HTTP server. Every operation runs the same steps: route and method → authenticate → ids → organization → role → body →
// validate → run → response. The body is not read before the caller is authorized.
import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { CallQueue } from '../lib/call-queue.ts'
import { describeError } from '../lib/describe-error.ts'
import type { Log, LogFields } from '../lib/log.ts'
import { invalidBody, Problem } from '../lib/problem.ts'
import { shapeProblems } from '../lib/shape.ts'
import { echoProblems } from '../lib/shape-echo.ts'
import { assertKnownKeywords } from '../lib/shape-keywords.ts'
import type { Caller } from '../operation/caller.ts'
import type { SignedIn } from '../operation/console-action.ts'
import {
  type AnyOperation,
  hasEtag,
  isWrite,
  type OperationAnswer,
  type OperationRequest,
  takesIfMatch,
} from '../operation/operation.ts'
import {
  type AuthenticatedKey,
  type Authentication,
  makeAdmission,
  makeFailureThrottles,
  type Throttles,
} from './admission.ts'
import { ClientErrors } from './client-error.ts'
import { type ConsoleParts, serveConsoleActions } from './console.ts'
import { errorAnswer, problemOf } from './errors.ts'
import { knowEveryMethod, refuseMethodOfKnownPath, routing, serveByPath } from './methods.ts'
import type { ServerMetrics } from './metrics.ts'
import { readQuery } from './parameters.ts'
import { type RateLimit, RequestLimiter } from './rate-limit.ts'
import {
  canonicalJson,
  checkHeaders,
  limits,
  parseIdempotencyKey,
  parseIfMatch,
  parseJsonBody,
  parseQuery,
  plainAddress,
} from './request.ts'
import { RequestsUnderWay } from './under-way.ts'

export interface ServerParts {
  operations: AnyOperation[]
  console: ConsoleParts
  authentication: Authentication
  /** `gone` is aborted when the client disconnects; passed to operations with a prepare step. */
  read(request: OperationRequest, gone?: AbortSignal): Promise<OperationAnswer>
  write(request: OperationRequest, gone?: AbortSignal): Promise<OperationAnswer>
  /** The current resource of a PATCH, as GET returns it. */
  current(operation: AnyOperation, caller: Caller, params: Record<string, string>): Promise<unknown>
  /** Whether Penstock is shutting down and has stopped listening. */
  isHangingUp(): boolean
  /** A keyed hash that reveals nothing about the text. */
  fingerprint(purpose: string, text: string): string
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
  /** The signed-in person of a console action. */
  signedIn: SignedIn | undefined
  params: Record<string, string>
  headers: Record<string, string | string[]>
}

export function buildServer(parts: ServerParts): FastifyInstance {
  const { log, metrics } = parts
  const shapes = [
    ...parts.operations.flatMap(({ params, query, body, result }) => [params, query, body, result]),
    ...parts.console.actions.flatMap(({ body, result }) => [body, result]),
  ]
  for (const shape of shapes) if (shape) assertKnownKeywords(shape)
  const throttles: Throttles = {
    failures: makeFailureThrottles(),
    limiter: parts.rateLimit && new RequestLimiter(parts.rateLimit),
    countFailure: () => metrics.failedAuthentication(),
  }
  const { admit, isSuspect } = makeAdmission(parts.authentication, throttles)
  /** Starts only a few requests per event-loop turn from addresses with failed authentications, so that others do not wait for them. */
  const suspects = new CallQueue(32, 1_024)
  const underWay = new RequestsUnderWay(limits.requestsUnderWay)
  metrics.countUnderWay = () => underWay.count
  /** Idempotency keys of requests that run in this process. */
  const runningKeys = new Set<string>()

  const clientErrors = new ClientErrors()

  const server = Fastify({
    logger: false,
    bodyLimit: limits.bodyBytes,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.keepAliveMs,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    exposeHeadRoutes: false,
    trustProxy: parts.trustedProxies.length > 0 ? parts.trustedProxies : false,
    routerOptions: { ...routing, querystringParser: parseQuery },
    // Shapes are validated here; Fastify's schema compilers would only use memory.
    schemaController: { compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler } },
    clientErrorHandler: (error: Error, socket: Socket) => clientErrors.answer(error, socket),
    frameworkErrors: (error: Error, request: FastifyRequest, reply: FastifyReply) => {
      admitToState(request)
      void sendProblem(request, reply, problemOf(error, request))
    },
    http: {
      maxHeaderSize: limits.headerBytes,
      headersTimeout: limits.headersMs,
      connectionsCheckingInterval: 1_000,
      // Checked in `checkHeaders`, so that the response has our format.
      requireHostHeader: false,
    },
  } as Parameters<typeof Fastify>[0]) as unknown as FastifyInstance

  // Ignores unknown Expect headers; Node's default is a 417 without a body.
  server.server.on('checkExpectation', (request, response) => server.server.emit('request', request, response))
  server.server.prependListener('request', (request, response) => clientErrors.noteRequest(request, response))
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
      if (request.is404) refuseMethodOfKnownPath(request)
      next()
    } catch (error) {
      next(error as Error)
    }
  })
  server.setErrorHandler((error, request, reply) => sendProblem(request, reply, problemOf(error, request)))
  server.setNotFoundHandler((request, reply) =>
    sendProblem(
      request,
      reply,
      new Problem(
        'route_not_found',
        `there is no operation ${request.method} ${pathOf(request)}; GET /v1 lists all operations`,
      ),
    ),
  )

  serveByPath(server, parts.operations, (operation) => ({
    config: { operation } as object,
    onRequest: async (request, reply) => {
      if (isSuspect(request)) await suspects.turn()
      const isBegun = await underWay.begin(request.raw.socket, () => admit(operation, request))
      if (!isBegun) reply.hijack()
    },
    handler: (request, reply) => underWay.during(() => run(operation, request, reply)),
  }))
  serveConsoleActions(server, parts.console, {
    authentication: parts.authentication,
    throttles,
    fingerprint: parts.fingerprint,
    send,
  })

  async function run(operation: AnyOperation, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const admitted = await validate(operation, request)
    const gone = operation.prepare?.isNeeded(admitted.body) ? whenGone(reply) : undefined
    const answer = isWrite(operation) ? await runWrite(admitted, gone) : await parts.read(admitted, gone)
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
      throw new Problem('invalid_request', `${operation.summary} must not have a body`)
    }
    const ifMatch = request.headers['if-match']
    if (ifMatch !== undefined && operation.method !== 'GET') {
      admitted.ifMatch = parseIfMatch(ifMatch)
      // Ignoring it would drop the guard that the client relies on.
      if (!takesIfMatch(operation))
        throw new Problem(
          'invalid_header',
          `${operation.summary} has no version to compare If-Match with; leave it out`,
        )
    }
    const key = request.headers['idempotency-key']
    if (key !== undefined && isWrite(operation)) {
      const text = canonicalJson([operation.id, params, query, body ?? null])
      admitted.idempotency = { key: parseIdempotencyKey(key), fingerprint: parts.fingerprint('request', text) }
    }
    return admitted
  }

  /** Returns whether the body echoes fields that cannot be changed; throws all validation errors at once. */
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
    const { shape, remedyFor } = operation.echo
    throw invalidBody([...withEcho, ...echoProblems(operation.body, shape, body, current, remedyFor)])
  }

  async function runWrite(admitted: OperationRequest, gone?: AbortSignal): Promise<OperationAnswer> {
    if (!admitted.idempotency) return parts.write(admitted, gone)
    const { id, organizationId } = admitted.caller
    const name = `${organizationId} ${id} ${admitted.idempotency.key}`
    if (runningKeys.has(name)) {
      throw new Problem(
        'idempotency_key_in_use',
        'a request with this Idempotency-Key is still running; try again in a second',
        {
          headers: { 'retry-after': '1' },
        },
      )
    }
    runningKeys.add(name)
    try {
      return await parts.write(admitted, gone)
    } finally {
      runningKeys.delete(name)
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
    // The rest of the body has unknown length, so the connection is closed. Not when overloaded: reconnecting would add load.
    if (!request.raw.complete && hasBody(request) && !problem.isOverload) {
      request.penstock.headers.connection = 'close'
    }
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
    const headers: Record<string, string | string[] | number> = {
      ...state.headers,
      'x-request-id': state.requestId,
      'content-type': contentType,
      'content-length': Buffer.byteLength(body),
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    }
    // For requests that arrived before the shutdown; drain.ts sets the header for later ones.
    if (parts.isHangingUp()) headers.connection = 'close'
    // Written to the socket directly: Fastify would only add overhead.
    reply.hijack()
    reply.raw.writeHead(status, headers).end(body)
    return reply
  }

  return server
}

/** Aborted when the connection closes; after the response nothing listens to it any more. */
function whenGone(reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  reply.raw.once('close', () => controller.abort())
  return controller.signal
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
  // An error from the writer thread carries its description.
  const { description } = cause as { description?: ReturnType<typeof describeError> }
  return description ?? describeError(cause)
}

function callerFields({ key, caller, signedIn }: RequestState): Pick<LogFields, 'keyId' | 'userId' | 'organizationId'> {
  if (key) return { keyId: key.keyId, organizationId: key.organizationId }
  if (caller) return { userId: caller.id, organizationId: caller.organizationId }
  return signedIn ? { userId: signedIn.userId } : {}
}

/** The same request with another cursor. Relative, because only the client knows the host name it used. */
function nextPage(request: FastifyRequest, cursor: string): string {
  const [path, query] = request.url.split('?')
  const parameters = new URLSearchParams(query)
  parameters.set('cursor', cursor)
  return `${path}?${parameters}`
}

function pathOf(request: FastifyRequest): string {
  return request.url.split('?')[0]!.slice(0, 200)
}
