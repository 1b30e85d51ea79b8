// Fetch: reads records, with the limits and the wait time of the request.
import type { Api, BrokerState, Exchange } from './api.ts'
import { errorCode } from './error-codes.ts'
import type { AbortedTransaction, PartitionLog } from './partition-log.ts'
import type { Topic } from './topics.ts'

interface RequestedPartition {
  index: number
  offset: number
  maxBytes: number
}

interface RequestedTopic {
  /** Name up to version 12, id since version 13. */
  name: string
  id: string
  partitions: RequestedPartition[]
}

interface FetchRequest {
  waitMs: number
  minBytes: number
  maxBytes: number
  isCommitted: boolean
  sessionId: number
  topics: RequestedTopic[]
}

interface FetchedPartition {
  index: number
  error: number
  highWatermark: number
  lastStableOffset: number
  startOffset: number
  aborted: AbortedTransaction[]
  records: Buffer
}

interface FetchedTopic {
  name: string
  id: string
  partitions: FetchedPartition[]
}

interface Fetched {
  topics: FetchedTopic[]
  sizeBytes: number
  hasError: boolean
}

export const fetch: Api = {
  key: 1,
  firstVersion: 4,
  lastVersion: 17,
  flexibleFrom: 12,
  async answer(exchange) {
    const requested = readRequest(exchange)
    // No fetch sessions, as a broker without free session slots: every fetch names all its partitions.
    const isUnknownSession = requested.sessionId !== 0
    writeResponse(exchange, requested, isUnknownSession ? [] : await fetchOrWait(exchange, requested))
    return undefined
  },
}

function readRequest({ version, request }: Exchange): FetchRequest {
  if (version <= 14) request.int32()
  const limits = { waitMs: request.int32(), minBytes: request.int32(), maxBytes: request.int32() }
  const isCommitted = request.int8() === 1
  const sessionId = version >= 7 ? request.int32() : 0
  if (version >= 7) request.int32()
  const readTopic = () => (version >= 13 ? { name: '', id: request.uuid() } : { name: request.string(), id: '' })
  const topics = request.structures(() => ({
    ...readTopic(),
    partitions: request.structures((): RequestedPartition => {
      const index = request.int32()
      if (version >= 9) request.int32()
      const offset = request.safeInt64()
      if (version >= 12) request.int32()
      if (version >= 5) request.int64()
      return { index, offset, maxBytes: request.int32() }
    }),
  }))
  if (version >= 7) {
    request.structures(() => {
      readTopic()
      request.array(() => request.int32())
    })
  }
  if (version >= 11) request.string()
  request.tags()
  return { ...limits, isCommitted, sessionId, topics }
}

async function fetchOrWait({ client, user, broker }: Exchange, requested: FetchRequest): Promise<FetchedTopic[]> {
  const deadlineMs = performance.now() + requested.waitMs
  for (;;) {
    const fetched = fetchOnce(broker, requested, user.permissions.readTopics)
    const leftMs = deadlineMs - performance.now()
    const isEnough = fetched.hasError || fetched.sizeBytes >= requested.minBytes
    if (isEnough || leftMs <= 0 || client.signal.aborted) return fetched.topics
    await broker.topics.waitForChange(leftMs, client.signal)
  }
}

function fetchOnce(broker: BrokerState, requested: FetchRequest, mayRead: boolean): Fetched {
  const fetched: Fetched = { topics: [], sizeBytes: 0, hasError: false }
  for (const { name, id, partitions } of requested.topics) {
    const topic = id ? broker.topics.findById(id) : broker.topics.find(name)
    const topicError = problemOf(topic, id, mayRead)
    fetched.topics.push({
      name,
      id,
      partitions: partitions.map((partition) => {
        const leftBytes = requested.maxBytes - fetched.sizeBytes
        const log = topic?.partitions[partition.index]
        const limits = { isCommitted: requested.isCommitted, maxBytes: Math.min(leftBytes, partition.maxBytes) }
        const mustGiveOne = fetched.sizeBytes === 0
        const given =
          topicError || !log
            ? failed(partition.index, topicError || errorCode.UNKNOWN_TOPIC_OR_PARTITION)
            : readLog(log, partition, { ...limits, mustGiveOne })
        fetched.sizeBytes += given.records.length
        fetched.hasError ||= given.error !== errorCode.NONE
        return given
      }),
    })
  }
  return fetched
}

function problemOf(topic: Topic | undefined, id: string, mayRead: boolean): number {
  if (!topic && id) return errorCode.UNKNOWN_TOPIC_ID
  return mayRead ? errorCode.NONE : errorCode.TOPIC_AUTHORIZATION_FAILED
}

function failed(index: number, error: number): FetchedPartition {
  const unknown = { highWatermark: -1, lastStableOffset: -1, startOffset: -1 }
  return { index, error, ...unknown, aborted: [], records: Buffer.alloc(0) }
}

function readLog(
  log: PartitionLog,
  { index, offset }: RequestedPartition,
  { isCommitted, maxBytes, mustGiveOne }: { isCommitted: boolean; maxBytes: number; mustGiveOne: boolean },
): FetchedPartition {
  if (!log.isInRange(offset)) return failed(index, errorCode.OFFSET_OUT_OF_RANGE)
  const beforeOffset = isCommitted ? log.lastStableOffset : log.endOffset
  const { bytes, aborted } = log.read(offset, beforeOffset, maxBytes, mustGiveOne)
  return {
    index,
    error: errorCode.NONE,
    highWatermark: log.endOffset,
    lastStableOffset: log.lastStableOffset,
    startOffset: log.startOffset,
    aborted,
    records: bytes,
  }
}

function writeResponse({ version, response }: Exchange, requested: FetchRequest, topics: FetchedTopic[]): void {
  response.int32(0)
  if (version >= 7) {
    response.int16(requested.sessionId === 0 ? errorCode.NONE : errorCode.FETCH_SESSION_ID_NOT_FOUND).int32(0)
  }
  response.structures(topics, ({ name, id, partitions }) => {
    if (version >= 13) response.uuid(id)
    else response.string(name)
    response.structures(partitions, (partition) => {
      response.int32(partition.index).int16(partition.error)
      response.int64(partition.highWatermark).int64(partition.lastStableOffset)
      if (version >= 5) response.int64(partition.startOffset)
      response.structures(requested.isCommitted ? partition.aborted : null, ({ producerId, firstOffset }) =>
        response.int64(producerId).int64(firstOffset),
      )
      if (version >= 11) response.int32(-1)
      response.bytes(partition.records)
    })
  })
  response.tags()
}
