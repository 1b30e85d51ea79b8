// Gives out fetched records within the limits of a read. Every record passes through this code.
import type { Batch, ReadLimits } from '../source.ts'
import { UnreadableBatch } from './kafka-compression.ts'
import { kafkaFailure } from './kafka-failure.ts'
import { takeReset } from './kafka-offset-reset.ts'
import { positionText } from './kafka-position.ts'
import { KafkaRecordList } from './kafka-record-list.ts'
import { RecordWalk, type StoredBatches } from './kafka-records.ts'
import { makeYieldTimer, type YieldTimer } from './kafka-scheduling.ts'
import type { ReadPartition } from './read-partition.ts'

/** Records of the partition from its position on. */
export function keepFetched(partition: ReadPartition, stored: StoredBatches): void {
  if (partition.position === undefined || stored.bytes.length === 0) {
    stored.memory?.release()
    return
  }
  partition.upcoming = new RecordWalk(stored, partition.position)
  partition.hasHead = false
}

/** With this much decompressed, a read starts no further batch; batches already decompressed come first. */
const mostDecompressedBytes = 32 * 1024 * 1024

/** Remaining limits of one read. */
interface Remaining {
  records: number
  sizeBytes: number
  isEmpty: boolean
  /** Decompressed by this read, and by earlier ones for records not given out yet. */
  decompressedBytes: number
}

/** In the order of the partitions, within the limits. Returns what was taken when the signal is aborted. */
export async function takeBatches(partitions: ReadPartition[], limits: ReadLimits): Promise<Batch[]> {
  const { maxRecords, maxBytes, signal } = limits
  const decompressedBytes = decompressedBytesOf(partitions)
  const remaining: Remaining = { records: maxRecords, sizeBytes: maxBytes, isEmpty: true, decompressedBytes }
  const yieldTimer = makeYieldTimer()
  const batches: Batch[] = []
  for (const partition of partitions) {
    const batch = await takeBatch(partition, remaining, yieldTimer, signal)
    if (batch) batches.push(batch)
  }
  // A fully given out batch counts until the next step: now others may fit.
  const hasFreedMemory = decompressedBytesOf(partitions) < decompressedBytes
  return batches.length === 0 && hasFreedMemory && !signal.aborted ? takeBatches(partitions, limits) : batches
}

function decompressedBytesOf(partitions: ReadPartition[]): number {
  return partitions.reduce((sum, { upcoming }) => sum + (upcoming?.decompressedBytes ?? 0), 0)
}

async function takeBatch(
  partition: ReadPartition,
  remaining: Remaining,
  yieldTimer: YieldTimer,
  signal: AbortSignal,
): Promise<Batch | undefined> {
  const { position: from, mustStoreStart, name, upcoming, reset } = partition
  if (from === undefined) return undefined
  if (reset && !upcoming) return takeReset(partition, reset)
  const records = new KafkaRecordList()
  if (upcoming) {
    try {
      while (!signal.aborted && takeSome(partition, upcoming, remaining, records)) {
        if (yieldTimer.isDue()) await yieldTimer.yieldToLoop()
      }
    } catch (error) {
      if (!(error instanceof UnreadableBatch)) throw error
      throw kafkaFailure('unreadable', { ...partition, step: 'read', offset: upcoming.nextOffset })
    }
    moveOn(partition, upcoming)
  }
  const next = partition.position ?? from
  if (next === from && !mustStoreStart) return undefined
  partition.isBegun = true
  partition.mustStoreStart = false
  return { partition: name, from: textOf(partition, from), next: textOf(partition, next), records }
}

function textOf({ firstCount, log, after }: ReadPartition, offset: bigint): string {
  return positionText({ offset, firstCount, topicId: log, after })
}

/** Steps between clock reads, which take longer than most steps. */
const stepsAtOnce = 64

/** Takes some steps within one batch; false when nothing more can be taken now. */
function takeSome(
  partition: ReadPartition,
  upcoming: RecordWalk,
  remaining: Remaining,
  records: KafkaRecordList,
): boolean {
  const { until } = partition
  for (let left = stepsAtOnce; left > 0; left--) {
    if (remaining.records <= 0 || remaining.sizeBytes <= 0 || !hasStep(partition, upcoming, remaining)) return false
    const { hasRecord, sizeBytes } = upcoming
    if (until !== undefined && hasRecord && upcoming.offset >= until) return false
    // A tombstone has nothing to decode.
    if (hasRecord && !upcoming.isDeletion) {
      if (sizeBytes > remaining.sizeBytes && !remaining.isEmpty) return false
      upcoming.addTo(records)
      remaining.records--
      remaining.sizeBytes -= sizeBytes
      remaining.isEmpty = false
    }
    partition.hasHead = false
    // The next step decompresses a batch.
    if (upcoming.decompressedBytes === 0) return until === undefined || upcoming.nextOffset < until
  }
  return true
}

function hasStep(partition: ReadPartition, upcoming: RecordWalk, remaining: Remaining): boolean {
  if (partition.hasHead) return true
  const isBetweenBatches = upcoming.decompressedBytes === 0
  if (isBetweenBatches && remaining.decompressedBytes >= mostDecompressedBytes) return false
  if (!upcoming.step()) {
    upcoming.close()
    partition.upcoming = undefined
    return false
  }
  if (isBetweenBatches) remaining.decompressedBytes += upcoming.decompressedBytes
  partition.hasHead = true
  return true
}

function moveOn(partition: ReadPartition, upcoming: RecordWalk): void {
  const reached = partition.hasHead && upcoming.hasRecord ? upcoming.offset : upcoming.nextOffset
  const { until } = partition
  const isBeyond = until !== undefined && reached >= until
  partition.position = isBeyond ? until : reached
  if (!isBeyond) return
  upcoming.close()
  partition.upcoming = undefined
  partition.hasHead = false
}
