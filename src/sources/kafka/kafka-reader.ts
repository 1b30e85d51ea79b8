// Reads all assigned partitions from given positions, without joining the consumer group. Fetches from all leaders run
// concurrently; fetched records are given out within the limits of each read.
import { setTimeout as sleep } from 'node:timers/promises'
import { NotConnected } from '../../source-shapes/source-failure.ts'
import {
  type Batch,
  EndOfInput,
  type Positions,
  type ReadLimits,
  type Selection,
  type SourceReader,
} from '../source.ts'
import type { KafkaAccess } from './kafka-access.ts'
import { type Assignment, lagOf, updatePartitions } from './kafka-assignment.ts'
import { type KafkaCluster, openCluster } from './kafka-cluster.ts'
import { makeCommit } from './kafka-commit.ts'
import { type BrokerAddress, kafkaErrors, readerError, retriableErrors, topicFailure } from './kafka-failure.ts'
import { type FetchedPartition, fetchRecords } from './kafka-fetch.ts'
import { confirmLog } from './kafka-offset-reset.ts'
import { byLeader, partitionName } from './kafka-offsets.ts'
import { keepFetched, takeBatches } from './kafka-take.ts'
import { isFinished, type ReadPartition } from './read-partition.ts'

/** Metadata refresh interval, after which new partitions are found. */
const longestRefreshMs = 30_000
/** Metadata refresh interval while a leader is unknown. */
const staleRefreshMs = 250
/** Short fetches keep other requests on the same connection from waiting long. */
const longestFetchMs = 500
const leastFetchBytes = 64 * 1024
/** Of all leaders together. Up to the same amount can wait here to be given out. */
const mostFetchBytes = 16 * 1024 * 1024
const maxPartitionBytes = 8 * 1024 * 1024
/** A leader can be slower for old records, such as those in tiered storage. */
const longestRepeatFetchMs = 5_000
/** After empty responses for this long, the leaders of a range are asked whether its records still exist. */
const longestSilenceMs = 3_000
/** When a range makes no progress for this long, the caller opens another connection. */
const longestStallMs = 30_000

export interface KafkaReaderOptions {
  selection?: Selection
  refreshMs?: number
  stallMs?: number
}

/** Rejects with NotConnected, or with a ProbeFailure. */
export async function openKafkaReader(
  access: KafkaAccess,
  positions: Positions,
  { selection = {}, refreshMs = longestRefreshMs, stallMs = longestStallMs }: KafkaReaderOptions = {},
): Promise<SourceReader> {
  try {
    const cluster = await openCluster(access)
    const partitions = new Map<string, ReadPartition>()
    const assignment: Assignment = { positions, selection, offset: access.config.offset }
    await updatePartitions(partitions, cluster, assignment)
    return makeReader(access, cluster, partitions, assignment, { refreshMs, stallMs })
  } catch (error) {
    access.close()
    throw readerError(error)
  }
}

