// Groups the records of the next insert by partition.

import type { Rows } from '../formats/encode/rows.ts'
import type { DeliveryRange } from '../progress/delivery.ts'
import type { Batch } from '../sources/source.ts'

export interface StreamGroup {
  readonly isEmpty: boolean
  readonly rowCount: number
  readonly sizeBytes: number
  /** Infinite while it is empty. */
  dueInMs(): number
  add(batch: Batch, rows: Rows): void
  /** Ranges sorted by partition, rows in the order of the ranges, and the timestamp of the newest record. */
  take(): { ranges: DeliveryRange[]; parts: Rows[]; newestMs: number | undefined }
}

interface Piece {
  range: DeliveryRange
  parts: Rows[]
}

export function makeStreamGroup(waitMs: number): StreamGroup {
  const pieces = new Map<string, Piece>()
  let rowCount = 0
  let sizeBytes = 0
  let newestMs: number | undefined
  let dueAtMs = Number.POSITIVE_INFINITY
  return {
    get isEmpty() {
      return pieces.size === 0
    },
    get rowCount() {
      return rowCount
    },
    get sizeBytes() {
      return sizeBytes
    },
    dueInMs: () => dueAtMs - performance.now(),
    add({ partition, from, next, records }, rows) {
      const { _timestamp: cameAt } = records?.at(records.length - 1)?.meta ?? {}
      if (cameAt instanceof Date) newestMs = Math.max(newestMs ?? 0, cameAt.getTime())
      const piece = pieces.get(partition)
      // The batches of a partition are contiguous, so they form one range.
      if (piece) piece.range.next = next
      else pieces.set(partition, { range: { partition, from, next }, parts: [] })
      pieces.get(partition)?.parts.push(rows)
      rowCount += rows.count
      sizeBytes += rows.readBytes
      if (dueAtMs === Number.POSITIVE_INFINITY) dueAtMs = performance.now() + waitMs
    },
    take() {
      const inOrder = [...pieces.values()].toSorted((one, other) =>
        one.range.partition < other.range.partition ? -1 : 1,
      )
      return { ranges: inOrder.map(({ range }) => range), parts: inOrder.flatMap(({ parts }) => parts), newestMs }
    },
  }
}
