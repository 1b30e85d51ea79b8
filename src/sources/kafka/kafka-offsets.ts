// Where the partitions of a source begin and end, and where reading begins by what the configuration says.
import type { KafkaSource } from '../../pipes/kafka-shapes.ts'
import type { KafkaCluster, TopicPartition } from './kafka-cluster.ts'
import { type BrokerAddress, noLeader, topicFailure } from './kafka-failure.ts'
import { earliest, latest, listOffsets } from './kafka-fetch.ts'

/** How a partition is called in positions. No name of a topic has a slash. */
export function partitionName({ topic, partition }: { topic: string; partition: number }): string {
  return `${topic}/${partition}`
}

export interface Led<Partition extends TopicPartition> {
  leader: BrokerAddress
  partitions: Partition[]
}

/** Leaves out partitions that have no leader. */
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

/** By the name of the partition. Rejects with a ProbeFailure; all partitions must have a leader. */
export async function loadOffsets(
  cluster: KafkaCluster,
  partitions: TopicPartition[],
  moment: bigint,
): Promise<Map<string, bigint>> {
  const homeless = partitions.find(({ leader }) => !leader)
  if (homeless) throw noLeader(homeless.topic, homeless.partition)
  const listed = await Promise.all(
    byLeader(partitions).map(async ({ leader, partitions: led }) =>
      listOffsets(await cluster.connectionTo(leader), led, moment),
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

/** Where partitions begin that have not been read yet. */
export async function loadStarts(
  cluster: KafkaCluster,
  partitions: TopicPartition[],
  offset: KafkaSource['offset'],
): Promise<Map<string, bigint>> {
  switch (offset?.strategy) {
    case 'from_latest':
      return loadOffsets(cluster, partitions, latest)
    case 'from_timestamp': {
      const moment = BigInt(Date.parse(`${offset.timestamp}:00Z`))
      // First the ends: a record that comes between the two questions is then found by its time, and not passed over.
      const ends = await loadOffsets(cluster, partitions, latest)
      const since = await loadOffsets(cluster, partitions, moment)
      // Without a record that is young enough, the next one will be.
      return new Map([...since].map(([name, first]) => [name, first < 0n ? ends.get(name)! : first]))
    }
    default:
      return loadOffsets(cluster, partitions, earliest)
  }
}
