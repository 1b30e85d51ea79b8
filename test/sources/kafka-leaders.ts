// When a topic that was just made, or grown, can be produced to.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Admin } from '@platformatic/kafka'

const leaderTimeoutMs = 60_000
const latest = -1n

/** Resolves when every partition has its leader: until then, a part of what is produced is refused and would be sent again. */
export async function waitForLeaders(admin: Admin, name: string, partitions: number): Promise<void> {
  const indexes = Array.from({ length: partitions }, (_, partitionIndex) => ({ partitionIndex, timestamp: latest }))
  const deadlineMs = Date.now() + leaderTimeoutMs
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
