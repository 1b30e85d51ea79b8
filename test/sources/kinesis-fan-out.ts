// Enhanced fan-out before a Kinesis that has none: consumers, and subscriptions over HTTP/2, which are fed by reading the one behind.
// Everything else goes on to it as it came, over either HTTP. How it behaves can be changed while it runs.
import { Agent, request as httpRequest } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import { buffer } from 'node:stream/consumers'
import type { Certificate, Certificates } from './certificates.ts'
import { startBothHttp } from './kinesis-both-http.ts'
import { type Consumer, makeConsumerBook } from './kinesis-consumer-book.ts'
import { type KinesisServer, startKinesis } from './kinesis-server.ts'
import { makeShardFeed, type StartingPosition } from './kinesis-shard-feed.ts'
import { makeSubscriptions, type SubscriptionManners, usualManners } from './kinesis-subscriptions.ts'
import type { CheckedKey } from './signature-check.ts'
import { claimOf, hasSignedBody, type SignedRequest, signatureFor } from './signature-v4.ts'

export interface AskedOperation {
  operation: string
  atMs: number
  accessKeyId: string
  shard?: string
  start?: StartingPosition
}

export interface FanOutSettings {
  /** Of the consumers that are registered next. */
  activeAfterMs: number
  /** What the one behind is asked goes on to it when this has resolved. */
  hold(operation: string): Promise<void>
}

export const usualSettings: FanOutSettings = { activeAfterMs: 0, hold: async () => undefined }

export interface FanOutServer {
  endpoint: string
  manners: SubscriptionManners
  /** The next requests for these operations are refused, one for each. */
  refusals: { operation: string; code: string; status?: number }[]
  /** All that were asked for. */
  asked: AskedOperation[]
  consumers: Map<string, Consumer>
  settings: FanOutSettings
  subscriptions(): number
  connections(): number
  /** In subscriptions. */
  sentBytes(): number
  stop(): Promise<void>
}

export interface FanOutOptions {
  tls?: Certificate
  /** Who may do all of it; otherwise who may read the one behind. */
  keys?: CheckedKey[]
  hasHttp2?: boolean
}

const ownOperations = ['RegisterStreamConsumer', 'DescribeStreamConsumer', 'DeregisterStreamConsumer']

export async function startFanOut(behind: KinesisServer, options: FanOutOptions = {}): Promise<FanOutServer> {
  const { tls, keys = [{ ...behind.credentials, mayRead: true }], hasHttp2 = true } = options
  const agent = new Agent({ keepAlive: true })
  const book = makeConsumerBook()
  const feed = makeShardFeed(behind)
  const manners = { ...usualManners }
  const subscriptions = makeSubscriptions(feed, manners)
  const refusals: FanOutServer['refusals'] = []
  const asked: AskedOperation[] = []
  const settings = { ...usualSettings }

  const answer = async (request: Http2ServerRequest, response: Http2ServerResponse): Promise<void> => {
    const signed = await signedRequest(request)
    const operation = String(signed.headers['x-amz-target']).split('.')[1] ?? ''
    const body = JSON.parse(Buffer.from(signed.body).toString() || '{}')
    const { ShardId: shard = '', StartingPosition: start, ConsumerARN: consumer = '' } = body
    const accessKeyId = claimOf(signed)?.accessKeyId ?? ''
    asked.push({ operation, atMs: performance.now(), accessKeyId, ...(start ? { shard, start } : {}) })
    const index = refusals.findIndex((each) => each.operation === operation)
    const [refusal] = index < 0 ? [] : refusals.splice(index, 1)
    if (refusal) return refuse(response, refusal.code, refusal.status)
    if (operation === 'SubscribeToShard' || ownOperations.includes(operation)) {
      if (!isSignedWell(signed, keys)) return refuse(response, 'InvalidSignatureException')
    } else {
      await settings.hold(operation)
      return forward(signed, behind.endpoint, agent, response)
    }
    if (operation !== 'SubscribeToShard') {
      const { status, body: told } = book.answer(operation, body, settings.activeAfterMs)
      return send(response, status, told)
    }
    const { streamName: stream = '' } = book.consumers.get(consumer) ?? {}
    if (stream === '') return refuse(response, 'ResourceNotFoundException')
    const code = await subscriptions.serve(consumer, { stream, shard, start }, response)
    if (code !== undefined) refuse(response, code)
  }

  const both = await startBothHttp({ tls, hasHttp2 }, (request, response) => {
    answer(request, response).catch(() => response.destroy())
  })
  return {
    endpoint: both.url,
    manners,
    refusals,
    asked,
    consumers: book.consumers,
    settings,
    subscriptions: subscriptions.count,
    connections: both.connections,
    sentBytes: subscriptions.sentBytes,
    async stop() {
      await subscriptions.end()
      await both.stop()
      agent.destroy()
      feed.close()
    },
  }
}

/** The same as one server. */
export async function startKinesisWithFanOut(tls?: Certificates): Promise<KinesisServer> {
  const behind = await startKinesis()
  const front = await startFanOut(behind, tls ? { tls: tls.server } : {})
  return {
    ...behind,
    name: `${behind.name} with fan-out`,
    endpoint: front.endpoint,
    ...(tls ? { ca: tls.ca } : {}),
    async stop() {
      await front.stop()
      await behind.stop()
    },
  }
}

/** As it was signed: the authority of HTTP/2 is the host. */
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
