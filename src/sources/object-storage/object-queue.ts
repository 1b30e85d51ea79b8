// Remaining objects of one assignment, in the order of their keys.
import { ProbeFailure } from '../../source-shapes/source-failure.ts'
import { keyOf, laterOf, type ObjectAssignment, partitionOf, positionOf, progressOf } from './object-assignment.ts'
import { listMatching } from './object-listing.ts'
import type { ObjectPattern } from './object-pattern.ts'
import { compareKeys, type ObjectStore, type StoredObject } from './object-store.ts'

export interface QueueParts {
  store: ObjectStore
  pattern: ObjectPattern
  positions: Record<string, string>
  assignment: ObjectAssignment
  /** The position of the last object to read; undefined: no end. */
  until: string | undefined
}

export interface ObjectQueue {
  readonly partition: string
  /** Of the object that was returned last. */
  readonly position: string
  /** The next object; undefined when there are no more for now. */
  take(signal: AbortSignal): Promise<StoredObject | undefined>
  /** Lists again from the position, to find objects that were added. */
  lookAgain(): void
  /** All objects up to `until` have been returned. */
  isFinished(): boolean
  /** Undefined as long as the list is not complete. */
  waitingCount(): number | undefined
}

export function makeObjectQueue({ store, pattern, positions, assignment, until }: QueueParts): ObjectQueue {
  const partition = partitionOf(assignment)
  const progress = progressOf(assignment, positions)
  let position = positions[partition] ?? ''
  const begin = (): string | undefined => laterOf(keyOf(position), progress.doneUpTo)
  let after = begin()
  let listed: StoredObject[] = []
  let isAtEnd = false
  let isCounted = false

  const list = async (signal: AbortSignal): Promise<void> => {
    const page = await listMatching(store, pattern, after, signal)
    assertOrder(page.matches, after)
    if (!page.isLast && page.last === after) throw outOfOrder()
    listed = page.matches.filter(({ key }) => progress.isDue(key))
    after = page.last
    isAtEnd = page.isLast
    isCounted = isAtEnd
  }

  return {
    partition,
    get position() {
      return position
    },
    async take(signal) {
      while (listed.length === 0 && !isAtEnd) await list(signal)
      const object = listed.shift()
      if (object) position = positionOf(object)
      return object
    },
    lookAgain() {
      isAtEnd = false
      // Not after the last listed key: new objects may come before it.
      after = begin()
    },
    isFinished() {
      if (until === undefined) return false
      const [reached, last] = [keyOf(position), keyOf(until)]
      return last === undefined || (reached !== undefined && compareKeys(reached, last) >= 0)
    },
    waitingCount: () => (isCounted ? listed.length : undefined),
  }
}

/** A list can only continue from a key if it is sorted. */
function assertOrder(objects: StoredObject[], after: string | undefined): void {
  let last = after
  for (const { key } of objects) {
    if (last !== undefined && compareKeys(key, last) <= 0) throw outOfOrder()
    last = key
  }
}

function outOfOrder(): ProbeFailure {
  return new ProbeFailure({
    step: 'describe',
    code: 'not_set_up',
    reason: 'the store does not list its objects in the order of their keys',
    remedy: 'use a store or a kind of bucket that does',
  })
}
