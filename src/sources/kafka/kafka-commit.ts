// Commits offsets to the consumer group of a source. Only lag monitoring uses them; Penstock resumes from its own positions.
import { setTimeout as sleep } from 'node:timers/promises'
import { offsetCommitV2, offsetCommitV7 } from '@platformatic/kafka'
import { NotConnected, ProbeFailure } from '../../source-shapes/source-failure.ts'
import type { Positions } from '../source.ts'
import type { KafkaCluster } from './kafka-cluster.ts'
import { type BrokerAddress, kafkaErrors } from './kafka-failure.ts'
import { byTopic } from './kafka-fetch.ts'
import { positionOf } from './kafka-position.ts'
import { WireError } from './kafka-wire.ts'

const commitApis = [offsetCommitV7.api, offsetCommitV2.api] as const
/** Generation id of a group without members. */
const noGeneration = -1

const retriable: number[] = [
  kafkaErrors.coordinatorLoading,
  kafkaErrors.coordinatorNotAvailable,
  kafkaErrors.notCoordinator,
]
const maxAttempts = 5
const firstPauseMs = 100

/** Rejects with NotConnected when the brokers are unreachable. Other failures do not stop reading. */
export function makeCommit(
  cluster: KafkaCluster,
  group: string,
  signal: AbortSignal,
): (positions: Positions) => Promise<void> {
  let coordinator: BrokerAddress | undefined
  const attempt = async (positions: Positions): Promise<number[]> => {
    if (!coordinator) {
      const { address, errorCode } = await cluster.findCoordinator(group)
      if (!address) return [errorCode]
      coordinator = address
    }
    // A separate connection: commits do not wait behind a long fetch.
    const broker = await cluster.connectionTo(coordinator, 'group').catch((error: unknown) => {
      if (signal.aborted || !(error instanceof ProbeFailure)) throw error
    })
    if (!broker) {
      // The coordinator may have moved.
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
        // The next read reports failures that only the user can fix.
        throw error instanceof WireError || error instanceof ProbeFailure ? new NotConnected() : error
      })
      // The user may deny us the group, or use it for other consumers: reading continues.
      if (!codes.some((code) => retriable.includes(code))) return
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
