// Initial load of a source with a queue: lists existing objects and returns them as the same partitions that the queue uses.
// The progress of the list is a position of its own, in the format of a reader without a queue.

import { excerptOf } from '../../formats/undecodable.ts'
import { type Batch, finishedPosition, type Positions, type ReadLimits } from '../source.ts'
import { keyOf, type ObjectAssignment, partitionOf, progressOf } from './object-assignment.ts'
import type { ObjectPattern } from './object-pattern.ts'
import { makeObjectQueue } from './object-queue.ts'
import { givenObject } from './object-reader.ts'
import { compareKeys, type ObjectStore, type StoredObject } from './object-store.ts'
import { begun, endOfListing, isTooLong, messagePartition, objectPartition } from './queued-objects.ts'

export interface ListingParts {
  store: ObjectStore
  pattern: ObjectPattern
  positions: Record<string, string>
  assignment: ObjectAssignment
}

export interface InitialListing {
  /** All objects have been returned. */
  readonly isDone: boolean
  next(limits: Pick<ReadLimits, 'maxRecords' | 'maxBytes'>, signal: AbortSignal): Promise<Batch[]>
  /** Objects that have not been returned; undefined: unknown. */
  waitingCount(): number | undefined
}

export function makeInitialListing({ store, pattern, positions, assignment }: ListingParts): InitialListing {
  const partition = partitionOf(assignment)
  let isDone = isListingDone(assignment, positions)
  const listed = makeObjectQueue({ store, pattern, positions, assignment, until: undefined })

  return {
    get isDone() {
      return isDone
    },
    async next({ maxRecords, maxBytes }, signal) {
      const from = listed.position
      const batches: Batch[] = []
      let sizeBytes = 0
      while (!isDone && batches.length < maxRecords && (batches.length === 0 || sizeBytes < maxBytes)) {
        const object = await listed.take(signal).catch((error: unknown) => {
          // Objects that were already taken must be returned: no other read would return them.
          if (batches.length === 0) throw error
          return 'later' as const
        })
        if (object === 'later') break
        if (!object) {
          isDone = true
          break
        }
        batches.push(batchOf(object, store))
        sizeBytes += object.sizeBytes
      }
      const position = isDone ? endOfListing : listed.position
      const cursor = { partition, position }
      const last = batches.at(-1)
      if (last) last.cursor = cursor
      else if (isDone) batches.push({ partition, from, next: position, cursor })
      return batches
    },
    waitingCount: () => (isDone ? 0 : listed.waitingCount()),
  }
}

export function isListingDone(assignment: ObjectAssignment, positions: Positions): boolean {
  const { doneUpTo } = progressOf(assignment, positions)
  const end = keyOf(endOfListing) ?? ''
  return doneUpTo !== undefined && compareKeys(doneUpTo, end) >= 0
}

/** An object whose name is too long to be claimed is rejected, like an unusable message. */
function batchOf(object: StoredObject, store: ObjectStore): Batch {
  const range = { from: begun, next: finishedPosition }
  const name = objectPartition(object)
  if (!isTooLong(name)) return { partition: name, ...range, object: givenObject(object, store) }
  const { key, etag } = object
  const shown = `the object ${excerptOf(key, 200)}`
  const raw = Buffer.from(JSON.stringify({ key, etag }))
  const rejected = { position: shown, raw, reason: `${shown} has a name that is too long` }
  return { partition: messagePartition(name), ...range, rejected }
}
