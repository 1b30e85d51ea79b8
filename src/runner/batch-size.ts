// Size of one insert: as much as the memory of a worker allows, less at first and while many rows are rejected, because every
// rejected row has to be searched for.
import type { Scaling } from '../pipes/scaling.ts'

const mostRows = 500_000
const mostBytes = 32 * 1_024 * 1_024
/** For batches that are read or inserted. The rest of a worker's memory is for readers and buffers. */
const mostHeldBytes = 128 * 1_024 * 1_024
const gibibyte = 1_024 ** 3

const firstFraction = 1 / 16
const smallestFraction = 1 / 64
/** When a larger fraction of a batch is rejected, the next ones are smaller. */
const manyRejected = 0.1

export interface BatchSize {
  readonly rows: number
  readonly bytes: number
  /** Adapts the size to the result of a batch. */
  note(rows: number, rejected: number): void
}

/** Memory is shared by the concurrent inserts and one more batch that is read or prepared. */
export function makeBatchSize(
  { replicaMemoryGb }: Pick<Scaling, 'replicaMemoryGb'>,
  concurrentInserts: number,
): BatchSize {
  const heldBytes = Math.min(mostHeldBytes, (replicaMemoryGb * gibibyte) / 7)
  const fullBytes = Math.min(mostBytes, heldBytes / (concurrentInserts + 1))
  let fraction = firstFraction
  return {
    get rows() {
      return Math.ceil(mostRows * fraction)
    },
    get bytes() {
      return Math.ceil(fullBytes * fraction)
    },
    note(rows, rejected) {
      fraction = rejected > rows * manyRejected ? Math.max(smallestFraction, fraction / 4) : Math.min(1, fraction * 4)
    },
  }
}
