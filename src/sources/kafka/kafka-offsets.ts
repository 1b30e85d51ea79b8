// Start and end offsets of partitions, by the offset strategy of the source.
import type { KafkaSource } from '../../source-shapes/kafka-source.ts'
import type { KafkaCluster, TopicPartition } from './kafka-cluster.ts'
import { type BrokerAddress, kafkaFailure, topicFailure } from './kafka-failure.ts'
import { earliest, latest, listOffsets } from './kafka-fetch.ts'

/** Key of a partition in positions. Topic names contain no slash. */
export function partitionName({ topic, partition }: { topic: string; partition: number }): string {
  return `${topic}/${partition}`
}

export interface Led<Partition extends TopicPartition> {
  leader: BrokerAddress
  partitions: Partition[]
}

/** Leaves out partitions without a leader. */
export function byLeader<Partition extends TopicPartition>(partitions: Partition[]): Led<Partition>[] {
  const groups = new Map<string, Led<Partition>>()
  for (const partition of partitions) {
    const { leader } = partition
    if (!leader) continue
    const key = `${leader.host} ${leader.port}`
    const group = groups.get(key)
    if (group) group.partitions.push(partition)
    else groups.set(key, { leader, partitions: [partition] })
  }
  return [...groups.values()]
}

/** Keyed by partition name. Rejects with a ProbeFailure; all partitions must have a leader. */
export async function loadOffsets(
  cluster: KafkaCluster,
  partitions: TopicPartition[],
  timestamp: bigint,
): Promise<Map<string, bigint>> {
  const leaderless = partitions.find(({ leader }) => !leader)
  if (leaderless) throw kafkaFailure('leaderless', { step: 'describe', ...leaderless })
  const listed = await Promise.all(
    byLeader(partitions).map(async ({ leader, partitions: led }) =>
      listOffsets(await cluster.connectionTo(leader), led, timestamp),
    ),
  )
  const offsets = new Map(listed.flat().map((one) => [partitionName(one), one]))
  return new Map(
    partitions.map((partition) => {
      const name = partitionName(partition)
      const { errorCode, offset } = offsets.get(name) ?? { errorCode: -1, offset: -1n }
      if (errorCode !== 0) throw topicFailure(errorCode, partition.topic, 'read')
      return [name, offset]
    }),
  )
}

/** Start offsets of partitions that have not been read yet. */
export async function loadStarts(
  cluster: KafkaCluster,
  partitions: TopicPartition[],
  offset: KafkaSource['offset'],
): Promise<Map<string, bigint>> {
  switch (offset?.strategy) {
    case 'from_latest':
      return loadOffsets(cluster, partitions, latest)
    case 'from_timestamp': {
      const timestamp = BigInt(Date.parse(`${offset.timestamp}:00Z`))
      // Ends first: a record that arrives between the two requests is then found by its timestamp and not skipped.
      const ends = await loadOffsets(cluster, partitions, latest)
      const since = await loadOffsets(cluster, partitions, timestamp)
      // Without a record at or after the timestamp, reading begins at the end.
      return new Map([...since].map(([name, first]) => [name, first < 0n ? ends.get(name)! : first]))
    }
    default:
      return loadOffsets(cluster, partitions, earliest)
  }
}
