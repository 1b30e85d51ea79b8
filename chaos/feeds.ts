// Sources of the drills: how a pipe is created on them, how rows are written to them, and how their network fails. This file has
// Kafka and listed object storage. The servers run in this process and are never killed.
import { startKafkaProxy } from '../test/sources/kafka-proxy.ts'
import type { KafkaServer, Login } from '../test/sources/kafka-server.ts'
import type { ObjectServer } from '../test/sources/object-server.ts'
import type { Random } from './random.ts'
import { startTcpProxy } from './tcp-proxy.ts'

export interface Feed {
  kind: 'kafka' | 'objectStorage' | 'kinesis'
  /** Environment variables that Penstock needs to reach the source. */
  environment?: Record<string, string>
  /** The member of `source` in the create request. */
  source: object
  credentials?: Credentials
  put(rows: string[]): Promise<void>
  /** Writes rows that a pipe finds only if they exist before it starts. */
  putBefore?(rows: string[]): Promise<void>
  /** For a source that its reader empties: number of entries not yet removed. */
  countLeft?(): Promise<number>
  /** Splits or merges shards, and returns a description. */
  reshard?(): Promise<string>
  /** Closes all connections and refuses new ones until `restore`. */
  block(): void
  restore(): void
  close(): Promise<void>
}

/** Credentials for updates of the pipe, as the member of `source`. */
export interface Credentials {
  /** Creates accepted credentials; new ones each time, if the source has several. */
  next(): object
  /** Revokes all credentials but the last ones. */
  forgetOthers?(): void
  /** Credentials that the source refuses. */
  wrong: object
}

export interface FeedOptions {
  /** Unique per server. */
  name: string
  random: Random
}

const topicPartitions = 3

export interface KafkaFeedOptions extends FeedOptions {
  /** Other accepted logins. */
  otherLogins?: Login[]
}

export async function makeKafkaFeed(
  server: KafkaServer,
  { name, random, otherLogins = [] }: KafkaFeedOptions,
): Promise<Feed> {
  let isAway = false
  const proxy = await startKafkaProxy(server.listeners.saslPlain, ({ answer }) => (isAway ? 'break off' : answer))
  await server.createTopic(name, topicPartitions)
  return {
    kind: 'kafka',
    source: {
      kafka: {
        type: 'kafka',
        format: 'JSONEachRow',
        brokers: proxy.address,
        topics: name,
        authentication: 'PLAIN',
        credentials: server.user,
        offset: { strategy: 'from_beginning' },
      },
    },
    credentials: {
      next: () => ({ kafka: { credentials: random.pick([server.user, ...otherLogins]) } }),
      wrong: { kafka: { credentials: { ...server.user, password: 'no such password' } } },
    },
    async put(rows) {
      const first = random.below(topicPartitions)
      // Some batches go into a single partition, so that identical batches follow each other there.
      const isSpread = random.happens(0.7)
      await server.produce(
        name,
        rows.map((row, index) => ({
          partition: isSpread ? (first + index) % topicPartitions : first,
          value: Buffer.from(row),
        })),
      )
    },
    block() {
      isAway = true
    },
    restore() {
      isAway = false
    },
    close: () => proxy.stop(),
  }
}

export interface ObjectFeedOptions extends FeedOptions {
  isContinuous: boolean
}

export async function makeObjectFeed(
  server: ObjectServer,
  { name, random, isContinuous }: ObjectFeedOptions,
): Promise<Feed> {
  const { hostname, port } = new URL(server.endpoint)
  const proxy = await startTcpProxy({ host: hostname, port: Number(port) })
  await server.createBucket(name)
  const { accessKeyId, secretKey } = server.accessKey
  let number = 0
  return {
    kind: 'objectStorage',
    source: {
      objectStorage: {
        type: 's3',
        format: 'JSONEachRow',
        url: `${proxy.url}/${name}/rows/*.json`,
        authentication: 'IAM_USER',
        accessKey: { accessKeyId, secretKey },
        isContinuous,
      },
    },
    async put(rows) {
      // With and without a newline at the end of the file.
      const text = `${rows.join('\n')}${random.happens(0.5) ? '\n' : ''}`
      await server.put(name, `rows/${String(++number).padStart(8, '0')}.json`, Buffer.from(text))
    },
    block: () => proxy.block(),
    restore: () => proxy.restore(),
    close: () => proxy.close(),
  }
}
