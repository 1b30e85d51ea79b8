// What is recorded of the rows that are refused in a delivery. Without an object that is gone, the rows behind it have other numbers
// than before: only those before it are recorded, so that the record is true also when that object can be had again.
import type { WorkerStore } from '../worker.ts'

export interface Recording {
  store: WorkerStore
  /** From now on, of this delivery only rows with smaller numbers are recorded. */
  limit(deliveryId: string, rowCount: number): void
}

export function makeRecording(store: WorkerStore): Recording {
  const limits = new Map<string, number>()
  return {
    store: {
      ...store,
      refuse(deliveryId, badRows) {
        const limit = limits.get(deliveryId) ?? Number.POSITIVE_INFINITY
        return store.refuse(
          deliveryId,
          badRows.filter(({ index }) => index < limit),
        )
      },
    },
    limit(deliveryId, rowCount) {
      limits.set(deliveryId, rowCount)
    },
  }
}
