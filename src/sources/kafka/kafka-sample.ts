// Some records of all partitions of all topics, for a probe: from where the source would begin, or the newest that are there.
// What brokers hand out can unpack to far more than a sample needs: how much is kept is limited, and others have their turn.
import type { KafkaCluster, TopicPartition } from './kafka-cluster.ts'
import { UnreadableBatch } from './kafka-compression.ts'
import type { KafkaAccess } from './kafka-connection.ts'
import { topicFailure, unreadableFailure } from './kafka-failure.ts'
import { earliest, type FetchedPartition, fetchRecords, latest } from './kafka-fetch.ts'
import { byLeader, type Led, loadOffsets, loadStarts, partitionName } from './kafka-offsets.ts'
import { makePace, makeTurnstile, type Pace } from './kafka-pace.ts'
import { readRecords } from './kafka-records.ts'
import { WireError } from './kafka-wire.ts'

export interface SampleRecord {
  topic: string
  partition: number
  offset: bigint
  value: Buffer
}

interface SampledPartition extends TopicPartition {
  offset: bigint
  end: bigint
  found: SampleRecord[]
}

interface Sampling {
  cluster: KafkaCluster
  signal: AbortSignal
  maxRecords: number
  /** Of what is kept. */
  leftBytes: number
  /** Of what is looked through for that. */
  leftUnpackedBytes: number
  pace: Pace
}

/** The broker has what is asked for, so it does not wait; unless nothing is left of what the offsets promise. */
const waitMs = 500
const maxBytes = 4 * 1024 * 1024
const maxPartitionBytes = 256 * 1024
const largestSampleBytes = 32 * 1024 * 1024
/** When it is used up, no further batch is unpacked: the last one can exceed it. */
const mostUnpackedBytes = 32 * 1024 * 1024
/** A sample need not be of the whole cluster. */
const mostLeaders = 16
const mostFetchesAtOnce = 3

export async function readSample(
  cluster: KafkaCluster,
  { config, signal }: KafkaAccess,
  partitions: TopicPartition[],
  maxRecords: number,
): Promise<SampleRecord[]> {
  const sampling: Sampling = {
    cluster,
    signal,
    maxRecords,
    leftBytes: largestSampleBytes,
    leftUnpackedBytes: mostUnpackedBytes,
    pace: makePace(),
  }
  const ranges = await loadRanges(cluster, config.offset, ofFewLeaders(partitions))
  const filled = ranges.filter(({ offset, end }) => offset < end)
  await checkLeave(sampling, ranges, filled)
  if (config.offset?.strategy !== 'from_latest') {
    await fill(sampling, filled, () => countOf(filled) < maxRecords)
    return inTurns(
      filled.map(({ found }) => found),
      maxRecords,
    )
  }
  const newest = filled.map((range) => newestOf(range, maxRecords / filled.length))
  await fill(sampling, newest, () => true)
  const newestFirst = newest.map(({ found }) => found.toReversed())
  return inTurns(newestFirst, maxRecords).toReversed()
}

/** Leaders of the first partition of each topic come first. */
function ofFewLeaders(partitions: TopicPartition[]): TopicPartition[] {
  const leaders = byLeader(partitions.toSorted((a, b) => a.partition - b.partition)).slice(0, mostLeaders)
  const chosen = new Set(leaders.flatMap(({ partitions: led }) => led))
  return partitions.filter((partition) => chosen.has(partition))
}

async function loadRanges(
  cluster: KafkaCluster,
  offset: KafkaAccess['config']['offset'],
  partitions: TopicPartition[],
): Promise<SampledPartition[]> {
  const isLatest = offset?.strategy === 'from_latest'
  const [starts, ends] = await Promise.all([
    // What will come cannot be shown: the newest that is there stands for it.
    isLatest ? loadOffsets(cluster, partitions, earliest) : loadStarts(cluster, partitions, offset),
    loadOffsets(cluster, partitions, latest),
  ])
  return partitions.map((partition) => {
    const name = partitionName(partition)
    return { ...partition, offset: starts.get(name)!, end: ends.get(name)!, found: [] }
  })
}

/** Offsets at the end of a partition can be without a record. */
const leastNewest = 10

function newestOf(range: SampledPartition, share: number): SampledPartition {
  const from = range.end - BigInt(Math.max(Math.ceil(share), leastNewest))
  return from > range.offset ? { ...range, offset: from } : range
}

