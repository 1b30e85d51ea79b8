// The partitions that a reader reads: where each stands, who leads it, and what came of it and is not given out yet.
import type { KafkaSource } from '../../pipes/kafka-shapes.ts'
import type { Batch, Positions, ReadLimits, SourceRecord } from '../source.ts'
import type { KafkaCluster, TopicPartition } from './kafka-cluster.ts'
import { UnreadableBatch } from './kafka-compression.ts'
import { unreadableFailure } from './kafka-failure.ts'
import { earliest, type FetchedPartition } from './kafka-fetch.ts'
import { loadOffsets, loadStarts, partitionName } from './kafka-offsets.ts'
import { makePace, type Pace } from './kafka-pace.ts'
import { type KafkaRecord, type RecordStep, readRecords } from './kafka-records.ts'

export interface ReadPartition extends TopicPartition {
  name: string
  /** Where the next batch begins; undefined as long as that is not known. */
  position: bigint | undefined
  /** Read before, or begun now: what is lost after that is the user's loss. */
  isBegun: boolean
  /** Was not there when the source was first read. */
  isLaterAddition: boolean
  /** Where it begins is to be remembered, even before there is a record. */
  mustTellStart: boolean
  upcoming: Iterator<RecordStep> | undefined
  head: RecordStep | undefined
  /** What the batch takes in memory that is being read; 0 between batches. */
  unpackedBytes: number
}

/** Takes in what the brokers say of the partitions, and finds out where those begin that are new. */
export async function updatePartitions(
  known: Map<string, ReadPartition>,
  cluster: KafkaCluster,
  positions: Positions,
  offset: KafkaSource['offset'],
): Promise<void> {
  // Where each begins is told before anything else of it: what has no position when others have one was not there.
  const isFirstOpening = known.size === 0 && Object.keys(positions).length === 0
  for (const found of await cluster.loadPartitions()) {
    const name = partitionName(found)
    const partition = known.get(name)
    if (partition) partition.leader = found.leader
    else known.set(name, { ...newPartition(found, positions[name]), isLaterAddition: !isFirstOpening })
  }
  const unplaced = [...known.values()].filter(({ position, leader }) => position === undefined && leader)
  if (unplaced.length === 0) return
  const { first = [], later = [] } = Object.groupBy(unplaced, ({ isLaterAddition }) =>
    isLaterAddition ? 'later' : 'first',
  )
  const [starts, beginnings] = await Promise.all([
    loadStarts(cluster, first, offset),
    // All that a partition holds which came later is newer than the moment from which on is to be read.
    loadOffsets(cluster, later, earliest),
  ])
  const isFromMoment = offset?.strategy === 'from_latest' || offset?.strategy === 'from_timestamp'
  for (const partition of unplaced) {
    partition.position = starts.get(partition.name) ?? beginnings.get(partition.name)!
    // The end of today is not the end of the next time, and a start that nobody knows looks like a later addition.
    partition.mustTellStart = isFromMoment
  }
}

function newPartition(found: TopicPartition, position: string | undefined): Omit<ReadPartition, 'isLaterAddition'> {
  return {
    ...found,
    name: partitionName(found),
    position: position === undefined ? undefined : BigInt(position),
    isBegun: position !== undefined,
    mustTellStart: false,
    upcoming: undefined,
    head: undefined,
    unpackedBytes: 0,
  }
}

/** What came of the partition from its position on. */
export function keepFetched(partition: ReadPartition, { bytes, aborted }: FetchedPartition): void {
  if (partition.position === undefined || bytes.length === 0) return
  partition.upcoming = readRecords(bytes, partition.position, aborted)
}

/** Whether something came that has not been looked through: nothing is unpacked before it is its turn. */
export function hasUpcoming({ head, upcoming }: ReadPartition): boolean {
  return head !== undefined || upcoming !== undefined
}

function peek(partition: ReadPartition, room: Room): RecordStep | undefined {
  if (partition.head || !partition.upcoming) return partition.head
  const isBetweenBatches = partition.unpackedBytes === 0
  if (isBetweenBatches && room.unpackedBytes >= mostUnpackedBytes) return undefined
  try {
    const { value, done } = partition.upcoming.next()
    partition.upcoming = done ? undefined : partition.upcoming
    partition.head = done ? undefined : value
    partition.unpackedBytes = partition.head?.unpackedBytes ?? 0
    if (isBetweenBatches) room.unpackedBytes += partition.unpackedBytes
    return partition.head
  } catch (error) {
    if (!(error instanceof UnreadableBatch)) throw error
    throw unreadableFailure(partition.topic, partition.partition, partition.position ?? 0n)
  }
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
  return partitions.reduce((sum, { unpackedBytes }) => sum + unpackedBytes, 0)
}

async function takeBatch(
  partition: ReadPartition,
  room: Room,
  pace: Pace,
  signal: AbortSignal,
): Promise<Batch | undefined> {
  const { position: from, mustTellStart, name } = partition
  if (from === undefined) return undefined
  const records: SourceRecord[] = []
  while (room.records > 0 && room.sizeBytes > 0) {
    if (pace.isDue()) await pace.rest()
    if (signal.aborted) break
    const step = peek(partition, room)
    if (!step) break
    const { record, nextOffset } = step
    // A record without a value says that its key is deleted: there is nothing in it to decode.
    if (record?.value) {
      const sizeBytes = sizeOf(record)
      if (sizeBytes > room.sizeBytes && !room.isEmpty) break
      records.push(toSourceRecord(record, record.value, partition))
      room.records--
      room.sizeBytes -= sizeBytes
      room.isEmpty = false
    }
    partition.position = nextOffset
    partition.head = undefined
  }
  const next = partition.position ?? from
  if (next === from && !mustTellStart) return undefined
  partition.isBegun = true
  partition.mustTellStart = false
  return { partition: name, from: String(from), next: String(next), records }
}

/** About what an empty header takes in memory. */
const headerOverheadBytes = 100

function sizeOf({ key, value, headers }: KafkaRecord): number {
  const headersBytes = headers.reduce(
    (sizeBytes, [name, header]) => sizeBytes + headerOverheadBytes + name.length + (header?.length ?? 0),
    0,
  )
  return (key?.length ?? 0) + (value?.length ?? 0) + headersBytes
}

function toSourceRecord(record: KafkaRecord, value: Uint8Array, { topic, partition }: TopicPartition): SourceRecord {
  const { offset, timestampMs, key, headers } = record
  return {
    value,
    meta: {
      _topic: topic,
      _partition: partition,
      _offset: offset <= Number.MAX_SAFE_INTEGER ? Number(offset) : offset,
      _timestamp: timestampMs === undefined ? null : new Date(timestampMs),
      _key: key,
      _headers: headersOf(headers),
    },
  }
}

/** A name can occur more than once. */
function headersOf(headers: KafkaRecord['headers']): Record<string, (string | null)[]> {
  const lists = new Map<string, (string | null)[]>()
  for (const [name, value] of headers) {
    const text = value?.toString() ?? null
    const list = lists.get(name)
    if (list) list.push(text)
    else lists.set(name, [text])
  }
  return Object.fromEntries(lists)
}
