// Reads on from given offsets of all partitions, without joining the consumer group: our own positions decide. Each leader is
// asked for its partitions at once, and keeps its request while others answer; what came is given out within the limits.
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Batch,
  EndOfInput,
  NotConnected,
  type Positions,
  type ReadLimits,
  type Selection,
  type SourceReader,
} from '../source.ts'
import { type Assignment, isFinished, lagOf, type ReadPartition, updatePartitions } from './kafka-assignment.ts'
import { type KafkaCluster, openCluster } from './kafka-cluster.ts'
import { makeCommit } from './kafka-commit.ts'
import type { KafkaAccess } from './kafka-connection.ts'
import { type BrokerAddress, kafkaErrors, passingErrors, readerError, topicFailure } from './kafka-failure.ts'
import { type FetchedPartition, fetchRecords } from './kafka-fetch.ts'
import { confirmLog } from './kafka-offset-reset.ts'
import { byLeader, partitionName } from './kafka-offsets.ts'
import { keepFetched, takeBatches } from './kafka-take.ts'

/** New partitions are noticed after this time at the latest. */
const longestRefreshMs = 30_000
/** When a leader has moved, until the brokers know where to. */
const staleRefreshMs = 250
/** A read that waits longer asks again: what is told meanwhile on the same connection must not wait for long. */
const longestFetchMs = 500
const leastFetchBytes = 64 * 1024
/** Of all leaders together. As much again can wait here to be given out. */
const mostFetchBytes = 16 * 1024 * 1024
const maxPartitionBytes = 8 * 1024 * 1024
/** A leader can need longer than usual for what was read before, such as what it has moved to cheaper storage. */
const longestRepeatFetchMs = 5_000
/** When leaders were waited for this long and gave nothing of a range, they are asked whether they still have it. */
const longestSilenceMs = 3_000
/** When nothing of a range came for this long, another connection is to be tried. */
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
  /** In the order in which they have their turn. */
  let turns = [...partitions.values()]
  const isBounded = assignment.selection.until !== undefined
  /** Since something was given, or the reader was opened. */
  let waitedMs = 0

  const refresh = async (): Promise<void> => {
    const ageMs = performance.now() - refreshedAtMs
    if (ageMs < (isStale ? staleRefreshMs : refreshMs)) return
    refreshedAtMs = performance.now()
    await updatePartitions(partitions, cluster, assignment)
    isStale = isLeaderless()
    turns = [...new Set([...turns, ...partitions.values()])]
  }

  const judge = (partition: ReadPartition, { errorCode }: FetchedPartition): void => {
    if (errorCode === kafkaErrors.offsetOutOfRange) {
      if (partition.isBegun) partition.mustCheckRange = true
      else partition.position = undefined
    } else if (!passingErrors.includes(errorCode)) {
      throw topicFailure(errorCode, partition.topic, 'read')
    }
    // Not asked for again before the brokers have said anew who leads it.
    partition.leader = undefined
    isStale = true
  }

  const fetchFrom = async (leader: BrokerAddress, led: ReadPartition[], maxBytes: number): Promise<void> => {
    const wanted = new Map(
      led.map(({ name, topic, partition, topicId, position }) => [
        name,
        { topic, partition, topicId, offset: position! },
      ]),
    )
    const broker = await cluster.connectionTo(leader)
    const waitMs = isBounded ? Math.max(longestFetchMs, Math.min(waitedMs, longestRepeatFetchMs)) : longestFetchMs
    const limits = { waitMs, maxBytes, maxPartitionBytes }
    const askedAtMs = performance.now()
    const answers = await fetchRecords(broker, [...wanted.values()], limits)
    const isSilent = answers.every(({ bytes }) => bytes.length === 0)
    // What is longer, this process was busy with something else.
    const silentMs = isSilent ? Math.min(performance.now() - askedAtMs, waitMs) : 0
    for (const fetched of answers) {
      const name = partitionName(fetched)
      const partition = partitions.get(name)
      // Meanwhile another leader may have been asked.
      if (!partition || partition.position !== wanted.get(name)?.offset || partition.upcoming || partition.reset)
        continue
      if (fetched.errorCode !== 0) {
        judge(partition, fetched)
        continue
      }
      confirmLog(partition)
      partition.end = fetched.end
      keepFetched(partition, fetched)
      judgeSilence(partition, silentMs)
      isStale ||= partition.mustCheckRange
    }
  }

  /** Asks every leader that has been asked for nothing, and of which nothing is left to give out. */
  const startFetches = (limits: ReadLimits): void => {
    const leaders = byLeader(turns.filter((partition) => !isFinished(partition)))
    const wantedBytes = Math.ceil(Math.min(limits.maxBytes, mostFetchBytes) / leaders.length)
    const maxBytes = Math.max(wantedBytes, leastFetchBytes)
    for (const { leader, partitions: led } of leaders) {
      const key = `${leader.host} ${leader.port}`
      if (fetching.has(key) || led.some(({ upcoming }) => upcoming)) continue
      const placed = led.filter(({ position, reset }) => position !== undefined && !reset)
      if (placed.length === 0) continue
      const work = fetchFrom(leader, placed, maxBytes)
        .catch((error: unknown) => {
          failure ??= { error }
        })
        .finally(() => fetching.delete(key))
      fetching.set(key, work)
    }
  }

  const take = async (limits: ReadLimits): Promise<Batch[]> => {
    const batches = await takeBatches(turns, limits)
    const served = new Set(batches.map(({ partition }) => partition))
    // Whoever had a turn goes to the end.
    turns = [...turns.filter(({ name }) => !served.has(name)), ...turns.filter(({ name }) => served.has(name))]
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
      if (isBounded && turns.every(isFinished)) throw new EndOfInput()
      if (limits.signal.aborted || (isBounded && waitedMs >= stallMs)) throw new NotConnected()
      if (leftMs <= 0) return []
      const waitedFromMs = performance.now()
      await firstOf([...fetching.values()], isStale ? Math.min(leftMs, staleRefreshMs) : leftMs, limits.signal)
      waitedMs += performance.now() - waitedFromMs
    }
  }

  const told = async <Result>(work: Promise<Result>): Promise<Result> => {
    try {
      return await work
    } catch (error) {
      throw readerError(error)
    }
  }

  return {
    read: (limits) => told(readOn(limits)),
    lag: () => lagOf(partitions.values()),
    acknowledge: (acknowledged) => told(commit ? commit(acknowledged) : Promise.resolve()),
    async close() {
      access.close()
      await Promise.all(fetching.values())
    },
  }
}

/**
 * A range can hold nothing any more when its topic is compacted. Only a batch from behind it says so: silence, however long, is
 * also that of a leader that is slow, and what it did not give must not be passed over.
 */
function judgeSilence(partition: ReadPartition, silentMs: number): void {
  if (partition.until === undefined) return
  partition.silentMs = silentMs === 0 ? 0 : partition.silentMs + silentMs
  if (partition.silentMs < longestSilenceMs) return
  partition.silentMs = 0
  partition.mustCheckRange = true
}

/** Until the first work is done, the time is over, or the signal is aborted. */
async function firstOf(works: Promise<void>[], waitMs: number, signal: AbortSignal): Promise<void> {
  const done = new AbortController()
  const pause = sleep(waitMs, undefined, { signal: AbortSignal.any([signal, done.signal]) }).catch(() => undefined)
  await Promise.race([...works, pause])
  done.abort()
}
