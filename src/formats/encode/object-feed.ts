// Buffered reader of the bytes of an object.
import { Buffer } from 'node:buffer'
import type { PieceMemory } from '../../lib/piece-memory.ts'

export interface ObjectFeed {
  /** The buffered bytes; a view that is valid until the next call. */
  readonly bytes: Buffer
  /** Offset of the buffered bytes in the object. */
  readonly begin: number
  /** The object ends with the buffered bytes. */
  readonly isEnded: boolean
  /** Reads until `sizeBytes` bytes are buffered, or the object ends. */
  fill(sizeBytes: number): Promise<void>
  /** Removes the first bytes from the buffer and returns them. */
  take(sizeBytes: number): TakenPiece
  /** Continues at an offset of the object that is not before `begin`. */
  skipTo(position: number): Promise<void>
  close(): Promise<void>
}

export interface TakenPiece {
  bytes: Buffer
  /** Returns the memory for reuse; the bytes must no longer be used. Optional; may be called more than once. */
  release(): void
}

const leastBytes = 256 * 1024
const emptyBuffer = Buffer.alloc(0)

/** Source of the bytes of a feed. */
export interface FeedInput {
  /**
   * Reads the next bytes into the memory that `room` returns. Returns their number, which may be less than `neededBytes`; undefined at
   * the end.
   */
  read(neededBytes: number, room: (sizeBytes: number) => Uint8Array): Promise<number | undefined>
  close(): Promise<void>
}

/** `pieceBytes`: expected size of a piece. Allocating it at once is cheaper than growing. */
export function makeFeed(
  input: FeedInput,
  { memory, pieceBytes = 0 }: { memory: PieceMemory; pieceBytes?: number },
): ObjectFeed {
  let buffer: Buffer = emptyBuffer
  let [filledBytes, begin, isEnded] = [0, 0, false]
  let expectedBytes = Math.max(pieceBytes, leastBytes)

  const reserve = (sizeBytes: number): void => {
    if (sizeBytes <= buffer.length) return
    const larger = memory.take(Math.max(sizeBytes, buffer.length * 2, expectedBytes))
    buffer.copy(larger, 0, 0, filledBytes)
    memory.giveBack(buffer)
    buffer = larger
  }

  const room = (sizeBytes: number): Uint8Array => {
    reserve(filledBytes + sizeBytes)
    return buffer.subarray(filledBytes, filledBytes + sizeBytes)
  }

  const more = async (neededBytes: number): Promise<void> => {
    const readBytes = await input.read(neededBytes, room)
    if (readBytes === undefined) isEnded = true
    else filledBytes += readBytes
  }

  const take = (sizeBytes: number): TakenPiece => {
    const taken = buffer
    const leftBytes = filledBytes - sizeBytes
    // The next piece is about as large as this one.
    if (sizeBytes >= leastBytes) expectedBytes = filledBytes
    buffer = leftBytes > 0 ? memory.take(Math.max(leftBytes, expectedBytes)) : emptyBuffer
    taken.copy(buffer, 0, sizeBytes, filledBytes)
    filledBytes = leftBytes
    begin += sizeBytes
    return { bytes: taken.subarray(0, sizeBytes), release: once(() => memory.giveBack(taken)) }
  }

  return {
    take,
    get bytes() {
      return buffer.subarray(0, filledBytes)
    },
    get begin() {
      return begin
    },
    get isEnded() {
      return isEnded
    },
    async fill(sizeBytes) {
      while (filledBytes < sizeBytes && !isEnded) await more(sizeBytes - filledBytes)
    },
    async skipTo(position) {
      while (position - begin > filledBytes) {
        begin += filledBytes
        filledBytes = 0
        await more(Math.min(position - begin, leastBytes))
        if (isEnded) return
      }
      if (position > begin) take(position - begin).release()
    },
    close: () => input.close(),
  }
}

/** Memory given back twice would be used twice. */
function once(act: () => void): () => void {
  let isDone = false
  return () => {
    if (!isDone) act()
    isDone = true
  }
}
