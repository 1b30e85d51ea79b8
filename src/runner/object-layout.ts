// Objects of which a part is durable, by who has to load the rest: positions tell which number of workers shared the objects then.
import { type ObjectAssignment, partitionOf, shareOf } from '../sources/object-storage/object-assignment.ts'
import type { StoredPosition } from './delivery.ts'

/** A position within an object, of which the rest is to be loaded. */
export type Unfinished = StoredPosition & { within: string; offsetBytes: number }

/** What was begun by the worker of this share, and by those of another number of shares. */
export function unfinishedObjects(
  positions: StoredPosition[],
  share: ObjectAssignment,
): { mine: Unfinished | undefined; ofOthers: Unfinished[] } {
  const unfinished = positions.filter(
    (position): position is Unfinished => position.within !== undefined && position.offsetBytes !== undefined,
  )
  return {
    mine: unfinished.find(({ partition }) => partition === partitionOf(share)),
    ofOthers: unfinished.filter(({ partition }) => shareOf(partition)?.count !== share.count),
  }
}
