// Sources of the orders: a topic of Apache Kafka, and files in a bucket. Each is filled once, and read from the beginning by
// every contender that moves this many rows.
import { Producer } from '@platformatic/kafka'
import { startKafka } from '../../test/real/servers/kafka.ts'
import { startVersitygw } from '../../test/real/servers/versitygw.ts'
import type { ObjectServer } from '../../test/sources/object-server.ts'
import type { KinesisFeed } from './kinesis-feed.ts'
import { linesOf, orderOf, usualRowBytes } from './orders.ts'
import type { PostgresFeed } from './postgres-feed.ts'
import type { QueueFeed } from './queue-feed.ts'

export interface KafkaFeed {
  kind: 'kafka'
  /** Requires SASL PLAIN. */
  broker: string
  username: string
  password: string
  topic: string
}

export interface ObjectFeed {
  kind: 'objects'
  endpoint: string
  region: string
  bucket: string
  accessKeyId: string
  secretKey: string
}

/** Connection data of a source. */
export type Feed = KafkaFeed | ObjectFeed | QueueFeed | KinesisFeed | PostgresFeed

export interface FeedServer {
  /** With its version. */
  name: string
  /** Contains the first `rows` orders. */
  feed(rows: number): Promise<KafkaFeed | ObjectFeed>
  stop(): Promise<void>
}

const partitions = 4
/** About 100 KB, like a producer that lingers for a few milliseconds. */
const rowsPerRecordBatch = 500
const recordBatchesAtOnce = 16
const fileBytes = 32 * 1_024 * 1_024

export async function startKafkaFeed(): Promise<FeedServer> {
  const server = await startKafka()
  const { listeners, user, name } = server
  const feed = filledOnce(async (rows): Promise<KafkaFeed> => {
    const topic = `orders-${rows}`
    await server.createTopic(topic, partitions)
    await produce(listeners.plain, topic, rows)
    return { kind: 'kafka', broker: listeners.saslPlain, ...user, topic }
  })
  return { name, feed, stop: () => server.stop() }
}

function filledOnce<Filled extends Feed>(fill: (rows: number) => Promise<Filled>): (rows: number) => Promise<Filled> {
  const filled = new Map<number, Promise<Filled>>()
  return (rows) => {
    const feed = filled.get(rows) ?? fill(rows)
    filled.set(rows, feed)
    return feed
  }
}

async function produce(broker: string, topic: string, rows: number): Promise<void> {
  const producer = new Producer<Buffer, Buffer, Buffer, Buffer>({
    clientId: 'bench',
    bootstrapBrokers: [broker],
    retries: 0,
    acks: -1,
  })
  const sendBatch = (begin: number, partition: number): Promise<unknown> => {
    const end = Math.min(rows, begin + rowsPerRecordBatch)
    const messages = Array.from({ length: end - begin }, (_, index) => ({
      topic,
      partition,
      value: Buffer.from(orderOf(begin + index)),
    }))
    return producer.send({ messages })
  }
  try {
    const rowsAtOnce = rowsPerRecordBatch * recordBatchesAtOnce
    for (let begin = 0; begin < rows; begin += rowsAtOnce) {
      const begins = Array.from({ length: recordBatchesAtOnce }, (_, index) => begin + index * rowsPerRecordBatch)
      const sent = begins.map((first, index) => (first < rows ? sendBatch(first, index % partitions) : undefined))
      await Promise.all(sent)
    }
  } finally {
    await producer.close()
  }
}

/** Orders from `begin` to `end`, exclusive, in the order of a topic reader: partition after partition. */
export function linesOfTopic(begin: number, end: number): Buffer {
  const pieces = Array.from({ length: partitions }, (): Buffer[] => [])
  for (let first = begin, next: number; first < end; first = next) {
    const recordBatch = Math.floor(first / rowsPerRecordBatch)
    next = Math.min(end, (recordBatch + 1) * rowsPerRecordBatch)
    pieces[recordBatch % partitions]!.push(linesOf(first, next))
  }
  return Buffer.concat(pieces.flat())
}

export async function startObjectFeed(): Promise<FeedServer> {
  const server = await startVersitygw()
  const { endpoint, region, accessKey, name } = server
  const feed = filledOnce(async (rows): Promise<ObjectFeed> => {
    const bucket = `orders-${rows}`
    await putFiles(server, bucket, rows, fileBytes)
    return { kind: 'objects', endpoint, region, bucket, ...accessKey }
  })
  return { name, feed, stop: () => server.stop() }
}

interface StoredFile {
  key: string
  sizeBytes: number
}

export async function putFiles(
  server: ObjectServer,
  bucket: string,
  rows: number,
  bytesPerFile: number,
): Promise<StoredFile[]> {
  await server.createBucket(bucket)
  const rowsPerFile = Math.floor(bytesPerFile / usualRowBytes)
  const files: StoredFile[] = []
  for (let begin = 0; begin < rows; begin += rowsPerFile) {
    const key = `orders/${String(files.length + 1).padStart(5, '0')}.json`
    const lines = linesOf(begin, Math.min(rows, begin + rowsPerFile))
    await server.put(bucket, key, lines)
    files.push({ key, sizeBytes: lines.length })
  }
  return files
}
