// The bytes of an object as they come, with as much of them at hand as is asked for.
import { Buffer } from 'node:buffer'

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
  take(sizeBytes: number): Buffer
  /** Goes on at a place in the object that is not before what is at hand. */
  skipTo(position: number): Promise<void>
  close(): Promise<void>
}

const leastBytes = 256 * 1024

/** `pieceBytes`: about as much as will be asked for at once. To begin with so much is cheaper than to grow. */
export function makeFeed(chunks: AsyncGenerator<Uint8Array, void>, pieceBytes = 0): ObjectFeed {
  let buffer = Buffer.alloc(0)
  let [filledBytes, begin, isEnded] = [0, 0, false]
  let expectedBytes = Math.max(pieceBytes, leastBytes)

  const reserve = (sizeBytes: number): void => {
    if (sizeBytes <= buffer.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(sizeBytes, buffer.length * 2, expectedBytes))
    buffer.copy(larger, 0, 0, filledBytes)
    buffer = larger
  }

  const next = async (): Promise<Uint8Array | undefined> => {
    const { value, done } = await chunks.next()
    if (done) isEnded = true
    return done ? undefined : value
  }

  const append = (chunk: Uint8Array): void => {
    reserve(filledBytes + chunk.length)
    buffer.set(chunk, filledBytes)
    filledBytes += chunk.length
  }

  const take = (sizeBytes: number): Buffer => {
    const taken = buffer.subarray(0, sizeBytes)
    // The next piece is about as large as this one.
    if (sizeBytes >= leastBytes) expectedBytes = filledBytes
    buffer = Buffer.from(buffer.subarray(sizeBytes, filledBytes))
    filledBytes = buffer.length
    begin += sizeBytes
    return taken
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
      while (filledBytes < sizeBytes && !isEnded) {
        const chunk = await next()
        if (chunk) append(chunk)
      }
    },
    async skipTo(position) {
      while (position - begin > filledBytes) {
        begin += filledBytes
        filledBytes = 0
        const chunk = await next()
        if (!chunk) return
        append(chunk)
      }
      if (position > begin) take(position - begin)
    },
    async close() {
      await chunks.return()
    },
  }
}
