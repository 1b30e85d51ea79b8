// Resets of offsets: where reading goes on when the records at a position are gone, and how many of them were never read. The topic was
// deleted and created again, retention has overtaken the reader, or the brokers have lost the end of the log.
import type { Batch, LostRecords } from '../source.ts'
import { isFinished, type ReadPartition } from './kafka-assignment.ts'
import type { KafkaCluster, TopicPartition } from './kafka-cluster.ts'
import { earliest, latest } from './kafka-fetch.ts'
import { loadOffsets } from './kafka-offsets.ts'
import { positionText } from './kafka-position.ts'

export interface OffsetReset {
  /** Undefined until the leader of the partition has said where the new log begins. */
  offset: bigint | undefined
  topicId: string | undefined
  after: string | undefined
  reason: string
  /** How many records are lost at most. `unread`: all that were not given out, whether the last answer told of them or not. */
  records: bigint | 'unread' | 'unknown'
}

/** Takes in what the brokers say of the partition now. */
export function meetPartition(known: ReadPartition, found: TopicPartition): void {
  const { topicId } = found
  known.isMissing = false
  // A broker that has not heard of the new topic yet.
  const isOutdated = topicId !== undefined && topicId === known.after
  known.leader = isOutdated ? undefined : found.leader
  if (isOutdated || topicId === undefined || isFinished(known)) return
  known.topicId = topicId
  if (known.log === undefined) {
    // A range that an earlier version of Penstock has begun keeps its names.
    if (known.until !== undefined) return
    known.log = topicId
    known.isLogAssumed = known.isBegun
  } else if (known.log === topicId) {
    if (known.reset?.topicId !== topicId) known.reset = undefined
  } else if (known.position !== undefined) {
    if (known.reset?.topicId !== topicId) known.reset = resetToTopic(known, topicId)
  } else {
    // Reading of the earlier topic had not begun. All that the new one has came after reading was to begin.
    Object.assign(known, { log: topicId, position: undefined, isLaterAddition: true, firstCount: undefined })
  }
}

export function resetToTopic({ topic, log, until }: ReadPartition, topicId: string): OffsetReset {
  const reason = `the topic "${topic}" was deleted and created again, and the new one is read from its beginning`
  const ofRange = { offset: until, topicId: log, after: undefined, reason, records: 'unread' as const }
  return until === undefined ? { ...ofRange, topicId, after: log } : ofRange
}

/** For a partition at whose position the broker has nothing, or gives nothing of a range. */
export async function checkRange(cluster: KafkaCluster, partition: ReadPartition): Promise<void> {
  const { name, topic, position, until, log, after } = partition
  if (position === undefined || partition.reset) return
  const [starts, ends] = await Promise.all([
    loadOffsets(cluster, [partition], earliest),
    loadOffsets(cluster, [partition], latest),
  ])
  const start = starts.get(name)!
  const end = ends.get(name)!
  const same = { topicId: log, after }
  if (position < start) {
    const offset = until === undefined || start < until ? start : until
    const reason = `records of the topic "${topic}" were deleted before they were read`
    partition.reset = { ...same, offset, reason, records: offset - position }
  } else if (until !== undefined && until > end) {
    const reason = `the brokers have lost records at the end of the topic "${topic}"`
    partition.reset = { ...same, offset: until, reason, records: until - position }
  } else if (position > end) {
    partition.reset = { topicId: log, after: onceMore(after), records: 'unknown', ...resetAtEnd(partition, start, end) }
  }
}

/** The broker has the position: there is no sign that it was of another topic. */
export function confirmLog(partition: ReadPartition): void {
  if (!partition.isLogAssumed) return
  partition.isLogAssumed = false
  partition.mustTellStart = true
}

/** Without a topic id nobody knows whether the topic is another one; that is by far more frequent than a loss of records. */
function resetAtEnd(
  { topic, log, isLogAssumed }: ReadPartition,
  start: bigint,
  end: bigint,
): Pick<OffsetReset, 'offset' | 'reason'> {
  const found = `the topic "${topic}" ends before what was read of it`
  if (log !== undefined && !isLogAssumed) {
    return { offset: end, reason: `${found}: the brokers have lost records, and reading goes on at its end` }
  }
  return {
    offset: start,
    reason: `${found}: it was created again, or the brokers have lost records; it is read from its beginning, so that rows may be there twice`,
  }
}

/** Offsets that are read again must not look like those of before. */
function onceMore(after: string | undefined): string {
  return /^\d+$/.test(after ?? '') ? String(Number(after) + 1) : '1'
}

/** Undefined until it is known where the new log begins. */
export function takeReset(partition: ReadPartition, reset: OffsetReset): Batch | undefined {
  const { name, position, end, firstCount, log, after, until } = partition
  const { offset, topicId, reason, records } = reset
  if (offset === undefined || position === undefined) return undefined
  const from = positionText({ offset: position, firstCount, topicId: log, after })
  const isOtherTopic = topicId !== log
  Object.assign(partition, {
    position: offset,
    log: topicId,
    // A range ends with the name that it had from the beginning.
    ...(until === undefined ? { after: reset.after } : {}),
    ...(isOtherTopic ? { firstCount: undefined } : {}),
    end: undefined,
    reset: undefined,
    silentMs: 0,
    isBegun: true,
    mustTellStart: false,
    isLogAssumed: false,
  })
  const next = positionText({ ...partition, offset, topicId })
  return { partition: name, from, next, lost: { reason, ...countOf(records, position, { end, until }) } }
}

function countOf(
  records: OffsetReset['records'],
  position: bigint,
  { end = position, until }: Pick<ReadPartition, 'end' | 'until'>,
): Pick<LostRecords, 'records'> {
  if (typeof records === 'bigint') return { records: { atMost: Number(records) } }
  if (records === 'unread' && until !== undefined) return { records: { atMost: Number(until - position) } }
  return records === 'unread' && end > position ? { records: { atLeast: Number(end - position) } } : {}
}
