// Tells the brokers how far the source has been read, in the name of its consumer group. Only displays of lag look at it.
import { setTimeout as sleep } from 'node:timers/promises'
import { offsetCommitV2, offsetCommitV7 } from '@platformatic/kafka'
import { NotConnected, type Positions, ProbeFailure } from '../source.ts'
import type { KafkaCluster } from './kafka-cluster.ts'
import { type BrokerAddress, kafkaErrors } from './kafka-failure.ts'
import { byTopic } from './kafka-fetch.ts'
import { positionOf } from './kafka-position.ts'
import { WireError } from './kafka-wire.ts'

const commitApis = [offsetCommitV7.api, offsetCommitV2.api] as const
/** What a group says that nobody has joined. */
const noGeneration = -1

const passing: number[] = [
  kafkaErrors.coordinatorLoading,
  kafkaErrors.coordinatorNotAvailable,
  kafkaErrors.notCoordinator,
]
const maxAttempts = 5
const firstPauseMs = 100

/** Rejects with NotConnected when the brokers are gone. What else fails is not worth an end of the reading. */
export function makeCommit(
  cluster: KafkaCluster,
  group: string,
  signal: AbortSignal,
): (positions: Positions) => Promise<void> {
  let coordinator: BrokerAddress | undefined
  const attempt = async (positions: Positions): Promise<number[]> => {
    if (!coordinator) {
      const { place, errorCode } = await cluster.findCoordinator(group)
      if (!place) return [errorCode]
      coordinator = place
    }
    // A connection of its own: it does not wait for records that are yet to come.
    const broker = await cluster.connectionTo(coordinator, 'group').catch((error: unknown) => {
      if (signal.aborted || !(error instanceof ProbeFailure)) throw error
    })
    if (!broker) {
      // It may be another one the next time.
      coordinator = undefined
      return []
    }
    const topics = topicsOf(positions)
    const answer = await broker.call((wire) =>
      broker.choose(commitApis).async(wire, group, noGeneration, '', null, topics),
    )
    return answer.topics.flatMap(({ partitions }) => partitions.map(({ errorCode }) => errorCode))
  }
  return async (positions) => {
    for (let pauseMs = firstPauseMs, left = maxAttempts; left > 0; pauseMs *= 2, left--) {
      const codes = await attempt(positions).catch((error: unknown) => {
        // What only the user can mend is for a read to tell.
        throw error instanceof WireError || error instanceof ProbeFailure ? new NotConnected() : error
      })
      // A group that is denied to us, or that others have joined, is the user's choice: the records are read all the same.
      if (!codes.some((code) => passing.includes(code))) return
      coordinator = undefined
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined)
    }
  }
}

function topicsOf(positions: Positions) {
  const offsets = Object.entries(positions).map(([name, position]) => {
    const slash = name.lastIndexOf('/')
    return {
      topic: name.slice(0, slash),
      partition: Number(name.slice(slash + 1)),
      offset: positionOf(position).offset,
    }
  })
  const topics = byTopic(offsets, ({ partition, offset }) => ({
    partitionIndex: partition,
    committedOffset: offset,
    committedLeaderEpoch: -1,
    committedMetadata: null,
  }))
  return topics.map(({ topic, partitions }) => ({ name: topic, partitions }))
}
