// Objects claimed by other workers. After a while they are checked again, so that finished ones can be acknowledged to the queue.
import type { Batch } from '../../sources/source.ts'

export interface ObjectsOfOtherWorkers {
  readonly count: number
  add(batch: Batch): void
  /** Returns and removes the objects that are due for a check. */
  takeDue(): Batch[]
  /** Infinity without objects. */
  dueInMs(): number
}

export function makeObjectsOfOtherWorkers(lookAfterMs: number): ObjectsOfOtherWorkers {
  const batches = new Map<string, Batch>()
  let dueAtMs = Number.POSITIVE_INFINITY
  return {
    get count() {
      return batches.size
    },
    add({ cursor: _, ...batch }) {
      if (batches.size === 0) dueAtMs = performance.now() + lookAfterMs
      batches.set(batch.partition, batch)
    },
    takeDue() {
      if (batches.size === 0 || performance.now() < dueAtMs) return []
      const due = [...batches.values()]
      batches.clear()
      return due
    },
    dueInMs: () => (batches.size === 0 ? Number.POSITIVE_INFINITY : dueAtMs - performance.now()),
  }
}