function makeReader(
  access: KafkaAccess,
  cluster: KafkaCluster,
  partitions: Map<string, ReadPartition>,
  assignment: Assignment,
  { refreshMs, stallMs }: { refreshMs: number; stallMs: number },
): SourceReader {
  const { config, signal } = access
  const fetching = new Map<string, Promise<void>>()
  const commit = config.consumerGroup === undefined ? undefined : makeCommit(cluster, config.consumerGroup, signal)
  let failure: { error: unknown } | undefined
  const isLeaderless = (): boolean => [...partitions.values()].some(({ leader, isMissing }) => !leader && !isMissing)
  let isStale = isLeaderless()
  let refreshedAtMs = performance.now()
  /** Least recently served first. */
  let queue = [...partitions.values()]
  const isBounded = assignment.selection.until !== undefined
  /** Since records were last given out, or the reader was opened. */
  let waitedMs = 0

  const refresh = async (): Promise<void> => {
    const ageMs = performance.now() - refreshedAtMs
    if (ageMs < (isStale ? staleRefreshMs : refreshMs)) return
    refreshedAtMs = performance.now()
    await updatePartitions(partitions, cluster, assignment)
    isStale = isLeaderless()
    queue = [...new Set([...queue, ...partitions.values()])]
  }

  const handleError = (partition: ReadPartition, { errorCode }: FetchedPartition): void => {
    if (errorCode === kafkaErrors.offsetOutOfRange) {
      if (partition.isBegun) partition.mustCheckRange = true
      else partition.position = undefined
    } else if (!retriableErrors.includes(errorCode)) {
      throw topicFailure(errorCode, partition.topic, 'read')
    }
    // Not fetched again before the metadata has its leader.
    partition.leader = undefined
    isStale = true
  }

  const fetchFrom = async (leader: BrokerAddress, led: ReadPartition[], maxBytes: number): Promise<void> => {
    const requested = new Map(
      led.map(({ name, topic, partition, topicId, position }) => [
        name,
        { topic, partition, topicId, offset: position! },
      ]),
    )
    const broker = await cluster.connectionTo(leader)
    const waitMs = isBounded ? Math.max(longestFetchMs, Math.min(waitedMs, longestRepeatFetchMs)) : longestFetchMs
    const limits = { waitMs, maxBytes, maxPartitionBytes }
    const askedAtMs = performance.now()
    const answers = await fetchRecords(broker, [...requested.values()], limits)
    const isSilent = answers.every(({ bytes }) => bytes.length === 0)
    // Longer only if this process was busy.
    const silentMs = isSilent ? Math.min(performance.now() - askedAtMs, waitMs) : 0
    for (const fetched of answers) {
      const name = partitionName(fetched)
      const partition = partitions.get(name)
      // Another leader may have been asked since then.
      if (!partition || partition.position !== requested.get(name)?.offset || partition.upcoming || partition.reset)
        continue
      if (fetched.errorCode !== 0) {
        handleError(partition, fetched)
        continue
      }
      confirmLog(partition)
      partition.end = fetched.end
      keepFetched(partition, fetched)
      countSilence(partition, silentMs)
      isStale ||= partition.mustCheckRange
    }
  }

  /** Fetches from each leader without a fetch in flight, if all its earlier records have been given out. */
  const startFetches = (limits: ReadLimits): void => {
    const leaders = byLeader(queue.filter((partition) => !isFinished(partition)))
    const bytesPerLeader = Math.ceil(Math.min(limits.maxBytes, mostFetchBytes) / leaders.length)
    const maxBytes = Math.max(bytesPerLeader, leastFetchBytes)
    for (const { leader, partitions: led } of leaders) {
      const key = `${leader.host} ${leader.port}`
      if (fetching.has(key) || led.some(({ upcoming }) => upcoming)) continue
      const ready = led.filter(({ position, reset }) => position !== undefined && !reset)
      if (ready.length === 0) continue
      const task = fetchFrom(leader, ready, maxBytes)
        .catch((error: unknown) => {
          failure ??= { error }
        })
        .finally(() => fetching.delete(key))
      fetching.set(key, task)
    }
  }

  const take = async (limits: ReadLimits): Promise<Batch[]> => {
    const batches = await takeBatches(queue, limits)
    const served = new Set(batches.map(({ partition }) => partition))
    // Served partitions go to the end.
    queue = [...queue.filter(({ name }) => !served.has(name)), ...queue.filter(({ name }) => served.has(name))]
    return batches
  }

  const readOn = async (limits: ReadLimits): Promise<Batch[]> => {
    const endsAtMs = performance.now() + limits.waitMs
    for (;;) {
      if (failure) throw failure.error
      if (signal.aborted || limits.signal.aborted) throw new NotConnected()
      await refresh()
      const batches = await take(limits)
      startFetches(limits)
      const leftMs = endsAtMs - performance.now()
      if (batches.length > 0) {
        waitedMs = 0
        return batches
      }
      if (isBounded && queue.every(isFinished)) throw new EndOfInput()
      if (limits.signal.aborted || (isBounded && waitedMs >= stallMs)) throw new NotConnected()
      if (leftMs <= 0) return []
      const waitedFromMs = performance.now()
      await firstOf([...fetching.values()], isStale ? Math.min(leftMs, staleRefreshMs) : leftMs, limits.signal)
      waitedMs += performance.now() - waitedFromMs
    }
  }

  const mapErrors = async <Result>(task: Promise<Result>): Promise<Result> => {
    try {
      return await task
    } catch (error) {
      throw readerError(error)
    }
  }

  return {
    read: (limits) => mapErrors(readOn(limits)),
    lag: () => lagOf(partitions.values()),
    acknowledge: (acknowledged) => mapErrors(commit ? commit(acknowledged) : Promise.resolve()),
    async close() {
      access.close()
      await Promise.all(fetching.values())
    },
  }
}

/**
 * Compaction can leave a range empty, which only a batch after it shows. A slow leader requeue nothing either, and its records
 * must not be skipped.
 */
function countSilence(partition: ReadPartition, silentMs: number): void {
  if (partition.until === undefined) return
  partition.silentMs = silentMs === 0 ? 0 : partition.silentMs + silentMs
  if (partition.silentMs < longestSilenceMs) return
  partition.silentMs = 0
  partition.mustCheckRange = true
}

/** Until the first task settles, the time is over, or the signal is aborted. */
async function firstOf(tasks: Promise<void>[], waitMs: number, signal: AbortSignal): Promise<void> {
  const done = new AbortController()
  const pause = sleep(waitMs, undefined, { signal: AbortSignal.any([signal, done.signal]) }).catch(() => undefined)
  await Promise.race([...tasks, pause])
  done.abort()
}
