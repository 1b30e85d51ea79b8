// The partitions that a reader reads: which they are, where each stands and who leads it.
import type { KafkaSource } from '../../pipes/kafka-shapes.ts'
import { isNumberedOfShare } from '../share.ts'
import type { Positions, Selection } from '../source.ts'
import type { KafkaCluster, TopicPartition } from './kafka-cluster.ts'
import { lostPartition } from './kafka-failure.ts'
import { earliest } from './kafka-fetch.ts'
import { loadOffsets, loadStarts, partitionName } from './kafka-offsets.ts'
import { positionOf } from './kafka-position.ts'
import type { RecordWalk } from './kafka-records.ts'

export interface ReadPartition extends TopicPartition {
  name: string
  /** Where the next batch begins; undefined as long as that is not known. */
  position: bigint | undefined
  /** Nothing from here on is read; undefined: everything is. */
  until: bigint | undefined
  /** Where the partition ends, by the last answer. */
  end: bigint | undefined
  /** How many partitions the topic had when it was first read, where positions tell. */
  firstCount: number | undefined
  /** How long brokers have been waited for that gave nothing, while something up to `until` should be there. */
  silentMs: number
  /** Read before, or begun now: what is lost after that is the user's loss. */
  isBegun: boolean
  /** Was not there when the source was first read. */
  isLaterAddition: boolean
  /** Where it begins is to be remembered, even before there is a record. */
  mustTellStart: boolean
  /** What came and is not given out yet: nothing is unpacked before it is its turn. */
  upcoming: RecordWalk | undefined
  /** What is upcoming stands at a record that is not given out yet. */
  hasHead: boolean
}

export interface Assignment {
  positions: Positions
  selection: Selection
  offset: KafkaSource['offset']
  /** By topic: how many partitions it had when it was first read. Found out when the reader is opened. */
  firstCounts?: Map<string, number>
}

/** Takes in what the brokers say of the partitions, and finds out where those begin that are new. */
export async function updatePartitions(
  known: Map<string, ReadPartition>,
  cluster: KafkaCluster,
  assignment: Assignment,
): Promise<void> {
  const found = await cluster.loadPartitions()
  assignment.firstCounts ??= firstCountsOf(found, assignment.positions)
  for (const partition of found) {
    if (!isAssigned(partition, assignment)) continue
    const name = partitionName(partition)
    const same = known.get(name)
    if (same) same.leader = partition.leader
    else known.set(name, newPartition(partition, assignment))
  }
  const missing = Object.keys(assignment.selection.until ?? {}).find((name) => !known.has(name))
  if (missing !== undefined) throw lostPartition(missing)
  await place([...known.values()], cluster, assignment)
}

function isAssigned(partition: TopicPartition, { selection: { share, until } }: Assignment): boolean {
  const name = partitionName(partition)
  return until ? until[name] !== undefined : isNumberedOfShare(name, share)
}

/**
 * Positions are those of all readers: a topic that has none is read for the first time. What others have begun at tells how many
 * partitions it had then; the fewest, if several began at once. Where no position tells, all that have none came later.
 */
function firstCountsOf(found: TopicPartition[], positions: Positions): Map<string, number> {
  const counts = new Map<string, number>()
  for (const [topic, { length }] of Map.groupBy(found, ({ topic }) => topic)) {
    const begun = Object.keys(positions).filter((name) => name.startsWith(`${topic}/`))
    const told = begun.flatMap((name) => positionOf(positions[name] ?? '').firstCount ?? [])
    if (begun.length === 0) counts.set(topic, length)
    else counts.set(topic, told.length === 0 ? 0 : Math.min(...told))
  }
  return counts
}

async function place(partitions: ReadPartition[], cluster: KafkaCluster, assignment: Assignment): Promise<void> {
  const unplaced = partitions.filter(({ position, leader }) => position === undefined && leader)
  if (unplaced.length === 0) return
  const { first = [], later = [] } = Object.groupBy(unplaced, ({ isLaterAddition }) =>
    isLaterAddition ? 'later' : 'first',
  )
  const [starts, beginnings] = await Promise.all([
    loadStarts(cluster, first, assignment.offset),
    // All that a partition holds which came later is newer than the moment from which on is to be read.
    loadOffsets(cluster, later, earliest),
  ])
  const mustTellStart = isFromMoment(assignment) && !assignment.selection.until
  for (const partition of unplaced) {
    partition.position = starts.get(partition.name) ?? beginnings.get(partition.name)!
    // The end of today is not the end of the next time, and a start that nobody knows looks like a later addition.
    partition.mustTellStart = mustTellStart
  }
}

function isFromMoment({ offset }: Assignment): boolean {
  return offset?.strategy === 'from_latest' || offset?.strategy === 'from_timestamp'
}

function newPartition(found: TopicPartition, assignment: Assignment): ReadPartition {
  const { positions, selection, firstCounts } = assignment
  const name = partitionName(found)
  const [position, until] = [positions[name], selection.until?.[name]]
  const firstCount = firstCounts?.get(found.topic) ?? 0
  const begun = position === undefined ? undefined : positionOf(position)
  return {
    ...found,
    name,
    position: begun?.offset,
    until: until === undefined ? undefined : positionOf(until).offset,
    end: undefined,
    firstCount: begun ? begun.firstCount : (isFromMoment(assignment) && firstCount) || undefined,
    silentMs: 0,
    isBegun: begun !== undefined,
    isLaterAddition: found.partition >= firstCount,
    mustTellStart: false,
    upcoming: undefined,
    hasHead: false,
  }
}

/** All that is wanted of it has been given out. */
export function isFinished({ position, until }: ReadPartition): boolean {
  return until !== undefined && position !== undefined && position >= until
}

/** How many records are not given out yet; those that were deleted or aborted count too. Undefined before all have been told of. */
export function lagOf(partitions: Iterable<ReadPartition>): number | undefined {
  let lag = 0n
  for (const { position, until, end } of partitions) {
    const last = until ?? end
    if (position === undefined || last === undefined) return undefined
    if (last > position) lag += last - position
  }
  return Number(lag)
}
