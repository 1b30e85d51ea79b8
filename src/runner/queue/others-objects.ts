// Objects that are another worker's: whether they are finished is asked again after a while, so that the queue may forget them.
import type { Batch } from '../../sources/source.ts'

export interface OthersObjects {
  readonly count: number
  add(batch: Batch): void
  /** Those that are to be asked for now. */
  takeDue(): Batch[]
  /** Infinity when there are none. */
  dueInMs(): number
}

export function makeOthersObjects(lookAfterMs: number): OthersObjects {
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
