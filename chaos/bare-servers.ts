// In-process Kinesis and an object store with queues. Neither checks credentials: signature-proxy.ts in front of them does.
import type { Server } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { buildApp } from 'fauxqs'
import { administer, type StreamAdministration } from '../test/sources/kinesis-server.ts'

export interface BareKinesis extends StreamAdministration {
  /** `http://127.0.0.1:port` */
  url: string
  stop(): Promise<void>
}

/** Both servers ignore the region, but signing a request needs one. */
export const region = 'eu-west-1'

export async function startBareKinesis(): Promise<BareKinesis> {
  const kinesalite = createRequire(import.meta.url)('kinesalite') as (options: object) => Server
  const server = kinesalite({ createStreamMs: 0, updateStreamMs: 0, deleteStreamMs: 0, shardLimit: 100_000 })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { close, ...administration } = administer(url, region, { accessKeyId: 'anyone', secretKey: 'anything' })
  return {
    url,
    ...administration,
    async stop() {
      close()
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeAllConnections()
      await closed
    },
  }
}

export interface StoredObject {
  key: string
  etag: string
  sizeBytes: number
}

export interface BareObjects {
  /** `http://127.0.0.1:port`, for S3 and SQS. */
  url: string
  createBucket(name: string): Promise<void>
  put(bucket: string, key: string, bytes: Buffer): Promise<StoredObject>
  /** Returns the path of the queue. */
  createQueue(name: string): Promise<string>
  send(queuePath: string, message: string): Promise<void>
  /** Number of messages, including those in flight. */
  countMessages(queuePath: string): Promise<number>
  stop(): Promise<void>
}

/**
 * Overrides the visibility timeout that a reader requests, so that messages of a killed reader return after 4 s instead of a
 * minute. Messages that return while still in processing are an additional fault.
 */
const visibilitySeconds = 4

export async function startBareObjects(): Promise<BareObjects> {
  const store = buildApp({ logger: false })
  store.addHook('preHandler', async ({ body }) => {
    if (isRecord(body) && Number(body.VisibilityTimeout) > 0) body.VisibilityTimeout = visibilitySeconds
  })
  await store.listen({ host: '127.0.0.1', port: 0 })
  const url = `http://127.0.0.1:${(store.server.address() as AddressInfo).port}`
  const put = async (path: string, payload: Buffer): Promise<string> => {
    const headers = { 'content-type': 'application/octet-stream', 'content-length': String(payload.length) }
    const { statusCode, headers: answered } = await store.inject({ method: 'PUT', url: path, payload, headers })
    if (statusCode !== 200) throw new Error(`${path} is answered with ${statusCode}`)
    return String(answered.etag)
  }
  const callQueues = async (action: string, input: object): Promise<Record<string, unknown>> => {
    const headers = { 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': `AmazonSQS.${action}` }
    const payload = JSON.stringify(input)
    const answer = await store.inject({ method: 'POST', url: '/', payload, headers })
    if (answer.statusCode !== 200) throw new Error(`${action} is answered with ${answer.statusCode}: ${answer.payload}`)
    return answer.json()
  }
  return {
    url,
    async createBucket(name) {
      await put(`/${name}`, Buffer.alloc(0))
    },
    async put(bucket, key, bytes) {
      const etag = await put(`/${bucket}/${key.split('/').map(encodeURIComponent).join('/')}`, bytes)
      return { key, etag: etag.replaceAll('"', ''), sizeBytes: bytes.length }
    },
    async createQueue(name) {
      const { QueueUrl } = await callQueues('CreateQueue', { QueueName: name })
      return new URL(String(QueueUrl)).pathname
    },
    async send(queuePath, message) {
      await callQueues('SendMessage', { QueueUrl: `${url}${queuePath}`, MessageBody: message })
    },
    async countMessages(queuePath) {
      const asked = { QueueUrl: `${url}${queuePath}`, AttributeNames: ['All'] }
      const { Attributes } = await callQueues('GetQueueAttributes', asked)
      const { ApproximateNumberOfMessages: waiting, ApproximateNumberOfMessagesNotVisible: held } =
        Attributes as Record<string, string>
      return Number(waiting) + Number(held)
    },
    stop: () => store.close(),
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Buffer.isBuffer(value)
}
