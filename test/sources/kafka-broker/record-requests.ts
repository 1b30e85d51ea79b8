// ListOffsets, Produce and DeleteRecords.
import type { Api, BrokerState } from './api.ts'
import { errorCode } from './error-codes.ts'
import { type Appended, leaderEpoch, type PartitionLog } from './partition-log.ts'
import { parseBatches, type RecordBatch, UnsupportedFormat } from './record-batch.ts'
import { MalformedMessage } from './wire.ts'

/** The log of the partition, or an error code. */
export function findLog(
  broker: BrokerState,
  topic: string,
  partition: number,
  isAllowed: boolean,
): PartitionLog | number {
  if (!isAllowed) return errorCode.TOPIC_AUTHORIZATION_FAILED
  return broker.topics.find(topic)?.partitions[partition] ?? errorCode.UNKNOWN_TOPIC_OR_PARTITION
}

/** Special timestamps of ListOffsets. */
const latest = -1
const earliest = -2
const newest = -3
const earliestLocal = -4
const latestTiered = -5

interface FoundOffset {
  offset: number
  timestampMs: number
}

export const listOffsets: Api = {
  key: 2,
  firstVersion: 1,
  lastVersion: 9,
  flexibleFrom: 6,
  answer({ version, request, response, user, broker }) {
    request.int32()
    const isCommitted = version >= 2 && request.int8() === 1
    const topics = request.structures(() => ({
      name: request.string(),
      partitions: request.structures(() => {
        const index = request.int32()
        if (version >= 4) request.int32()
        return { index, timestamp: request.safeInt64() }
      }),
    }))
    request.tags()

    if (version >= 2) response.int32(0)
    response.structures(topics, ({ name, partitions }) => {
      response.string(name)
      response.structures(partitions, ({ index, timestamp }) => {
        const log = findLog(broker, name, index, user.permissions.describeTopics)
        const found = typeof log === 'number' ? undefined : findOffset(log, timestamp, isCommitted)
        response.int32(index).int16(typeof log === 'number' ? log : errorCode.NONE)
        response.int64(found?.timestampMs ?? -1).int64(found?.offset ?? -1)
        if (version >= 4) response.int32(found ? leaderEpoch : -1)
      })
    })
    response.tags()
    return undefined
  },
}

function findOffset(log: PartitionLog, timestamp: number, isCommitted: boolean): FoundOffset | undefined {
  switch (timestamp) {
    case latest:
      return { offset: isCommitted ? log.lastStableOffset : log.endOffset, timestampMs: -1 }
    case earliest:
    case earliestLocal:
      return { offset: log.startOffset, timestampMs: -1 }
    case newest:
      return log.findNewest()
    case latestTiered:
      return undefined
    default:
      return log.findByTimestamp(timestamp)
  }
}

export const produce: Api = {
  key: 0,
  firstVersion: 3,
  lastVersion: 11,
  flexibleFrom: 9,
  answer({ version, request, response, user, broker }) {
    const transactionalId = request.nullableString()
    const acknowledgements = request.int16()
    request.int32()
    const topics = request.structures(() => ({
      name: request.string(),
      partitions: request.structures(() => ({ index: request.int32(), records: request.nullableBytes() })),
    }))
    request.tags()

    response.structures(topics, ({ name, partitions }) => {
      response.string(name)
      response.structures(partitions, ({ index, records }) => {
        const log = findLog(broker, name, index, user.permissions.writeTopics)
        const { error, baseOffset } =
          typeof log === 'number'
            ? { error: log, baseOffset: -1 }
            : append(broker, { log, name, index }, records ?? Buffer.alloc(0), transactionalId)
        response.int32(index).int16(error).int64(baseOffset).int64(-1)
        if (version >= 5) response.int64(typeof log === 'number' ? -1 : log.startOffset)
        if (version >= 8) response.structures([], () => {}).string(null)
      })
    })
    response.int32(0).tags()
    broker.topics.changed()
    return acknowledgements === 0 ? 'no response' : undefined
  },
}

interface PartitionTarget {
  log: PartitionLog
  name: string
  index: number
}

function append(
  broker: BrokerState,
  target: PartitionTarget,
  records: Buffer,
  transactionalId: string | null,
): Appended {
  const batches = parseOrError(records)
  if (typeof batches === 'number') return { error: batches, baseOffset: -1 }
  const [batch, ...more] = batches
  // With format 2, a request has one batch per partition.
  if (!batch || more.length > 0 || batch.isControl) return { error: errorCode.INVALID_RECORD, baseOffset: -1 }
  if (batch.isTransactional) {
    const error = broker.transactions.mayWrite(transactionalId, batch, `${target.name}/${target.index}`)
    if (error) return { error, baseOffset: -1 }
  }
  return target.log.append(batch)
}

function parseOrError(records: Buffer): RecordBatch[] | number {
  try {
    return parseBatches(records)
  } catch (error) {
    if (error instanceof UnsupportedFormat) return errorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT
    if (error instanceof MalformedMessage) return errorCode.CORRUPT_MESSAGE
    throw error
  }
}

export const deleteRecords: Api = {
  key: 21,
  firstVersion: 0,
  lastVersion: 2,
  flexibleFrom: 2,
  answer({ request, response, user, broker }) {
    const topics = request.structures(() => ({
      name: request.string(),
      partitions: request.structures(() => ({ index: request.int32(), offset: request.safeInt64() })),
    }))
    request.int32()
    request.tags()

    response.int32(0)
    response.structures(topics, ({ name, partitions }) => {
      response.string(name)
      response.structures(partitions, ({ index, offset }) => {
        const log = findLog(broker, name, index, user.permissions.writeTopics)
        const error = typeof log === 'number' ? log : deleteBefore(log, offset)
        response.int32(index)
        response.int64(error || typeof log === 'number' ? -1 : log.startOffset).int16(error)
      })
    })
    response.tags()
    return undefined
  },
}

function deleteBefore(log: PartitionLog, offset: number): number {
  const requested = offset === -1 ? log.endOffset : offset
  if (requested < 0 || requested > log.endOffset) return errorCode.OFFSET_OUT_OF_RANGE
  log.deleteBefore(requested)
  return errorCode.NONE
}
