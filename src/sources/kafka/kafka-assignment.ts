// The partitions assigned to a reader, with the position, leader and topic id of each.

import type { KafkaSource } from '../../source-shapes/kafka-source.ts'
import { isAssignedByNumber } from '../assignment.ts'
import type { Positions, Selection } from '../source.ts'
import type { KafkaCluster, TopicPartition } from './kafka-cluster.ts'
import { earliest } from './kafka-fetch.ts'
import { applyMetadata, checkRange, resetToTopic } from './kafka-offset-reset.ts'
import { loadOffsets, loadStarts, partitionName } from './kafka-offsets.ts'
import { positionOf } from './kafka-position.ts'
import { isFinished, type ReadPartition } from './read-partition.ts'

export interface Assignment {
  positions: Positions
  selection: Selection
  offset: KafkaSource['offset']
  /** Partition count by topic when it was first read. Computed when the reader opens. */
  firstCounts?: Map<string, number>
}

/** Loads the current metadata and resolves the start of new partitions. */
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
    const same = known.get(name) ?? newPartition(partition, assignment)
    known.set(name, same)
    applyMetadata(same, partition)
  }
  for (const partition of missingPartitions(found, known, assignment)) known.set(partition.name, partition)
  await resolveStarts([...known.values()], cluster, assignment)
  await checkRanges([...known.values()], cluster)
}

/** Partitions that were read but no longer exist: the topic was created again with fewer. */
function missingPartitions(
  found: TopicPartition[],
  known: Map<string, ReadPartition>,
  assignment: Assignment,
): ReadPartition[] {
  const present = new Set(found.map(partitionName))
  const topics = new Map(found.map((partition) => [partition.topic, partition]))
  const { positions, selection } = assignment
  const names = new Set([...Object.keys(selection.until ?? positions), ...known.keys()])
  return [...names].flatMap((name) => {
    const slash = name.lastIndexOf('/')
    const topic = topics.get(name.slice(0, slash))
    if (present.has(name) || !topic) return []
    const lost = { ...topic, partition: Number(name.slice(slash + 1)), leader: undefined }
    if (!isAssigned(lost, assignment)) return []
    const partition = known.get(name) ?? newPartition(lost, assignment)
    Object.assign(partition, { leader: undefined, isMissing: true })
    if (isFinished(partition)) return [partition]
    const isOther = lost.topicId !== undefined && partition.log !== lost.topicId && partition.after !== lost.topicId
    if (partition.until === undefined && (!isOther || !partition.isBegun)) return []
    // If the new topic ever gets this partition, reading begins at its first record.
    partition.reset ??= resetToTopic(partition, lost.topicId ?? '')
    partition.reset.offset ??= 0n
    return [partition]
  })
}

function isAssigned(partition: TopicPartition, { selection: { assignment, until } }: Assignment): boolean {
  const name = partitionName(partition)
  return until ? until[name] !== undefined : isAssignedByNumber(name, assignment)
}

/**
 * Positions cover all readers: a topic without any is read for the first time. Stored starts contain the partition count at
 * that time; the smallest wins if several readers began at once. If no position has it, partitions without one came later.
 */
function firstCountsOf(found: TopicPartition[], positions: Positions): Map<string, number> {
  const counts = new Map<string, number>()
  for (const [topic, partitions] of Map.groupBy(found, ({ topic }) => topic)) {
    const begun = Object.entries(positions).flatMap(([name, text]) =>
      name.slice(0, name.lastIndexOf('/')) === topic ? [positionOf(text)] : [],
    )
    const ofTopic = begun.filter(({ topicId }) => topicId === undefined || topicId === partitions[0]?.topicId)
    const storedCounts = ofTopic.flatMap(({ firstCount }) => firstCount ?? [])
    if (begun.length === 0) counts.set(topic, partitions.length)
    else counts.set(topic, storedCounts.length === 0 ? 0 : Math.min(...storedCounts))
  }
  return counts
}

/** Asks the leaders for the start of partitions that have no position. */
async function resolveStarts(
  partitions: ReadPartition[],
  cluster: KafkaCluster,
  assignment: Assignment,
): Promise<void> {
  await resolveResets(partitions, cluster)
  const unresolved = partitions.filter(({ position, leader }) => position === undefined && leader)
  if (unresolved.length === 0) return
  const { first = [], later = [] } = Object.groupBy(unresolved, ({ isLaterAddition }) =>
    isLaterAddition ? 'later' : 'first',
  )
  const [starts, beginnings] = await Promise.all([
    loadStarts(cluster, first, assignment.offset),
    // A partition added later has only records newer than the requested timestamp.
    loadOffsets(cluster, later, earliest),
  ])
  for (const partition of unresolved) {
    partition.position = starts.get(partition.name) ?? beginnings.get(partition.name)!
    // The log end moves, and a start that was not stored looks like a later addition. Without a stored topic id, a topic that is
    // deleted before anything was read could not be recognised as another one.
    const mustStoreStart = startsAfterEarliest(assignment) || partition.topicId !== undefined
    partition.mustStoreStart = mustStoreStart && !assignment.selection.until
  }
}

/** A new topic is read from its earliest offset. */
async function resolveResets(partitions: ReadPartition[], cluster: KafkaCluster): Promise<void> {
  const unresolved = partitions.filter(({ reset, leader }) => reset && reset.offset === undefined && leader)
  if (unresolved.length === 0) return
  const beginnings = await loadOffsets(cluster, unresolved, earliest)
  for (const { name, reset } of unresolved) if (reset) reset.offset = beginnings.get(name)!
}

async function checkRanges(partitions: ReadPartition[], cluster: KafkaCluster): Promise<void> {
  for (const partition of partitions) {
    if (!partition.mustCheckRange || !partition.leader) continue
    await checkRange(cluster, partition)
    partition.mustCheckRange = false
  }
}

function startsAfterEarliest({ offset }: Assignment): boolean {
  return offset?.strategy === 'from_latest' || offset?.strategy === 'from_timestamp'
}

function newPartition(found: TopicPartition, assignment: Assignment): ReadPartition {
  const { positions, selection, firstCounts } = assignment
  const name = partitionName(found)
  const [position, until] = [positions[name], selection.until?.[name]]
  const firstCount = firstCounts?.get(found.topic) ?? 0
  const begun = position === undefined ? undefined : positionOf(position)
  const log = begun ?? (until === undefined ? undefined : positionOf(until))
  return {
    ...found,
    name,
    position: begun?.offset,
    log: log?.topicId,
    after: log?.after,
    isLogAssumed: false,
    reset: undefined,
    isMissing: false,
    mustCheckRange: false,
    until: until === undefined ? undefined : positionOf(until).offset,
    end: undefined,
    firstCount: begun ? begun.firstCount : (startsAfterEarliest(assignment) && firstCount) || undefined,
    silentMs: 0,
    isBegun: begun !== undefined,
    isLaterAddition: found.partition >= firstCount,
    mustStoreStart: false,
    upcoming: undefined,
    hasHead: false,
  }
}

/** Records not given out yet, including deleted and aborted ones. Undefined until all ends are known. */
export function lagOf(partitions: Iterable<ReadPartition>): number | undefined {
  let lag = 0n
  for (const { position, until, end, isMissing } of partitions) {
    const last = until ?? end
    if (isMissing) continue
    if (position === undefined || last === undefined) return undefined
    if (last > position) lag += last - position
  }
  return Number(lag)
}
