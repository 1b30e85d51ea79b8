// The bytes of an object as they come, with as much of them at hand as is asked for.
import { Buffer } from 'node:buffer'
import type { PieceMemory } from '../../lib/piece-memory.ts'

export interface ObjectFeed {
  /** What is at hand; a view, until the next call. */
  readonly bytes: Buffer
  /** Where it begins in the object. */
  readonly begin: number
  /** Nothing comes after what is at hand. */
  readonly isEnded: boolean
  /** Until so many bytes are at hand, or the object ends. */
  fill(sizeBytes: number): Promise<void>
  /** Gives away the first of what is at hand. */
  take(sizeBytes: number): TakenPiece
  /** Goes on at a place in the object that is not before what is at hand. */
  skipTo(position: number): Promise<void>
  close(): Promise<void>
}

export interface TakenPiece {
  bytes: Buffer
  /** The bytes are never looked at again. Need not be called; more than once changes nothing. */
  release(): void
}

const leastBytes = 256 * 1024
const nothing = Buffer.alloc(0)

/** Where the bytes of a feed come from. */
export interface FeedInput {
  /**
   * Puts bytes that come next into the room that it asks for, and gives their number; undefined when nothing comes any more. Need
   * not be as many as wanted.
   */
  read(wantedBytes: number, room: (sizeBytes: number) => Uint8Array): Promise<number | undefined>
  close(): Promise<void>
}

/** `pieceBytes`: about as much as will be asked for at once. To begin with so much is cheaper than to grow. */
export function makeFeed(
  input: FeedInput,
  { memory, pieceBytes = 0 }: { memory: PieceMemory; pieceBytes?: number },
): ObjectFeed {
  let buffer: Buffer = nothing
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

  const more = async (wantedBytes: number): Promise<void> => {
    const readBytes = await input.read(wantedBytes, room)
    if (readBytes === undefined) isEnded = true
    else filledBytes += readBytes
  }

  const take = (sizeBytes: number): TakenPiece => {
    const whole = buffer
    const restBytes = filledBytes - sizeBytes
    // The next piece is about as large as this one.
    if (sizeBytes >= leastBytes) expectedBytes = filledBytes
    buffer = restBytes > 0 ? memory.take(Math.max(restBytes, expectedBytes)) : nothing
    whole.copy(buffer, 0, sizeBytes, filledBytes)
    filledBytes = restBytes
    begin += sizeBytes
    return { bytes: whole.subarray(0, sizeBytes), release: once(() => memory.giveBack(whole)) }
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

/** What is given back twice would be taken by two. */
function once(act: () => void): () => void {
  let isDone = false
  return () => {
    if (!isDone) act()
    isDone = true
  }
}
