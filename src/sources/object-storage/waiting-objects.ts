// Counts the remaining objects of an assignment from lists.
import type { ListingParts } from './initial-listing.ts'
import { progressOf } from './object-assignment.ts'
import { listMatching } from './object-listing.ts'

/** Of 1,000 objects each: stores charge for every list. */
const maxPages = 20

/** Undefined when there are more than `maxPages` pages. */
export async function countWaitingObjects(
  { store, pattern, positions, assignment }: ListingParts,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { isDue, doneUpTo } = progressOf(assignment, positions)
  let after = doneUpTo
  let count = 0
  for (let page = 1; page <= maxPages; page++) {
    const { matches, last, isLast } = await listMatching(store, pattern, after, signal)
    count += matches.filter(({ key }) => isDue(key)).length
    if (isLast) return count
    after = last
  }
  return undefined
}
