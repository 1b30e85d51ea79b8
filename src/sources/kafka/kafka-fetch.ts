// Asks a broker for the records of partitions that it leads. The library's own reading of the answer is not used: it would
// decompress everything at once, however much that is.
import {
  fetchV4,
  fetchV7,
  fetchV10,
  fetchV11,
  fetchV12,
  fetchV13,
  listOffsetsV2,
  listOffsetsV5,
  type Reader,
} from '@platformatic/kafka'
import type { BrokerConnection } from './kafka-connection.ts'
import { memoryOf } from './kafka-memory.ts'
import type { AbortedTransaction, StoredBatches } from './kafka-records.ts'

export interface WantedPartition {
  topic: string
  partition: number
  offset: bigint
  /** Undefined: the partition is asked for by the name of its topic, whichever topic has that name now. */
  topicId?: string | undefined
}

export interface FetchedPartition extends StoredBatches {
  errorCode: number
  /** Where that ends which may be read now: what transactions that are still open have written comes after it. */
  end: bigint
  aborted: AbortedTransaction[]
}

export interface FetchLimits {
  /** How long the broker waits when it has nothing. */
  waitMs: number
  maxBytes: number
  maxPartitionBytes: number
}

/** Only what belongs to no transaction, or to one that was committed. */
const readCommitted = 1
const anyEpoch = -1
const answerTimeoutMs = 10_000

const fetchesByName = [fetchV12, fetchV11, fetchV10, fetchV7, fetchV4].map(({ api, createRequest }) => ({
  key: api.key,
  version: api.version,
  createRequest,
}))
/** From this version on topics are asked for by their ids, and only so. */
const firstById = 13
const fetches = [{ key: fetchV13.api.key, version: firstById, createRequest: fetchV13.createRequest }, ...fetchesByName]

/** The answer has at least one batch, however large, of the first partition that has any. */
export async function fetchRecords(
  broker: BrokerConnection,
  wanted: WantedPartition[],
  { waitMs, maxBytes, maxPartitionBytes }: FetchLimits,
): Promise<FetchedPartition[]> {
  const hasIds = wanted.every(({ topicId }) => topicId !== undefined)
  const { key, version, createRequest } = broker.choose(hasIds ? fetches : fetchesByName)
  const isById = version >= firstById
  const topics = byTopic(wanted, ({ partition, offset }) => ({
    partition,
    currentLeaderEpoch: anyEpoch,
    fetchOffset: offset,
    lastFetchedEpoch: anyEpoch,
    partitionMaxBytes: maxPartitionBytes,
  }))
  const ids = new Map(wanted.map(({ topic, topicId = '' }) => [topic, topicId]))
  const names = new Map([...ids].map(([topic, topicId]) => [topicId, topic]))
  const requested = topics.map(({ topic, partitions }) => ({ topicId: isById ? ids.get(topic)! : topic, partitions }))
  const readTopic = (reader: Reader): string =>
    isById ? (names.get(reader.readUUID()) ?? '') : reader.readString(version >= 12)
  const isFlexible = version >= 12
  return broker.call(
    (connection) =>
      new Promise((resolve, reject) => {
        connection.send<FetchedPartition[]>(
          key,
          version,
          () => createRequest(waitMs, 1, maxBytes, readCommitted, 0, -1, requested, [], ''),
          (_id, _key, _version, reader) => readAnswer(reader, version, wanted.length, readTopic),
          isFlexible,
          isFlexible,
          (error, answer) => (answer ? resolve(answer) : reject(error)),
        )
      }),
    waitMs + answerTimeoutMs,
  )
}

/** Of one answer. Each ends with a mark in the records, so a whole answer of such marks has fewer. */
const mostAborted = 200_000

/** Throws for an answer that has more in it than was asked for. */
function readAnswer(
  reader: Reader,
  version: number,
  mostPartitions: number,
  readTopic: (reader: Reader) => string,
): FetchedPartition[] {
  let partitionCount = 0
  let abortedCount = 0
  const countAborted = (): void => {
    if (++abortedCount > mostAborted) throw new Error('too many aborted transactions')
  }
  const isFlexible = version >= 12
  // How long we are throttled: the broker itself sees to that.
  reader.readInt32()
  // An error of all, and a session, of which we keep none.
  const errorCode = version >= 7 ? reader.readInt16() : 0
  if (version >= 7) reader.readInt32()
  const topics = reader.readArray(
    (inTopic) => {
      const topic = readTopic(inTopic)
      return inTopic.readArray(
        (inPartition) => {
          if (++partitionCount > mostPartitions) throw new Error('too many partitions')
          return readPartition(inPartition, topic, errorCode, version, countAborted)
        },
        isFlexible,
        isFlexible,
      )
    },
    isFlexible,
    isFlexible,
  )
  return topics.flat()
}

function readPartition(
  reader: Reader,
  topic: string,
  commonErrorCode: number,
  version: number,
  countAborted: () => void,
): FetchedPartition {
  const isFlexible = version >= 12
  const partition = reader.readInt32()
  const errorCode = reader.readInt16() || commonErrorCode
  const highWatermark = reader.readInt64()
  const lastStableOffset = reader.readInt64()
  // Where the partition begins.
  if (version >= 5) reader.skip(8)
  const aborted =
    reader.readNullableArray(
      (inAborted) => {
        countAborted()
        return { producerId: inAborted.readInt64(), firstOffset: inAborted.readInt64() }
      },
      isFlexible,
      isFlexible,
    ) ?? []
  // A replica that is nearer, which we never ask for.
  if (version >= 11) reader.skip(4)
  const bytes = reader.readNullableBytes(isFlexible) ?? Buffer.alloc(0)
  const memory = memoryOf(bytes)
  memory?.hold()
  const end = lastStableOffset < 0n ? highWatermark : lastStableOffset
  return { topic, partition, errorCode, end, bytes, memory, aborted }
}

const offsetApis = [listOffsetsV5.api, listOffsetsV2.api] as const

/** Moments that stand for the ends of a partition. */
export const latest = -1n
export const earliest = -2n

export interface ListedOffset {
  topic: string
  partition: number
  errorCode: number
  /** Of the first record that is not older than the moment; -1 when there is none. */
  offset: bigint
}

export async function listOffsets(
  broker: BrokerConnection,
  wanted: { topic: string; partition: number }[],
  moment: bigint,
): Promise<ListedOffset[]> {
  const topics = byTopic(wanted, ({ partition }) => ({
    partitionIndex: partition,
    currentLeaderEpoch: anyEpoch,
    timestamp: moment,
  }))
  const requested = topics.map(({ topic, partitions }) => ({ name: topic, partitions }))
  const answer = await broker.call((wire) => broker.choose(offsetApis).async(wire, -1, readCommitted, requested))
  return answer.topics.flatMap(({ name, partitions }) =>
    partitions.map(({ partitionIndex, errorCode, offset }) => ({
      topic: name,
      partition: partitionIndex,
      errorCode,
      offset,
    })),
  )
}

/** In the order given: neighbours of the same topic go together. */
export function byTopic<Wanted extends { topic: string }, Asked>(
  wanted: Wanted[],
  ask: (one: Wanted) => Asked,
): { topic: string; partitions: Asked[] }[] {
  const topics: { topic: string; partitions: Asked[] }[] = []
  for (const one of wanted) {
    const last = topics.find(({ topic }) => topic === one.topic)
    if (last) last.partitions.push(ask(one))
    else topics.push({ topic: one.topic, partitions: [ask(one)] })
  }
  return topics
}
