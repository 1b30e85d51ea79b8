// Partly loaded objects, by the worker that has to load the rest. The partition of a position contains the worker count at that time.

import type { StoredPosition } from '../progress/delivery.ts'
import { assignmentOf, type ObjectAssignment, partitionOf } from '../sources/object-storage/object-assignment.ts'

/** Position within an object whose rest is still to be loaded. */
export type Unfinished = StoredPosition & { within: string; offsetBytes: number }

/** `mine`: started under this assignment. `ofOthers`: started under another worker count. */
export function unfinishedObjects(
  positions: StoredPosition[],
  assignment: ObjectAssignment,
): { mine: Unfinished | undefined; ofOthers: Unfinished[] } {
  const unfinished = positions.filter(
    (position): position is Unfinished => position.within !== undefined && position.offsetBytes !== undefined,
  )
  return {
    mine: unfinished.find(({ partition }) => partition === partitionOf(assignment)),
    ofOthers: unfinished.filter(({ partition }) => assignmentOf(partition)?.count !== assignment.count),
  }
}