/** Whether a topic may be read shows only when it is: so also one of which nothing is to be read. */
async function checkLeave(sampling: Sampling, ranges: SampledPartition[], filled: SampledPartition[]): Promise<void> {
  const read = new Set(filled.map(({ topic }) => topic))
  const unread = Map.groupBy(
    ranges.filter(({ topic }) => !read.has(topic)),
    ({ topic }) => topic,
  )
  const firsts = [...unread.values()].flatMap((ofTopic) => ofTopic.slice(0, 1))
  await fetchOnce(
    sampling,
    firsts.map((range) => ({ ...range, offset: range.end })),
    0,
  )
}

/** Reads on as long as more is wanted, something is left, and something comes. */
async function fill(sampling: Sampling, partitions: SampledPartition[], isWanted: () => boolean): Promise<void> {
  let unread = partitions
  while (unread.length > 0 && isWanted() && sampling.leftBytes > 0 && sampling.leftUnpackedBytes > 0) {
    const before = unread.map(({ offset }) => offset)
    await fetchOnce(sampling, unread, waitMs)
    if (unread.every(({ offset }, index) => offset === before[index])) return
    const left = unread.filter(({ offset, end, found }) => offset < end && found.length < sampling.maxRecords)
    // The first partition that is asked for is the one that gets an answer for sure.
    unread = [...left.slice(1), ...left.slice(0, 1)]
  }
}

async function fetchOnce(sampling: Sampling, partitions: SampledPartition[], mostWaitMs: number): Promise<void> {
  const byName = new Map(partitions.map((partition) => [partitionName(partition), partition]))
  const limits = { waitMs: mostWaitMs, maxBytes, maxPartitionBytes }
  const fetchLed = async ({ leader, partitions: led }: Led<SampledPartition>): Promise<void> => {
    const broker = await sampling.cluster.connectionTo(leader)
    for (const fetched of await fetchRecords(broker, led, limits)) {
      const partition = byName.get(partitionName(fetched))
      if (!partition) continue
      if (fetched.errorCode !== 0) throw topicFailure(fetched.errorCode, partition.topic, 'read')
      await takeRecords(sampling, partition, fetched)
    }
  }
  const inTurn = makeTurnstile(mostFetchesAtOnce)
  await Promise.all(byLeader(partitions).map((ofLeader) => inTurn(() => fetchLed(ofLeader))))
}

async function takeRecords(sampling: Sampling, sampled: SampledPartition, fetched: FetchedPartition): Promise<void> {
  const { topic, partition, found } = sampled
  const { pace, signal } = sampling
  let batchBytes = 0
  /** A batch that is unpacked already is read to its end. */
  const isEnough = (): boolean =>
    found.length >= sampling.maxRecords ||
    sampling.leftBytes <= 0 ||
    (batchBytes === 0 && sampling.leftUnpackedBytes <= 0)
  if (isEnough()) return
  try {
    for (const { record, nextOffset, unpackedBytes } of readRecords(fetched, sampled.offset, 'skip')) {
      if (batchBytes === 0) sampling.leftUnpackedBytes -= unpackedBytes
      batchBytes = unpackedBytes
      sampled.offset = nextOffset
      // Of a key that is deleted there is nothing to decode.
      if (record && !record.isDeletion) {
        // A copy, which does not keep the whole batch in memory.
        const value = Buffer.from(record.value)
        found.push({ topic, partition, offset: record.offset, value })
        sampling.leftBytes -= value.length
      }
      if (isEnough()) return
      if (pace.isDue()) await pace.rest()
      if (signal.aborted) throw new WireError('timed out')
    }
  } catch (error) {
    throw error instanceof UnreadableBatch ? unreadableFailure(topic, partition, sampled.offset) : error
  }
}

function countOf(partitions: SampledPartition[]): number {
  return partitions.reduce((count, { found }) => count + found.length, 0)
}

/** One of each list, then the next one of each, up to a number. */
function inTurns<Item>(lists: Item[][], maxItems: number): Item[] {
  const taken: Item[] = []
  for (let index = 0; taken.length < maxItems; index++) {
    const turn = lists.flatMap((list) => list.slice(index, index + 1))
    if (turn.length === 0) break
    taken.push(...turn)
  }
  return taken.slice(0, maxItems)
}
