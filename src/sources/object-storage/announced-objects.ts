// Objects that messages tell of, on their way to be given: the store is asked for the version of each, in the order of the messages.
import { excerptOf } from '../../formats/decode/decode.ts'
import { type Batch, finishedPosition } from '../source.ts'
import type { HeldMessages } from './held-messages.ts'
import { givenObject } from './object-reader.ts'
import type { ObjectStore, StoredObject } from './object-store.ts'
import type { Announced, Intake } from './queue-intake.ts'
import { begun, isTooLong, objectPartition } from './queued-objects.ts'

/** The store is asked about so many at once. */
const maxLookUps = 16

export interface AnnouncedObjects {
  /** Nothing is left to look up or to give. */
  readonly isEmpty: boolean
  readonly hasReady: boolean
  add(announced: Announced[], refused: Batch[]): void
  /** Until as many are ready. Rejects when nothing is; what could not be looked up is looked up the next time. */
  lookUp(maxObjects: number, signal: AbortSignal): Promise<void>
  take(maxBatches: number, maxBytes: number): Batch[]
}

export function makeAnnouncedObjects(store: ObjectStore, held: HeldMessages, intake: Intake): AnnouncedObjects {
  let waiting: Announced[] = []
  let ready: Batch[] = []

  const take = ({ held: message, keys }: Announced, object: StoredObject | undefined): void => {
    message.unseenCount -= 1
    const partition = object && objectPartition(object)
    if (!partition) message.trouble ??= `${told(keys)} does not exist`
    else if (isTooLong(partition)) message.trouble ??= `${told(keys)} has a name that is too long`
    // An object without a byte has nothing to load, as in a list.
    else if (object.sizeBytes > 0) {
      const isNew = held.give(partition, message)
      if (isNew) ready.push({ partition, from: begun, next: finishedPosition, object: givenObject(object, store) })
    }
    if (message.unseenCount > 0) return
    const refused = intake.settle(message)
    if (refused) ready.push(refused)
  }

  /** Gives what went wrong with those that could not be looked up. */
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
    add(announced, refused) {
      waiting.push(...announced)
      ready.push(...refused)
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

function told([key = '']: string[]): string {
  return `the object ${excerptOf(key, 200)} that the message tells of`
}

/** By the first key that there is an object for. */
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
    sizeBytes += batch.object?.sizeBytes ?? batch.refused?.raw.length ?? 0
    return isEnough
  })
  return tooMany < 0 ? batches : batches.slice(0, tooMany)
}
