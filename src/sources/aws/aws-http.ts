// How requests to AWS get out: through the egress, over HTTP/1.1, without following redirects and without timers of their own.
import type { Readable } from 'node:stream'
import { NodeHttpHandler } from '@smithy/node-http-handler'
import { egressAgent } from '../../lib/egress-http.ts'
import { trustWith } from '../../lib/egress-tls.ts'
import { hostOfUrl } from '../../lib/host.ts'
import { type DirectRequest, makeDirectClient } from '../direct/direct-client.ts'
import type { SourceContext, SourceAccess } from '../source.ts'
import { type AnswerKind, collectAnswer } from './aws-answer.ts'

/** A connection that is not there after this time will not come. */
const connectMs = 10_000
/** A request that is not answered after this time is lost: also where the signal lives long. */
const requestMs = 30_000

type Handle = NodeHttpHandler['handle']
type Request = Parameters<Handle>[0]
/** Of an answer that is no error. */
type KindOfAnswer = (request: Request) => AnswerKind

/**
 * How the clients of AWS send: HTTP/1.1 over connections of the egress. It follows no redirects. The client destroys it; whatever
 * is under way then ends too. Errors are taken for XML, or for JSON as short.
 */
export function awsRequestHandler(
  { egress, signal }: SourceAccess,
  trust: Pick<SourceContext, 'caCertificates'>,
  kindOf: KindOfAnswer = () => 'xml',
): NodeHttpHandler {
  const closing = new AbortController()
  const options = {
    timeoutMs: connectMs,
    signal: AbortSignal.any([signal, closing.signal]),
    tls: trustWith(trust.caCertificates),
  }
  const httpAgent = egressAgent(egress, 'http', options)
  const httpsAgent = egressAgent(egress, 'https', options)
  const handler = new NodeHttpHandler({
    httpAgent,
    httpsAgent,
    requestTimeout: requestMs,
    throwOnRequestTimeout: true,
  })
  const direct = makeDirectClient(egress, { ...options, headMs: requestMs })
  const usual = handler.handle.bind(handler)
  const handle: Handle = async (request, options) => {
    const asked = isLarge(kindOf(request)) ? directRequest(request) : undefined
    const answer = asked && (await direct.ask({ ...asked, signal: options?.abortSignal as AbortSignal | undefined }))
    if (!answer) return usual(request, options)
    const { status: statusCode, headers, body } = answer
    return { response: { statusCode, headers, body } }
  }
  const destroy = (): void => {
    closing.abort()
    direct.close()
    httpAgent.destroy()
    httpsAgent.destroy()
  }
  return Object.assign(handler, { destroy, handle: withinBounds(handle, kindOf) })
}

/** What is large is worth a reader of its own. All of it may be asked for twice. */
function isLarge(kind: AnswerKind): boolean {
  return kind === 'object' || kind === 'records'
}

/** Undefined of what is more than a plain GET, or POST. */
function directRequest(request: Request): DirectRequest | undefined {
  const { method, protocol, hostname, port, path, query = {}, headers, fragment, username } = request
  const body = typeof request.body === 'string' ? Buffer.from(request.body) : request.body
  const asked = Object.entries(query)
  const isGet = method === 'GET' && !request.body
  const isPost = method === 'POST' && body instanceof Uint8Array && headers['content-length'] === String(body.length)
  const isPlain = (isGet || isPost) && !fragment && username === undefined
  if (!isPlain || !asked.every((pair): pair is [string, string] => typeof pair[1] === 'string')) return undefined
  const scheme: 'http' | 'https' = protocol === 'http:' ? 'http' : 'https'
  const text = asked.map((pair) => pair.map(encodeURIComponent).join('=')).join('&')
  return {
    method,
    protocol: scheme,
    host: hostOfUrl(hostname),
    port: port ?? (scheme === 'http' ? 80 : 443),
    path: text === '' ? path : `${path}?${text}`,
    headers,
    body,
  }
}

/** What is out of bounds is no answer, unless it is an error: that is told by its status, without its body. */
function withinBounds(handle: Handle, kindOf: KindOfAnswer): Handle {
  return async (request, options) => {
    const answer = await handle(request, options)
    const { response } = answer
    const isError = response.statusCode < 200 || response.statusCode >= 300
    const kind = isError ? 'xml' : kindOf(request)
    if (kind === 'object') return answer
    const body = await collectAnswer(response.body as Readable, kind, options?.abortSignal as AbortSignal | undefined)
    if (!body && !isError) throw new Error('no answer of AWS')
    response.body = body ?? new Uint8Array()
    return answer
  }
}

interface RetryToken {
  getRetryCount(): number
  getRetryDelay(): number
}

const retryToken = (count: number): RetryToken => ({ getRetryCount: () => count, getRetryDelay: () => 0 })

/**
 * For the clients of AWS, in place of their own: a request that broke, or whose time was wrong, is sent once more, and at once.
 * Theirs waits with timers that no signal ends. What asks us to slow down is told to whoever asked.
 */
const retryOnce = {
  acquireInitialRetryToken: async (): Promise<RetryToken> => retryToken(0),
  refreshRetryTokenForRetry: async (
    token: RetryToken,
    { errorType }: { errorType: 'TRANSIENT' | 'THROTTLING' | 'SERVER_ERROR' | 'CLIENT_ERROR' },
  ): Promise<RetryToken> => {
    if (errorType !== 'TRANSIENT' || token.getRetryCount() > 0) throw new Error('not again')
    return retryToken(1)
  },
  recordSuccess: (): void => undefined,
}

/** For every client of AWS: what the environment says to the operator's own tools must not change how a source is read. */
export const awsClientDefaults = {
  maxAttempts: 2,
  retryStrategy: retryOnce,
  useFipsEndpoint: false,
  useDualstackEndpoint: false,
}

const domains: [regions: string, domain: string][] = [
  ['cn-', 'amazonaws.com.cn'],
  ['eusc-', 'amazonaws.eu'],
  ['us-isob-', 'sc2s.sgov.gov'],
  ['us-iso-', 'c2s.ic.gov'],
]

/** Where a service of AWS is in a region: a URL without a path. */
export function awsEndpoint(service: 'kinesis' | 's3' | 'sts', region: string): string {
  const domain = domains.find(([regions]) => region.startsWith(regions))?.[1] ?? 'amazonaws.com'
  return `https://${service}.${region}.${domain}`
}
