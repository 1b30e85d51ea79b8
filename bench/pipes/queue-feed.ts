// Files in a bucket and queues that announce them. Each contender gets its own queue, because reading empties it. Includes a bare
// client that follows a queue, reads the files and discards them.

import type { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { GetObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { DeleteMessageBatchCommand, ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs'
import { startVersitygw } from '../../test/real/servers/versitygw.ts'
import { type EventObject, type QueueServer, s3Event, startQueueServer } from '../../test/sources/queue-server.ts'
import { type ObjectFeed, putFiles } from './feeds.ts'

export interface QueueFeed extends Omit<ObjectFeed, 'kind'> {
  kind: 'queue'
  queueUrl: string
}

export interface QueueFeedServer {
  name: string
  /** With a new, full queue. */
  newFeed(): Promise<QueueFeed>
  /** Returns the duration in seconds. */
  readAll(): Promise<number>
  stop(): Promise<void>
}

/** Default buffer size of Firehose, which writes most files behind such queues. */
const fileBytes = 5 * 1_024 * 1_024
const messagesAtOnce = 10

export async function startQueueFeed(rows: number): Promise<QueueFeedServer> {
  const server = await startVersitygw()
  const { endpoint, region, accessKey, name } = server
  const queues = await startQueueServer({ keys: [{ ...accessKey, mayRead: true }] })
  const stop = async (): Promise<void> => {
    await queues.stop()
    await server.stop()
  }
  const bucket = 'shop'
  try {
    const files = await putFiles(server, bucket, rows, fileBytes)
    let made = 0
    const newFeed = async (): Promise<QueueFeed> => {
      const queueUrl = await queues.createQueue(`orders-${++made}`)
      for (const file of files) await queues.send(queueUrl, s3Event(bucket, file))
      return { kind: 'queue', endpoint, region, bucket, ...accessKey, queueUrl }
    }
    return {
      name: `${name} and the queue of fauxqs, files of 5 MiB`,
      newFeed,
      readAll: async () => readAll(await newFeed(), queues, files),
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

async function readAll(feed: QueueFeed, queues: QueueServer, files: EventObject[]): Promise<number> {
  const credentials = { accessKeyId: feed.accessKeyId, secretAccessKey: feed.secretKey }
  const store = new S3Client({ endpoint: feed.endpoint, region: feed.region, forcePathStyle: true, credentials })
  const queue = new SQSClient({ endpoint: queues.endpoint, region: queues.region, credentials })
  const { queueUrl: QueueUrl, bucket: Bucket } = feed
  const readFile = async (body: string): Promise<void> => {
    const { Records } = JSON.parse(body) as { Records: { s3: { object: { key: string } } }[] }
    for (const { s3 } of Records) {
      const { Body } = await store.send(new GetObjectCommand({ Bucket, Key: s3.object.key }))
      await finished((Body as Readable).resume())
    }
  }
  const beganAtMs = performance.now()
  for (let left = files.length; left > 0; ) {
    const asked = new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: messagesAtOnce })
    const { Messages = [] } = await queue.send(asked)
    await Promise.all(Messages.map(({ Body = '' }) => readFile(Body)))
    const Entries = Messages.map(({ ReceiptHandle }, index) => ({ Id: String(index), ReceiptHandle }))
    if (Entries.length > 0) await queue.send(new DeleteMessageBatchCommand({ QueueUrl, Entries }))
    left -= Messages.length
  }
  const seconds = (performance.now() - beganAtMs) / 1_000
  store.destroy()
  queue.destroy()
  return seconds
}
