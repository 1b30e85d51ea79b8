// Adds enhanced fan-out to a Kinesis server without it: consumers, and subscriptions over HTTP/2 that are fed by polling the backend.
// Other requests are forwarded. Its behavior can be changed while it runs.
import { Agent, request as httpRequest } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import { buffer } from 'node:stream/consumers'
import type { Certificate, Certificates } from './certificates.ts'
import { startBothHttp } from './kinesis-both-http.ts'
import { type Consumer, makeConsumerRegistry } from './kinesis-consumer-registry.ts'
import { type KinesisServer, startKinesis } from './kinesis-server.ts'
import { makeShardFeed, type StartingPosition } from './kinesis-shard-feed.ts'
import { defaultBehavior, makeSubscriptions, type SubscriptionBehavior } from './kinesis-subscriptions.ts'
import type { CheckedKey } from './signature-check.ts'
import { claimOf, hasSignedBody, type SignedRequest, signatureFor } from './signature-v4.ts'

export interface RecordedRequest {
  operation: string
  atMs: number
  accessKeyId: string
  shard?: string
  start?: StartingPosition
}

export interface FanOutSettings {
  /** For consumers that are registered from now on. */
  activeAfterMs: number
  /** Requests are forwarded to the backend when this resolves. */
  hold(operation: string): Promise<void>
}

export const defaultSettings: FanOutSettings = { activeAfterMs: 0, hold: async () => undefined }

export interface FanOutServer {
  endpoint: string
  behavior: SubscriptionBehavior
  /** Rejects the next requests for these operations, one each. */
  refusals: { operation: string; code: string; status?: number }[]
  /** All requests received. */
  requests: RecordedRequest[]
  consumers: Map<string, Consumer>
  settings: FanOutSettings
  subscriptions(): number
  connections(): number
  /** By subscriptions. */
  sentBytes(): number
  stop(): Promise<void>
}

export interface FanOutOptions {
  tls?: Certificate
  /** Keys with all permissions; default: the credentials of the backend. */
  keys?: CheckedKey[]
  hasHttp2?: boolean
}

const ownOperations = ['RegisterStreamConsumer', 'DescribeStreamConsumer', 'DeregisterStreamConsumer']

export async function startFanOut(backend: KinesisServer, options: FanOutOptions = {}): Promise<FanOutServer> {
  const { tls, keys = [{ ...backend.credentials, mayRead: true }], hasHttp2 = true } = options
  const agent = new Agent({ keepAlive: true })
  const registry = makeConsumerRegistry()
  const feed = makeShardFeed(backend)
  const behavior = { ...defaultBehavior }
  const subscriptions = makeSubscriptions(feed, behavior)
  const refusals: FanOutServer['refusals'] = []
  const requests: RecordedRequest[] = []
  const settings = { ...defaultSettings }

  const answer = async (request: Http2ServerRequest, response: Http2ServerResponse): Promise<void> => {
    const signed = await signedRequest(request)
    const operation = String(signed.headers['x-amz-target']).split('.')[1] ?? ''
    const body = JSON.parse(Buffer.from(signed.body).toString() || '{}')
    const { ShardId: shard = '', StartingPosition: start, ConsumerARN: consumer = '' } = body
    const accessKeyId = claimOf(signed)?.accessKeyId ?? ''
    requests.push({ operation, atMs: performance.now(), accessKeyId, ...(start ? { shard, start } : {}) })
    const index = refusals.findIndex((each) => each.operation === operation)
    const [refusal] = index < 0 ? [] : refusals.splice(index, 1)
    if (refusal) return refuse(response, refusal.code, refusal.status)
    if (operation === 'SubscribeToShard' || ownOperations.includes(operation)) {
      if (!isSignedWell(signed, keys)) return refuse(response, 'InvalidSignatureException')
    } else {
      await settings.hold(operation)
      return forward(signed, backend.endpoint, agent, response)
    }
    if (operation !== 'SubscribeToShard') {
      const { status, body: responseBody } = registry.answer(operation, body, settings.activeAfterMs)
      return send(response, status, responseBody)
    }
    const { streamName: stream = '' } = registry.consumers.get(consumer) ?? {}
    if (stream === '') return refuse(response, 'ResourceNotFoundException')
    const code = await subscriptions.serve(consumer, { stream, shard, start }, response)
    if (code !== undefined) refuse(response, code)
  }

  const http = await startBothHttp({ tls, hasHttp2 }, (request, response) => {
    answer(request, response).catch(() => response.destroy())
  })
  return {
    endpoint: http.url,
    behavior,
    refusals,
    requests,
    consumers: registry.consumers,
    settings,
    subscriptions: subscriptions.count,
    connections: http.connections,
    sentBytes: subscriptions.sentBytes,
    async stop() {
      await subscriptions.end()
      await http.stop()
      agent.destroy()
      feed.close()
    },
  }
}

/** Backend and fan-out as one server. */
export async function startKinesisWithFanOut(tls?: Certificates): Promise<KinesisServer> {
  const backend = await startKinesis()
  const front = await startFanOut(backend, tls ? { tls: tls.server } : {})
  return {
    ...backend,
    name: `${backend.name} with fan-out`,
    endpoint: front.endpoint,
    ...(tls ? { ca: tls.ca } : {}),
    async stop() {
      await front.stop()
      await backend.stop()
    },
  }
}

/** The request as it was signed: `:authority` of HTTP/2 is the host. */
async function signedRequest(request: Http2ServerRequest): Promise<SignedRequest> {
  const { method, url } = request
  const named = Object.entries(request.headers).filter(([name]) => !name.startsWith(':'))
  const headers = { ...Object.fromEntries(named), host: request.headers[':authority'] ?? request.headers.host }
  return { method, target: url, headers: headers as SignedRequest['headers'], body: await buffer(request) }
}

function isSignedWell(signed: SignedRequest, keys: CheckedKey[]): boolean {
  const claim = claimOf(signed)
  const key = keys.find(({ accessKeyId }) => accessKeyId === claim?.accessKeyId)
  if (!claim || !key || key.sessionToken !== claim.sessionToken) return false
  if (key.expiresAt && key.expiresAt.getTime() <= Date.now()) return false
  return claim.signature === signatureFor(signed, claim, key.secretKey) && hasSignedBody(signed)
}

function send(response: Http2ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/x-amz-json-1.1' })
  response.end(JSON.stringify(body))
}

function refuse(response: Http2ServerResponse, code: string, status = 400): void {
  send(response, status, { __type: code, message: 'as the test wants it' })
}

function forward(
  { method, target, headers, body }: SignedRequest,
  endpoint: string,
  agent: Agent,
  response: Http2ServerResponse,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(endpoint, { path: target, method, headers, agent }, (answer) => {
      const { 'content-type': contentType = '' } = answer.headers
      response.writeHead(answer.statusCode ?? 502, { 'content-type': contentType })
      answer.pipe(response)
      answer.once('error', reject)
      response.once('close', resolve)
    })
    sent.once('error', reject)
    sent.end(body)
  })
}
