// What is in the store before a queue tells of anything: all that one reader has to list, as partitions like those of the queue. How
// far the list has come is a position of its own, the same that a reader without a queue has.

import { excerptOf } from '../../formats/decode/decode.ts'
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
  share: ObjectAssignment
}

export interface InitialListing {
  /** Everything has been given. */
  readonly isDone: boolean
  next(limits: Pick<ReadLimits, 'maxRecords' | 'maxBytes'>, signal: AbortSignal): Promise<Batch[]>
  /** How many are left to give; undefined as long as nobody knows. */
  waitingCount(): number | undefined
}

export function makeInitialListing({ store, pattern, positions, share }: ListingParts): InitialListing {
  const partition = partitionOf(share)
  let isDone = isListingDone(share, positions)
  const listed = makeObjectQueue({ store, pattern, positions, share, until: undefined })

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
          // What was taken is to be given: nothing would give it again.
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

export function isListingDone(share: ObjectAssignment, positions: Positions): boolean {
  const { doneUpTo } = progressOf(share, positions)
  const end = keyOf(endOfListing) ?? ''
  return doneUpTo !== undefined && compareKeys(doneUpTo, end) >= 0
}

/** What cannot be claimed by its name is told like a message that leads nowhere. */
function batchOf(object: StoredObject, store: ObjectStore): Batch {
  const range = { from: begun, next: finishedPosition }
  const name = objectPartition(object)
  if (!isTooLong(name)) return { partition: name, ...range, object: givenObject(object, store) }
  const { key, etag } = object
  const shown = `the object ${excerptOf(key, 200)}`
  const raw = Buffer.from(JSON.stringify({ key, etag }))
  const refused = { position: shown, raw, reason: `${shown} has a name that is too long` }
  return { partition: messagePartition(name), ...range, refused }
}
