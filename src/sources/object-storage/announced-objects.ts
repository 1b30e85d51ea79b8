// Looks up the current version of each announced object in the store, in the order of the messages.
import { excerptOf } from '../../formats/undecodable.ts'
import { type Batch, finishedPosition } from '../source.ts'
import type { HeldMessages } from './held-messages.ts'
import { givenObject } from './object-reader.ts'
import type { ObjectStore, StoredObject } from './object-store.ts'
import type { Announced, Intake } from './queue-intake.ts'
import { begun, isTooLong, objectPartition } from './queued-objects.ts'

/** Concurrent requests to the store. */
const maxLookUps = 16

export interface AnnouncedObjects {
  /** Nothing is left to look up or to give. */
  readonly isEmpty: boolean
  readonly hasReady: boolean
  add(announced: Announced[], rejected: Batch[]): void
  /** Looks up objects until `maxObjects` are ready. Rejects only when nothing is ready; failed lookups are repeated by the next call. */
  lookUp(maxObjects: number, signal: AbortSignal): Promise<void>
  take(maxBatches: number, maxBytes: number): Batch[]
}

export function makeAnnouncedObjects(store: ObjectStore, held: HeldMessages, intake: Intake): AnnouncedObjects {
  let waiting: Announced[] = []
  let ready: Batch[] = []

  const take = ({ held: message, keys }: Announced, object: StoredObject | undefined): void => {
    message.unresolvedCount -= 1
    const partition = object && objectPartition(object)
    if (!partition) message.problem ??= `${announcedName(keys)} does not exist`
    else if (isTooLong(partition)) message.problem ??= `${announcedName(keys)} has a name that is too long`
    // Empty objects have nothing to load and are skipped, as in a list.
    else if (object.sizeBytes > 0) {
      const isNew = held.give(partition, message)
      if (isNew) ready.push({ partition, from: begun, next: finishedPosition, object: givenObject(object, store) })
    }
    if (message.unresolvedCount > 0) return
    const rejected = intake.settle(message)
    if (rejected) ready.push(rejected)
  }

  /** Returns the first failed lookup. */
  const lookUpSome = async (signal: AbortSignal): Promise<PromiseRejectedResult | undefined> => {
    const some = waiting.slice(0, maxLookUps)
    const results = await Promise.allSettled(some.map(({ keys }) => findFirst(store, keys, signal)))
    const failed = some.filter((one, index) => {
      const result = results[index]
      if (result?.status === 'fulfilled') take(one, result.value)
      return result?.status !== 'fulfilled'
    })
    waiting = [...failed, ...waiting.slice(some.length)]
    return results.find((result) => result.status === 'rejected')
  }

  return {
    get isEmpty() {
      return waiting.length === 0 && ready.length === 0
    },
    get hasReady() {
      return ready.length > 0
    },
    add(announced, rejected) {
      waiting.push(...announced)
      ready.push(...rejected)
    },
    async lookUp(maxObjects, signal) {
      while (waiting.length > 0 && ready.length < maxObjects) {
        const failure = await lookUpSome(signal)
        if (failure && ready.length === 0) throw failure.reason
        if (failure) return
      }
    },
    take(maxBatches, maxBytes) {
      const batches = firstOf(ready, maxBatches, maxBytes)
      ready = ready.slice(batches.length)
      return batches
    },
  }
}

function announcedName([key = '']: string[]): string {
  return `the object ${excerptOf(key, 200)} that the message announces`
}

/** The object of the first key that exists. */
async function findFirst(store: ObjectStore, keys: string[], signal: AbortSignal): Promise<StoredObject | undefined> {
  for (const key of keys) {
    const object = await store.find(key, signal)
    if (object) return object
  }
  return undefined
}

function firstOf(batches: Batch[], maxBatches: number, maxBytes: number): Batch[] {
  let sizeBytes = 0
  const tooMany = batches.findIndex((batch, index) => {
    const isEnough = index >= maxBatches || (index > 0 && sizeBytes >= maxBytes)
    sizeBytes += batch.object?.sizeBytes ?? batch.rejected?.raw.length ?? 0
    return isEnough
  })
  return tooMany < 0 ? batches : batches.slice(0, tooMany)
}
