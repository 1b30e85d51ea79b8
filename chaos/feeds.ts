// The kinds of source that pipes read from in these runs: what a pipe is created with, how rows get in, and how the way there
// breaks. Those of Kafka and of object storage that is listed are here. The servers live in this process: none of the ones that die.
import { startKafkaProxy } from '../test/sources/kafka-proxy.ts'
import type { KafkaServer, Login } from '../test/sources/kafka-server.ts'
import type { ObjectServer } from '../test/sources/object-server.ts'
import type { Random } from './random.ts'
import { startWay } from './way.ts'

export interface Feed {
  kind: 'kafka' | 'objectStorage' | 'kinesis'
  /** What Penstock must be told to find the source. */
  environment?: Record<string, string>
  /** The member of `source` that the pipe is created with. */
  source: object
  credentials?: Credentials
  put(rows: string[]): Promise<void>
  /** Puts rows where a pipe finds them only if they are there before it begins. */
  putBefore?(rows: string[]): Promise<void>
  /** Of a source that is emptied by whoever reads it: what nobody has removed yet. */
  countLeft?(): Promise<number>
  /** Splits or merges what the source is made of, and says what was done. */
  reshard?(): Promise<string>
  /** Nobody gets through from now on, and who is connected is cut off. */
  breakOff(): void
  restore(): void
  close(): Promise<void>
}

/** What a change of the pipe may bring, as the member of `source`. */
export interface Credentials {
  /** Lets in from now on: another one each time, if there are others. */
  next(): object
  /** The source refuses all but the last one from now on. */
  forgetOthers?(): void
  /** Lets nobody in. */
  wrong: object
}

export interface FeedOptions {
  /** Different for every feed of a server. */
  name: string
  random: Random
}

const topicPartitions = 3

export interface KafkaFeedOptions extends FeedOptions {
  /** Who else may read the topic. */
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
      // Some batches go whole into one partition, so that identical ones follow each other there.
      const isSpread = random.happens(0.7)
      await server.produce(
        name,
        rows.map((row, index) => ({
          partition: isSpread ? (first + index) % topicPartitions : first,
          value: Buffer.from(row),
        })),
      )
    },
    breakOff() {
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
  const way = await startWay({ host: hostname, port: Number(port) })
  await server.createBucket(name)
  const { accessKeyId, secretKey } = server.accessKey
  let number = 0
  return {
    kind: 'objectStorage',
    source: {
      objectStorage: {
        type: 's3',
        format: 'JSONEachRow',
        url: `${way.url}/${name}/rows/*.json`,
        authentication: 'IAM_USER',
        accessKey: { accessKeyId, secretKey },
        isContinuous,
      },
    },
    async put(rows) {
      // With and without an end of the last line, as files are.
      const text = `${rows.join('\n')}${random.happens(0.5) ? '\n' : ''}`
      await server.put(name, `rows/${String(++number).padStart(8, '0')}.json`, Buffer.from(text))
    },
    breakOff: () => way.breakOff(),
    restore: () => way.restore(),
    close: () => way.close(),
  }
}
