// Sends requests to AWS through the egress, over HTTP/1.1, without redirects and without retry timers.
import type { Readable } from 'node:stream'
import { NodeHttpHandler } from '@smithy/node-http-handler'
import { egressAgent } from '../../lib/egress-agent.ts'
import { trustWith } from '../../lib/egress-tls.ts'
import { hostOfUrl } from '../../lib/host.ts'
import { type DirectRequest, makeDirectClient } from '../direct/direct-client.ts'
import type { SourceAccess, SourceContext } from '../source.ts'
import { type AnswerKind, collectAnswer } from './aws-answer.ts'

/** Connect timeout. */
const connectMs = 10_000
/** Response timeout, which applies even if the signal aborts later. */
const requestMs = 30_000

type Handle = NodeHttpHandler['handle']
type Request = Parameters<Handle>[0]
/** Kind of a successful response. */
type KindOfAnswer = (request: Request) => AnswerKind

/**
 * Request handler for clients of the AWS SDK. The client destroys it, which ends all requests in flight. Error bodies are limited
 * as XML, which has the same size limit as JSON.
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
  const handleBySdk = handler.handle.bind(handler)
  const handle: Handle = async (request, options) => {
    const directly = isLarge(kindOf(request)) ? directRequest(request) : undefined
    const answer =
      directly && (await direct.ask({ ...directly, signal: options?.abortSignal as AbortSignal | undefined }))
    if (!answer) return handleBySdk(request, options)
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

/** Large responses bypass the SDK's HTTP handler. */
function isLarge(kind: AnswerKind): boolean {
  return kind === 'object' || kind === 'records'
}

/** Undefined for anything but a plain GET or POST. */
function directRequest(request: Request): DirectRequest | undefined {
  const { method, protocol, hostname, port, path, query = {}, headers, fragment, username } = request
  const body = typeof request.body === 'string' ? Buffer.from(request.body) : request.body
  const parameters = Object.entries(query)
  const isGet = method === 'GET' && !request.body
  const isPost = method === 'POST' && body instanceof Uint8Array && headers['content-length'] === String(body.length)
  const isPlain = (isGet || isPost) && !fragment && username === undefined
  if (!isPlain || !parameters.every((pair): pair is [string, string] => typeof pair[1] === 'string')) return undefined
  const scheme: 'http' | 'https' = protocol === 'http:' ? 'http' : 'https'
  const text = parameters.map((pair) => pair.map(encodeURIComponent).join('=')).join('&')
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

/** A success response that exceeds its limits is an error. An error response keeps its status and loses its body. */
function withinBounds(handle: Handle, kindOf: KindOfAnswer): Handle {
  return async (request, options) => {
    const answer = await handle(request, options)
    const { response } = answer
    const isError = response.statusCode < 200 || response.statusCode >= 300
    const kind = isError ? 'xml' : kindOf(request)
    if (kind === 'object') return answer
    const body = await collectAnswer(response.body as Readable, kind, options?.abortSignal as AbortSignal | undefined)
    if (!body && !isError) throw new Error('not a response of AWS')
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
 * Replaces the retry strategy of the SDK: a broken or wrongly timed request is sent once more, immediately. The SDK's own strategy
 * waits with timers that ignore the signal. Throttling errors go to the caller.
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

/** For every AWS client. Environment variables for other AWS tools of the operator must not affect sources. */
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

/** Endpoint of an AWS service in a region: a URL without a path. */
export function awsEndpoint(service: 'kinesis' | 's3' | 'sts', region: string): string {
  const domain = domains.find(([regions]) => region.startsWith(regions))?.[1] ?? 'amazonaws.com'
  return `https://${service}.${region}.${domain}`
}
