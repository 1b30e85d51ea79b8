// Counts the records between positions and the ends of their partitions, using ListOffsets only.

import type { KafkaAccess } from './kafka-access.ts'
import { type Assignment, lagOf, updatePartitions } from './kafka-assignment.ts'
import { openCluster } from './kafka-cluster.ts'
import { latest } from './kafka-fetch.ts'
import { loadOffsets } from './kafka-offsets.ts'
import type { ReadPartition } from './read-partition.ts'

/** Rejects when a broker does not answer, or a partition has no leader. */
export async function measureLag(access: KafkaAccess, assignment: Assignment): Promise<number | undefined> {
  const cluster = await openCluster(access)
  const partitions = new Map<string, ReadPartition>()
  await updatePartitions(partitions, cluster, assignment)
  const present = [...partitions.values()].filter(({ isMissing }) => !isMissing)
  const ends = await loadOffsets(cluster, present, latest)
  return lagOf(
    present.map((partition) => ({
      ...partition,
      end: ends.get(partition.name),
      // A topic that was created again is read from its beginning.
      position: partition.reset?.offset ?? partition.position,
    })),
  )
}
