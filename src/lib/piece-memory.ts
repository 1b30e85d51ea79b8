// Memory for what is read by megabytes, which is used again when nobody looks at a piece any more: what is thrown away by megabytes has the
// engine of this process search all of its memory, again and again.
import { Buffer } from 'node:buffer'

export interface PieceMemory {
  take(sizeBytes: number): Buffer
  /** Whoever gives it back never looks at it again. It must have been taken here, and is given back once. */
  giveBack(taken: Buffer): void
}

/** Pieces of about the same size are to fit into each other's memory: files of one kind differ by a few bytes. */
const stepBytes = 1024 * 1024

/** What nobody has taken for so long is not kept. */
const longestIdleMs = 10_000

/** `mostFreeBytes`: what is kept for the next ones. */
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
      // Pieces become larger with time: the oldest are the least likely to be asked for again.
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
