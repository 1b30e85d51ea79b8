// When a topic that was just made, or grown, can be produced to, and when all that was begun there has ended.
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Admin,
  FetchIsolationLevels,
  type FetchIsolationLevelValue,
  type ListedOffsetsTopic,
} from '@platformatic/kafka'

const timeoutMs = 60_000
const latest = -1n

/** Resolves when every partition has its leader: until then, a part of what is produced is refused and would be sent again. */
export async function waitForLeaders(admin: Admin, name: string, partitions: number): Promise<void> {
  const indexes = Array.from({ length: partitions }, (_, partitionIndex) => ({ partitionIndex, timestamp: latest }))
  const deadlineMs = Date.now() + timeoutMs
  for (;;) {
    try {
      await admin.listOffsets({ topics: [{ name, partitions: indexes }] })
      return
    } catch (error) {
      if (Date.now() > deadlineMs) throw error
      await sleep(10)
    }
  }
}

/** Resolves when no transaction on the first partition is without the mark of its end. */
export async function waitForMarks(admin: Admin, name: string): Promise<void> {
  const topics = [{ name, partitions: [{ partitionIndex: 0, timestamp: latest }] }]
  const endOf = async (isolationLevel: FetchIsolationLevelValue): Promise<bigint | undefined> => {
    const listed: ListedOffsetsTopic[] = await admin.listOffsets({ topics, isolationLevel })
    return listed[0]?.partitions[0]?.offset
  }
  const deadlineMs = Date.now() + timeoutMs
  for (;;) {
    const end = await endOf(FetchIsolationLevels.READ_UNCOMMITTED)
    const certainEnd = await endOf(FetchIsolationLevels.READ_COMMITTED)
    if (end !== undefined && certainEnd === end) return
    if (Date.now() > deadlineMs) throw new Error(`a transaction on ${name} does not end: ${certainEnd} of ${end}`)
    await sleep(10)
  }
}
