// The partitions that a reader reads: which they are, where each stands and who leads it.
import type { KafkaSource } from '../../pipes/kafka-shapes.ts'
import { isAssignedByNumber } from '../assignment.ts'
import type { Positions, Selection } from '../source.ts'
import type { KafkaCluster, TopicPartition } from './kafka-cluster.ts'
import { earliest } from './kafka-fetch.ts'
import { checkRange, meetPartition, type OffsetReset, resetToTopic } from './kafka-offset-reset.ts'
import { loadOffsets, loadStarts, partitionName } from './kafka-offsets.ts'
import { positionOf } from './kafka-position.ts'
import type { RecordWalk } from './kafka-records.ts'

export interface ReadPartition extends TopicPartition {
  name: string
  /** Where the next batch begins; undefined as long as that is not known. */
  position: bigint | undefined
  /** The id of the topic that the position belongs to, and what came before it: as in positions. */
  log: string | undefined
  after: string | undefined
  /** `log` is that of the topic now, because an earlier version of Penstock has stored the position: it may be that of another topic. */
  isLogAssumed: boolean
  /** The records at the position are gone. What was fetched before is given out first. */
  reset: OffsetReset | undefined
  /** The topic does not have it any more. */
  isMissing: boolean
  /** The broker has nothing at the position, or gives nothing: whether the records are still there is to be asked. */
  mustCheckRange: boolean
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
    const same = known.get(name) ?? newPartition(partition, assignment)
    known.set(name, same)
    meetPartition(same, partition)
  }
  for (const partition of missingPartitions(found, known, assignment)) known.set(partition.name, partition)
  await place([...known.values()], cluster, assignment)
  await checkRanges([...known.values()], cluster)
}

/** Partitions that were read and that the topic of the same name does not have: it was created again with fewer. */
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
    // Should the new topic ever have the partition, it begins at its first record.
    partition.reset ??= resetToTopic(partition, lost.topicId ?? '')
    partition.reset.offset ??= 0n
    return [partition]
  })
}

function isAssigned(partition: TopicPartition, { selection: { share, until } }: Assignment): boolean {
  const name = partitionName(partition)
  return until ? until[name] !== undefined : isAssignedByNumber(name, share)
}

/**
 * Positions are those of all readers: a topic that has none is read for the first time. What others have begun at tells how many
 * partitions it had then; the fewest, if several began at once. Where no position tells, all that have none came later.
 */
function firstCountsOf(found: TopicPartition[], positions: Positions): Map<string, number> {
  const counts = new Map<string, number>()
  for (const [topic, partitions] of Map.groupBy(found, ({ topic }) => topic)) {
    const begun = Object.entries(positions).flatMap(([name, text]) =>
      name.slice(0, name.lastIndexOf('/')) === topic ? [positionOf(text)] : [],
    )
    const ofTopic = begun.filter(({ topicId }) => topicId === undefined || topicId === partitions[0]?.topicId)
    const told = ofTopic.flatMap(({ firstCount }) => firstCount ?? [])
    if (begun.length === 0) counts.set(topic, partitions.length)
    else counts.set(topic, told.length === 0 ? 0 : Math.min(...told))
  }
  return counts
}

/** Asks where partitions begin for which nobody has said so yet. */
async function place(partitions: ReadPartition[], cluster: KafkaCluster, assignment: Assignment): Promise<void> {
  await placeResets(partitions, cluster)
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
  for (const partition of unplaced) {
    partition.position = starts.get(partition.name) ?? beginnings.get(partition.name)!
    // The end of today is not the end of the next time, and a start that nobody knows looks like a later addition. Of a topic that is
    // deleted before anything was read, nobody would know that it was another one.
    const mustTellStart = isFromMoment(assignment) || partition.topicId !== undefined
    partition.mustTellStart = mustTellStart && !assignment.selection.until
  }
}

/** All that a new topic has is new. */
async function placeResets(partitions: ReadPartition[], cluster: KafkaCluster): Promise<void> {
  const unplaced = partitions.filter(({ reset, leader }) => reset && reset.offset === undefined && leader)
  if (unplaced.length === 0) return
  const beginnings = await loadOffsets(cluster, unplaced, earliest)
  for (const { name, reset } of unplaced) if (reset) reset.offset = beginnings.get(name)!
}

async function checkRanges(partitions: ReadPartition[], cluster: KafkaCluster): Promise<void> {
  for (const partition of partitions) {
    if (!partition.mustCheckRange || !partition.leader) continue
    await checkRange(cluster, partition)
    partition.mustCheckRange = false
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
  for (const { position, until, end, isMissing } of partitions) {
    const last = until ?? end
    if (isMissing) continue
    if (position === undefined || last === undefined) return undefined
    if (last > position) lag += last - position
  }
  return Number(lag)
}
