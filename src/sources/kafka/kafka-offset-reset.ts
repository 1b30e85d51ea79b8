// Offset resets when the records at a position are gone, and how many records were lost. Causes: the topic was deleted and created
// again, retention deleted unread records, or the brokers lost the end of the log.

import type { Batch, LostRecords } from '../source.ts'
import type { KafkaCluster, TopicPartition } from './kafka-cluster.ts'
import { earliest, latest } from './kafka-fetch.ts'
import { loadOffsets } from './kafka-offsets.ts'
import { positionText } from './kafka-position.ts'
import type { OffsetReset } from './read-partition.ts'
import { isFinished, type ReadPartition } from './read-partition.ts'

/** Applies the current metadata of the partition. */
export function applyMetadata(known: ReadPartition, found: TopicPartition): void {
  const { topicId } = found
  known.isMissing = false
  // The metadata of this broker still has the deleted topic.
  const isOutdated = topicId !== undefined && topicId === known.after
  known.leader = isOutdated ? undefined : found.leader
  if (isOutdated || topicId === undefined || isFinished(known)) return
  known.topicId = topicId
  if (known.log === undefined) {
    // A range begun by an earlier version of Penstock keeps its positions without topic id.
    if (known.until !== undefined) return
    known.log = topicId
    known.isLogAssumed = known.isBegun
  } else if (known.log === topicId) {
    if (known.reset?.topicId !== topicId) known.reset = undefined
  } else if (known.position !== undefined) {
    if (known.reset?.topicId !== topicId) known.reset = resetToTopic(known, topicId)
  } else {
    // Reading of the earlier topic had not begun. All records of the new topic came after reading was to begin.
    Object.assign(known, { log: topicId, position: undefined, isLaterAddition: true, firstCount: undefined })
  }
}

export function resetToTopic({ topic, log, until }: ReadPartition, topicId: string): OffsetReset {
  const reason = `the topic "${topic}" was deleted and created again, and the new one is read from its beginning`
  const ofRange = { offset: until, topicId: log, after: undefined, reason, records: 'unread' as const }
  return until === undefined ? { ...ofRange, topicId, after: log } : ofRange
}

/** For a partition whose position is out of range, or of whose range the broker returns nothing. */
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

/** The broker has the position: nothing indicates another topic. */
export function confirmLog(partition: ReadPartition): void {
  if (!partition.isLogAssumed) return
  partition.isLogAssumed = false
  partition.mustStoreStart = true
}

/** Without a topic id we assume that the topic was recreated: that is far more frequent than lost records. */
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

/** Makes positions distinct from earlier ones when the same offsets are read again. */
function onceMore(after: string | undefined): string {
  return /^\d+$/.test(after ?? '') ? String(Number(after) + 1) : '1'
}

/** Undefined until the start of the new log is known. */
export function takeReset(partition: ReadPartition, reset: OffsetReset): Batch | undefined {
  const { name, position, end, firstCount, log, after, until } = partition
  const { offset, topicId, reason, records } = reset
  if (offset === undefined || position === undefined) return undefined
  const from = positionText({ offset: position, firstCount, topicId: log, after })
  const isOtherTopic = topicId !== log
  Object.assign(partition, {
    position: offset,
    log: topicId,
    // The end of a range keeps its position text.
    ...(until === undefined ? { after: reset.after } : {}),
    ...(isOtherTopic ? { firstCount: undefined } : {}),
    end: undefined,
    reset: undefined,
    silentMs: 0,
    isBegun: true,
    mustStoreStart: false,
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
