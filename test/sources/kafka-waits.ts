// Waits until a new topic accepts records, and until its transactions have ended.
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Admin,
  FetchIsolationLevels,
  type FetchIsolationLevelValue,
  type ListedOffsetsTopic,
} from '@platformatic/kafka'

const timeoutMs = 60_000
const latest = -1n

/** Resolves when every partition has its leader: before, some records are rejected and sent again. */
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

/** Resolves when all transactions of partition 0 have their marker. */
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
