// Reusable memory for large fetch responses: discarding megabytes at a time would cause frequent garbage collection.
import { type HeldMemory, makeHeldMemory } from '../../lib/held-memory.ts'
import { makePieceMemory } from '../../lib/piece-memory.ts'

/** By the ArrayBuffer of a view. */
const held = new WeakMap<ArrayBufferLike, HeldMemory>()

/** Undefined for memory that is not reused. */
export function memoryOf(bytes: Buffer): HeldMemory | undefined {
  return held.get(bytes.buffer)
}

export interface AnswerMemory {
  /** Returns memory that the caller holds once. */
  take(sizeBytes: number): Buffer
}

/** Two of the largest responses. Memory held by rows in flight is not counted. */
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

/** Byte offsets of the records of a list, by index. */
export interface RecordOffsets {
  readonly capacity: number
  readonly heads: Int32Array
  readonly starts: Int32Array
  readonly ends: Int32Array
}

const mostFreeOffsets = 32
const freeOffsets: RecordOffsets[] = []

/** Not cleared. `capacity` is a power of two. */
export function takeRecordOffsets(capacity: number): RecordOffsets {
  const found = freeOffsets.findIndex((free) => free.capacity === capacity)
  const [free] = found === -1 ? [] : freeOffsets.splice(found, 1)
  if (free) return free
  const all = new Int32Array(capacity * 3)
  const part = (index: number): Int32Array => all.subarray(index * capacity, (index + 1) * capacity)
  return { capacity, heads: part(0), starts: part(1), ends: part(2) }
}

/** The caller must not use them afterwards. */
export function giveBackRecordOffsets(offsets: RecordOffsets): void {
  if (freeOffsets.length < mostFreeOffsets) freeOffsets.push(offsets)
}
