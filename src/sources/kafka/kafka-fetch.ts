// Fetch and ListOffsets requests. The response parser of the library is not used: it would decompress everything at once.
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
import type { BrokerConnection } from './kafka-access.ts'
import { memoryOf } from './kafka-memory.ts'
import type { AbortedTransaction, StoredBatches } from './kafka-records.ts'

export interface PartitionRequest {
  topic: string
  partition: number
  offset: bigint
  /** Undefined: fetch by topic name, whichever topic has that name now. */
  topicId?: string | undefined
}

export interface FetchedPartition extends StoredBatches {
  errorCode: number
  /** Last stable offset; the high watermark where the broker does not report it. */
  end: bigint
  aborted: AbortedTransaction[]
}

export interface FetchLimits {
  /** How long the broker waits for new records. */
  waitMs: number
  maxBytes: number
  maxPartitionBytes: number
}

/** Isolation level: no records of open or aborted transactions. */
const readCommitted = 1
const anyEpoch = -1
const answerTimeoutMs = 10_000

const fetchesByName = [fetchV12, fetchV11, fetchV10, fetchV7, fetchV4].map(({ api, createRequest }) => ({
  key: api.key,
  version: api.version,
  createRequest,
}))
/** From this version on, Fetch identifies topics by id only. */
const firstById = 13
const fetches = [{ key: fetchV13.api.key, version: firstById, createRequest: fetchV13.createRequest }, ...fetchesByName]

/** The response has at least one batch, however large, of the first partition with records. */
export async function fetchRecords(
  broker: BrokerConnection,
  requested: PartitionRequest[],
  { waitMs, maxBytes, maxPartitionBytes }: FetchLimits,
): Promise<FetchedPartition[]> {
  const hasIds = requested.every(({ topicId }) => topicId !== undefined)
  const { key, version, createRequest } = broker.choose(hasIds ? fetches : fetchesByName)
  const isById = version >= firstById
  const topics = byTopic(requested, ({ partition, offset }) => ({
    partition,
    currentLeaderEpoch: anyEpoch,
    fetchOffset: offset,
    lastFetchedEpoch: anyEpoch,
    partitionMaxBytes: maxPartitionBytes,
  }))
  const ids = new Map(requested.map(({ topic, topicId = '' }) => [topic, topicId]))
  const names = new Map([...ids].map(([topic, topicId]) => [topicId, topic]))
  const requestedTopics = topics.map(({ topic, partitions }) => ({
    topicId: isById ? ids.get(topic)! : topic,
    partitions,
  }))
  const readTopic = (reader: Reader): string =>
    isById ? (names.get(reader.readUUID()) ?? '') : reader.readString(version >= 12)
  const isFlexible = version >= 12
  return broker.call(
    (connection) =>
      new Promise((resolve, reject) => {
        connection.send<FetchedPartition[]>(
          key,
          version,
          () => createRequest(waitMs, 1, maxBytes, readCommitted, 0, -1, requestedTopics, [], ''),
          (_id, _key, _version, reader) => readAnswer(reader, version, requested.length, readTopic),
          isFlexible,
          isFlexible,
          (error, answer) => (answer ? resolve(answer) : reject(error)),
        )
      }),
    waitMs + answerTimeoutMs,
  )
}

/** Per response. Each aborted transaction has an abort marker, so a valid response has fewer. */
const mostAborted = 200_000

/** Throws when the response has more partitions or aborted transactions than it can have. */
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
  // Throttle time: the broker enforces it.
  reader.readInt32()
  // Top-level error code, and the session id, which we do not use.
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
  // Log start offset.
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
  // Preferred read replica: we always read from the leader.
  if (version >= 11) reader.skip(4)
  const bytes = reader.readNullableBytes(isFlexible) ?? Buffer.alloc(0)
  const memory = memoryOf(bytes)
  memory?.hold()
  const end = lastStableOffset < 0n ? highWatermark : lastStableOffset
  return { topic, partition, errorCode, end, bytes, memory, aborted }
}

const offsetApis = [listOffsetsV5.api, listOffsetsV2.api] as const

/** Special timestamps of ListOffsets. */
export const latest = -1n
export const earliest = -2n

export interface ListedOffset {
  topic: string
  partition: number
  errorCode: number
  /** Of the first record with this timestamp or a later one; -1 without such a record. */
  offset: bigint
}

export async function listOffsets(
  broker: BrokerConnection,
  requested: { topic: string; partition: number }[],
  timestamp: bigint,
): Promise<ListedOffset[]> {
  const topics = byTopic(requested, ({ partition }) => ({
    partitionIndex: partition,
    currentLeaderEpoch: anyEpoch,
    timestamp,
  }))
  const requestedTopics = topics.map(({ topic, partitions }) => ({ name: topic, partitions }))
  const answer = await broker.call((wire) => broker.choose(offsetApis).async(wire, -1, readCommitted, requestedTopics))
  return answer.topics.flatMap(({ name, partitions }) =>
    partitions.map(({ partitionIndex, errorCode, offset }) => ({
      topic: name,
      partition: partitionIndex,
      errorCode,
      offset,
    })),
  )
}

/** Groups by topic, in the given order. */
export function byTopic<Item extends { topic: string }, Request>(
  requested: Item[],
  toRequest: (one: Item) => Request,
): { topic: string; partitions: Request[] }[] {
  const topics: { topic: string; partitions: Request[] }[] = []
  for (const one of requested) {
    const last = topics.find(({ topic }) => topic === one.topic)
    if (last) last.partitions.push(toRequest(one))
    else topics.push({ topic: one.topic, partitions: [toRequest(one)] })
  }
  return topics
}
