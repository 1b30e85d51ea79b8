// Memory for pieces of objects, which is used again when nobody looks at a piece any more: what is thrown away by megabytes has the
// engine of this process search all of its memory, again and again.
import { Buffer } from 'node:buffer'

export interface PieceMemory {
  take(sizeBytes: number): Buffer
  /** Whoever gives it back never looks at it again. It must have been taken here, and is given back once. */
  giveBack(taken: Buffer): void
}

/** As much as pieces under way may hold. */
const mostFreeBytes = 32 * 1024 * 1024

export function makePieceMemory(): PieceMemory {
  const free: Buffer[] = []
  let freeBytes = 0
  return {
    take(sizeBytes) {
      const fits = ({ length }: Buffer): boolean => length >= sizeBytes && length <= 2 * sizeBytes
      const found = free.findLastIndex(fits)
      const [buffer = Buffer.allocUnsafeSlow(sizeBytes)] = found === -1 ? [] : free.splice(found, 1)
      if (found !== -1) freeBytes -= buffer.length
      return buffer
    },
    giveBack(taken) {
      if (taken.length === 0 || freeBytes + taken.length > mostFreeBytes) return
      free.push(taken)
      freeBytes += taken.length
    },
  }
}
