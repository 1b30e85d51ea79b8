// Pool of buffers for pieces of several megabytes. Reuse avoids full garbage collections, which large discarded buffers would trigger
// again and again.
import { Buffer } from 'node:buffer'

export interface PieceMemory {
  take(sizeBytes: number): Buffer
  /** Returns a taken buffer once; it must not be used afterwards. */
  giveBack(taken: Buffer): void
}

/** Sizes are rounded up, so that pieces of similar size can reuse each other's memory: files of one kind differ by a few bytes. */
const stepBytes = 1024 * 1024

/** Idle buffers are discarded after this time. */
const longestIdleMs = 10_000

/** `mostFreeBytes`: limit of the memory kept for reuse. */
export function makePieceMemory(mostFreeBytes: number): PieceMemory {
  let free: Buffer[] = []
  let freeBytes = 0
  let idleTimer: NodeJS.Timeout | undefined

  const remove = (index: number): Buffer | undefined => {
    const [removed] = free.splice(index, 1)
    freeBytes -= removed?.length ?? 0
    return removed
  }

  const forget = (): void => {
    free = []
    freeBytes = 0
    idleTimer = undefined
  }

  return {
    take(sizeBytes) {
      const fits = ({ length }: Buffer): boolean => length >= sizeBytes && length <= 2 * sizeBytes
      const found = free.findLastIndex(fits)
      return (found === -1 ? undefined : remove(found)) ?? Buffer.allocUnsafeSlow(roundUp(sizeBytes))
    },
    giveBack(taken) {
      if (taken.length === 0 || taken.length > mostFreeBytes) return
      // Pieces grow over time: the oldest are the least likely to be reused.
      while (freeBytes + taken.length > mostFreeBytes) remove(0)
      free.push(taken)
      freeBytes += taken.length
      idleTimer = idleTimer?.refresh() ?? setTimeout(forget, longestIdleMs).unref()
    },
  }
}

function roundUp(sizeBytes: number): number {
  return sizeBytes < stepBytes ? sizeBytes : Math.ceil(sizeBytes / stepBytes) * stepBytes
}
