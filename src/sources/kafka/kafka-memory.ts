// Memory for the large answers of a broker, which is used again when nobody holds it any more: what is thrown away by megabytes has
// the engine of this process search all of its memory, again and again.
import { type HeldMemory, makeHeldMemory } from '../../lib/held-memory.ts'
import { makePieceMemory } from '../../lib/piece-memory.ts'

/** By what a view lies in. */
const held = new WeakMap<ArrayBufferLike, HeldMemory>()

/** Undefined for what is not used again. */
export function memoryOf(bytes: Buffer): HeldMemory | undefined {
  return held.get(bytes.buffer)
}

export interface AnswerMemory {
  /** Held once, by whoever asks. */
  take(sizeBytes: number): Buffer
}

/** Two of the largest answers. Those of the rows that are on their way come on top. */
const mostFreeBytes = 2 * 18 * 1024 * 1024

export function makeAnswerMemory(): AnswerMemory {
  const memory = makePieceMemory(mostFreeBytes)
  return {
    take(sizeBytes) {
      const taken = memory.take(sizeBytes)
      held.set(
        taken.buffer,
        makeHeldMemory(() => memory.giveBack(taken)),
      )
      return taken.subarray(0, sizeBytes)
    },
  }
}

/** Where the records of a list lie, each by its number. */
export interface PlaceNumbers {
  readonly room: number
  readonly heads: Int32Array
  readonly starts: Int32Array
  readonly ends: Int32Array
}

const mostFreeNumbers = 32
const freeNumbers: PlaceNumbers[] = []

/** Not cleared. `room` is a power of two. */
export function takeNumbers(room: number): PlaceNumbers {
  const found = freeNumbers.findIndex((free) => free.room === room)
  const [free] = found === -1 ? [] : freeNumbers.splice(found, 1)
  if (free) return free
  const all = new Int32Array(room * 3)
  const part = (index: number): Int32Array => all.subarray(index * room, (index + 1) * room)
  return { room, heads: part(0), starts: part(1), ends: part(2) }
}

/** Never looked at again by whoever gives them back. */
export function giveBackNumbers(numbers: PlaceNumbers): void {
  if (freeNumbers.length < mostFreeNumbers) freeNumbers.push(numbers)
}
