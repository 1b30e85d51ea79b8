// Limits which rejected rows of a delivery are recorded. When an object is missing, the rows after it have other numbers than before.
// Only rows before it are recorded, so that the record stays correct if the object comes back.
import type { WorkerStore } from '../worker.ts'

export interface Recording {
  store: WorkerStore
  /** From now on, only rows of this delivery with smaller numbers are recorded. */
  limit(deliveryId: string, rowCount: number): void
}

export function makeRecording(store: WorkerStore): Recording {
  const limits = new Map<string, number>()
  return {
    store: {
      ...store,
      reject(deliveryId, badRows) {
        const limit = limits.get(deliveryId) ?? Number.POSITIVE_INFINITY
        return store.reject(
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
