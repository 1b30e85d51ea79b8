// Gives out what came of the partitions, within the limits of a read: the part of reading that every single record goes through.
import type { Batch, ReadLimits } from '../source.ts'
import type { ReadPartition } from './kafka-assignment.ts'
import { UnreadableBatch } from './kafka-compression.ts'
import { unreadableFailure } from './kafka-failure.ts'
import { takeReset } from './kafka-offset-reset.ts'
import { makePace, type Pace } from './kafka-pace.ts'
import { positionText } from './kafka-position.ts'
import { KafkaRecordList } from './kafka-record-list.ts'
import { RecordWalk, type StoredBatches } from './kafka-records.ts'

/** What came of the partition from its position on. */
export function keepFetched(partition: ReadPartition, stored: StoredBatches): void {
  if (partition.position === undefined || stored.bytes.length === 0) {
    stored.memory?.release()
    return
  }
  partition.upcoming = new RecordWalk(stored, partition.position)
  partition.hasHead = false
}

/** When a read has this much in memory, it unpacks no further batch: what it holds of earlier ones comes first. */
const mostUnpackedBytes = 32 * 1024 * 1024

/** What is left of the limits of one read. */
interface Room {
  records: number
  sizeBytes: number
  isEmpty: boolean
  /** What this read has unpacked, and what those before it have and is not given out yet. */
  unpackedBytes: number
}

/** What came, in the order of the partitions and within the limits; what was taken when the signal is aborted. */
export async function takeBatches(partitions: ReadPartition[], limits: ReadLimits): Promise<Batch[]> {
  const { maxRecords, maxBytes, signal } = limits
  const unpackedBytes = unpackedBytesOf(partitions)
  const room: Room = { records: maxRecords, sizeBytes: maxBytes, isEmpty: true, unpackedBytes }
  const pace = makePace()
  const batches: Batch[] = []
  for (const partition of partitions) {
    const batch = await takeBatch(partition, room, pace, signal)
    if (batch) batches.push(batch)
  }
  // A batch that was given out to its last record takes memory until it is asked for more: others may have waited for that.
  const hasMadeRoom = unpackedBytesOf(partitions) < unpackedBytes
  return batches.length === 0 && hasMadeRoom && !signal.aborted ? takeBatches(partitions, limits) : batches
}

function unpackedBytesOf(partitions: ReadPartition[]): number {
  return partitions.reduce((sum, { upcoming }) => sum + (upcoming?.unpackedBytes ?? 0), 0)
}

async function takeBatch(
  partition: ReadPartition,
  room: Room,
  pace: Pace,
  signal: AbortSignal,
): Promise<Batch | undefined> {
  const { position: from, mustTellStart, name, upcoming, reset } = partition
  if (from === undefined) return undefined
  if (reset && !upcoming) return takeReset(partition, reset)
  const records = new KafkaRecordList()
  if (upcoming) {
    try {
      while (!signal.aborted && takeSome(partition, upcoming, room, records)) {
        if (pace.isDue()) await pace.rest()
      }
    } catch (error) {
      if (!(error instanceof UnreadableBatch)) throw error
      throw unreadableFailure(partition.topic, partition.partition, upcoming.nextOffset)
    }
    moveOn(partition, upcoming)
  }
  const next = partition.position ?? from
  if (next === from && !mustTellStart) return undefined
  partition.isBegun = true
  partition.mustTellStart = false
  return { partition: name, from: textOf(partition, from), next: textOf(partition, next), records }
}

function textOf({ firstCount, log, after }: ReadPartition, offset: bigint): string {
  return positionText({ offset, firstCount, topicId: log, after })
}

/** Between looks at the clock, which take longer than most steps. */
const stepsAtOnce = 64

/** Takes some steps, within one batch; false when there is nothing more to take for now. */
function takeSome(partition: ReadPartition, upcoming: RecordWalk, room: Room, records: KafkaRecordList): boolean {
  const { until } = partition
  for (let left = stepsAtOnce; left > 0; left--) {
    if (room.records <= 0 || room.sizeBytes <= 0 || !hasStep(partition, upcoming, room)) return false
    const { hasRecord, sizeBytes } = upcoming
    if (until !== undefined && hasRecord && upcoming.offset >= until) return false
    // Of a key that is deleted there is nothing to decode.
    if (hasRecord && !upcoming.isDeletion) {
      if (sizeBytes > room.sizeBytes && !room.isEmpty) return false
      upcoming.addTo(records)
      room.records--
      room.sizeBytes -= sizeBytes
      room.isEmpty = false
    }
    partition.hasHead = false
    // The next step unpacks a batch.
    if (upcoming.unpackedBytes === 0) return until === undefined || upcoming.nextOffset < until
  }
  return true
}

function hasStep(partition: ReadPartition, upcoming: RecordWalk, room: Room): boolean {
  if (partition.hasHead) return true
  const isBetweenBatches = upcoming.unpackedBytes === 0
  if (isBetweenBatches && room.unpackedBytes >= mostUnpackedBytes) return false
  if (!upcoming.step()) {
    upcoming.close()
    partition.upcoming = undefined
    return false
  }
  if (isBetweenBatches) room.unpackedBytes += upcoming.unpackedBytes
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
