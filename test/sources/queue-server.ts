// SQS with object notifications, in this process behind a signature check. Messages that tests send directly are not checked.
import { randomUUID } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { buildApp } from 'fauxqs'
import { keyOf } from './object-server.ts'
import { type CheckedKey, type SignatureCheckOptions, startSignatureCheck } from './signature-check.ts'

export interface QueueCounts {
  /** Visible: not received, or their visibility timeout is over. */
  waiting: number
  held: number
}

export interface QueueServer {
  /** `http://127.0.0.1:port` */
  endpoint: string
  region: string
  /** Returns its URL. */
  createQueue(name: string, attributes?: Record<string, string>): Promise<string>
  send(queueUrl: string, body: string): Promise<void>
  attributes(queueUrl: string): Promise<QueueCounts>
  stop(): Promise<void>
}

export interface QueueServerOptions {
  /** Valid keys, read for each request. Default: those of `startObjectServer`. */
  keys?: CheckedKey[]
  interfere?: SignatureCheckOptions['interfere']
}

/** The region of signatures for a bucket with a custom endpoint. */
const region = 'us-east-1'

export async function startQueueServer(options: QueueServerOptions = {}): Promise<QueueServer> {
  const { keys = [keyOf('owner'), keyOf('powerless', { mayRead: false })], interfere } = options
  const store = buildApp({ logger: false, defaultRegion: region })
  await store.listen({ host: '127.0.0.1', port: 0 })
  const target = `http://127.0.0.1:${(store.server.address() as AddressInfo).port}`
  const check = await startSignatureCheck({ service: 'sqs', region, target, keys, ...(interfere && { interfere }) })
  const ask = async (action: string, payload: object): Promise<Record<string, unknown>> => {
    const headers = { 'x-amz-target': `AmazonSQS.${action}`, 'content-type': 'application/x-amz-json-1.0' }
    const answer = await store.inject({ method: 'POST', url: '/', headers, payload: JSON.stringify(payload) })
    if (answer.statusCode !== 200) throw new Error(`${action}: ${answer.statusCode} ${answer.payload}`)
    return JSON.parse(answer.payload || '{}')
  }
  return {
    endpoint: check.url,
    region,
    async createQueue(name, attributes = {}) {
      await ask('CreateQueue', { QueueName: name, Attributes: attributes })
      return `${check.url}/000000000000/${name}`
    },
    async send(queueUrl, body) {
      await ask('SendMessage', { QueueUrl: queueUrl, MessageBody: body })
    },
    async attributes(queueUrl) {
      const { Attributes } = await ask('GetQueueAttributes', { QueueUrl: queueUrl, AttributeNames: ['All'] })
      const attributes = Attributes as Record<string, string>
      return {
        waiting: Number(attributes.ApproximateNumberOfMessages),
        held: Number(attributes.ApproximateNumberOfMessagesNotVisible),
      }
    },
    async stop() {
      await check.stop()
      await store.close()
    },
  }
}

export interface EventObject {
  key: string
  etag?: string
  sizeBytes?: number
}

/** Notification of Amazon S3 for new objects. */
export function s3Event(bucket: string, ...objects: EventObject[]): string {
  return JSON.stringify({ Records: objects.map((object) => s3Record(bucket, object)) })
}

/** The same for one object, with all fields of the event. */
export function s3Record(
  bucket: string,
  { key, etag = randomUUID().replaceAll('-', ''), sizeBytes = 1 }: EventObject,
  eventName = 'ObjectCreated:Put',
): object {
  const encodedKey = encodeURIComponent(key).replaceAll('%20', '+').replaceAll('%2F', '/')
  return {
    eventVersion: '2.1',
    eventSource: 'aws:s3',
    awsRegion: region,
    eventTime: new Date().toISOString(),
    eventName,
    userIdentity: { principalId: 'AWS:AIDAEXAMPLE' },
    requestParameters: { sourceIPAddress: '127.0.0.1' },
    responseElements: { 'x-amz-request-id': randomUUID(), 'x-amz-id-2': 'none' },
    s3: {
      s3SchemaVersion: '1.0',
      configurationId: 'penstock',
      bucket: { name: bucket, ownerIdentity: { principalId: 'A1EXAMPLE' }, arn: `arn:aws:s3:::${bucket}` },
      object: { key: encodedKey, size: sizeBytes, eTag: etag, sequencer: '0055AED6DCD90281E5' },
    },
  }
}

/** Wraps a message as an SNS topic does without raw delivery. */
export function inSns(message: string): string {
  return JSON.stringify({
    Type: 'Notification',
    MessageId: randomUUID(),
    TopicArn: `arn:aws:sns:${region}:123456789012:objects`,
    Subject: 'Amazon S3 Notification',
    Message: message,
    Timestamp: new Date().toISOString(),
    SignatureVersion: '1',
    Signature: 'none',
    SigningCertURL: 'https://sns.amazonaws.com/none.pem',
    UnsubscribeURL: 'https://sns.amazonaws.com/none',
  })
}

/** Event Grid notification for Azure blobs, in base64 as queues contain it. */
export function blobEvent(container: string, ...keys: string[]): string {
  const events = keys.map((key) => ({
    topic: '/subscriptions/none/resourceGroups/none/providers/Microsoft.Storage/storageAccounts/penstocktest',
    subject: `/blobServices/default/containers/${container}/blobs/${key}`,
    eventType: 'Microsoft.Storage.BlobCreated',
    id: randomUUID(),
    data: {
      api: 'PutBlob',
      eTag: '0x8D4BCC2E4835CD0',
      contentLength: 1,
      blobType: 'BlockBlob',
      url: `https://penstocktest.blob.core.windows.net/${container}/${key.split('/').map(encodeURIComponent).join('/')}`,
      sequencer: '00000000000004420000000000028963',
    },
    dataVersion: '',
    metadataVersion: '1',
    eventTime: new Date().toISOString(),
  }))
  return Buffer.from(JSON.stringify(events)).toString('base64')
}
