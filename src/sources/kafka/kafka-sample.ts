// Reads a sample for a probe: records from the configured start, or the newest for from_latest. Kept and decompressed bytes are
// limited, and long work yields to the event loop.

import type { KafkaAccess } from './kafka-access.ts'
import type { KafkaCluster, TopicPartition } from './kafka-cluster.ts'
import { UnreadableBatch } from './kafka-compression.ts'
import { kafkaFailure, topicFailure } from './kafka-failure.ts'
import { earliest, type FetchedPartition, fetchRecords, latest } from './kafka-fetch.ts'
import { byLeader, type Led, loadOffsets, loadStarts, partitionName } from './kafka-offsets.ts'
import { readRecords } from './kafka-records.ts'
import { limitConcurrency, makeYieldTimer, type YieldTimer } from './kafka-scheduling.ts'
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
  /** Limit for the kept values. */
  leftBytes: number
  /** Limit for decompressed batches. */
  leftDecompressedBytes: number
  yieldTimer: YieldTimer
}

/** The broker has records, so it does not wait, unless compaction left none before the end offset. */
const waitMs = 500
const maxBytes = 4 * 1024 * 1024
const maxPartitionBytes = 256 * 1024
const largestSampleBytes = 32 * 1024 * 1024
/** When it is used up, no further batch is decompressed; the last one can exceed it. */
const mostDecompressedBytes = 32 * 1024 * 1024
/** A sample need not cover the whole cluster. */
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
    leftDecompressedBytes: mostDecompressedBytes,
    yieldTimer: makeYieldTimer(),
  }
  const ranges = await loadRanges(cluster, config.offset, ofFewLeaders(partitions))
  const filled = ranges.filter(({ offset, end }) => offset < end)
  await checkReadPermission(sampling, ranges, filled)
  if (config.offset?.strategy !== 'from_latest') {
    await fill(sampling, filled, () => countOf(filled) < maxRecords)
    return roundRobin(
      filled.map(({ found }) => found),
      maxRecords,
    )
  }
  const newest = filled.map((range) => newestOf(range, maxRecords / filled.length))
  await fill(sampling, newest, () => true)
  const newestFirst = newest.map(({ found }) => found.toReversed())
  return roundRobin(newestFirst, maxRecords).toReversed()
}

/** Prefers the leaders of the first partition of each topic. */
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
    // Future records cannot be shown: the newest ones stand for them.
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

function newestOf(range: SampledPartition, count: number): SampledPartition {
  const from = range.end - BigInt(Math.max(Math.ceil(count), leastNewest))
  return from > range.offset ? { ...range, offset: from } : range
}

/** Only a fetch shows whether the topic may be read, so topics without records are fetched as well. */
async function checkReadPermission(
  sampling: Sampling,
  ranges: SampledPartition[],
  filled: SampledPartition[],
): Promise<void> {
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

/** Fetches while more records are needed, some are left, and some arrive. */
async function fill(sampling: Sampling, partitions: SampledPartition[], needsMore: () => boolean): Promise<void> {
  let unread = partitions
  while (unread.length > 0 && needsMore() && sampling.leftBytes > 0 && sampling.leftDecompressedBytes > 0) {
    const before = unread.map(({ offset }) => offset)
    await fetchOnce(sampling, unread, waitMs)
    if (unread.every(({ offset }, index) => offset === before[index])) return
    const left = unread.filter(({ offset, end, found }) => offset < end && found.length < sampling.maxRecords)
    // Only the first requested partition is sure to get records.
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
  const limited = limitConcurrency(mostFetchesAtOnce)
  await Promise.all(byLeader(partitions).map((ofLeader) => limited(() => fetchLed(ofLeader))))
}

async function takeRecords(sampling: Sampling, sampled: SampledPartition, fetched: FetchedPartition): Promise<void> {
  const { topic, partition, found } = sampled
  const { yieldTimer, signal } = sampling
  let batchBytes = 0
  /** A batch that is already decompressed is read to its end. */
  const isEnough = (): boolean =>
    found.length >= sampling.maxRecords ||
    sampling.leftBytes <= 0 ||
    (batchBytes === 0 && sampling.leftDecompressedBytes <= 0)
  if (isEnough()) return
  try {
    for (const { record, nextOffset, decompressedBytes } of readRecords(fetched, sampled.offset, 'skip')) {
      if (batchBytes === 0) sampling.leftDecompressedBytes -= decompressedBytes
      batchBytes = decompressedBytes
      sampled.offset = nextOffset
      // A tombstone has nothing to decode.
      if (record && !record.isDeletion) {
        // A copy, which does not keep the whole batch in memory.
        const value = Buffer.from(record.value)
        found.push({ topic, partition, offset: record.offset, value })
        sampling.leftBytes -= value.length
      }
      if (isEnough()) return
      if (yieldTimer.isDue()) await yieldTimer.yieldToLoop()
      if (signal.aborted) throw new WireError('timed out')
    }
  } catch (error) {
    if (!(error instanceof UnreadableBatch)) throw error
    throw kafkaFailure('unreadable', { step: 'read', topic, partition, offset: sampled.offset })
  }
}

function countOf(partitions: SampledPartition[]): number {
  return partitions.reduce((count, { found }) => count + found.length, 0)
}

/** Round robin over the lists, up to a number of items. */
function roundRobin<Item>(lists: Item[][], maxItems: number): Item[] {
  const taken: Item[] = []
  for (let index = 0; taken.length < maxItems; index++) {
    const round = lists.flatMap((list) => list.slice(index, index + 1))
    if (round.length === 0) break
    taken.push(...round)
  }
  return taken.slice(0, maxItems)
}
