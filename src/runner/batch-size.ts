// How much goes into one insert: as much as the memory of a worker allows, less at first and while the engine refuses many rows,
// because every refused row has to be looked for.
import type { Scaling } from '../pipes/scaling.ts'

const mostRows = 500_000
const mostBytes = 32 * 1_024 * 1_024
/** Of what a worker holds as batches: under way, and being read. The other half of its memory is for readers and buffers. */
const mostHeldBytes = 128 * 1_024 * 1_024
const gibibyte = 1_024 ** 3

const firstShare = 1 / 16
const smallestShare = 1 / 64
/** When more of a batch is refused than this, the next ones are smaller. */
const manyRefused = 0.1

export interface BatchSize {
  readonly rows: number
  readonly bytes: number
  /** How a batch went. */
  note(rows: number, refused: number): void
}

/** `lanes`: inserts under way at the same time; one more batch is being read, or made ready, meanwhile. */
export function makeBatchSize({ replicaMemoryGb }: Pick<Scaling, 'replicaMemoryGb'>, lanes: number): BatchSize {
  const heldBytes = Math.min(mostHeldBytes, (replicaMemoryGb * gibibyte) / 7)
  const fullBytes = Math.min(mostBytes, heldBytes / (lanes + 1))
  let share = firstShare
  return {
    get rows() {
      return Math.ceil(mostRows * share)
    },
    get bytes() {
      return Math.ceil(fullBytes * share)
    },
    note(rows, refused) {
      share = refused > rows * manyRefused ? Math.max(smallestShare, share / 4) : Math.min(1, share * 4)
    },
  }
}
