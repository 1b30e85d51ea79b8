// Reads the objects of a store that a queue tells of, after those that are there already. Each version of an object is a partition
// of its own, and the version is that which the store has: whatever a message says, and however often, it is the same partition. A
// message is removed when everything that it tells of is durable, and not before.
import {
  type Batch,
  finishedPosition,
  NotConnected,
  type Positions,
  ProbeFailure,
  type ReadLimits,
  type SourceReader,
} from '../source.ts'
import { makeAnnouncedObjects } from './announced-objects.ts'
import { type HoldTimes, holdMessages } from './held-messages.ts'
import type { InitialListing } from './initial-listing.ts'
import type { MessageQueue } from './message-queue.ts'
import type { EventOrigin } from './object-events.ts'
import type { ObjectPattern } from './object-pattern.ts'
import { readerError } from './object-reader.ts'
import type { ObjectStore } from './object-store.ts'
import { makeIntake } from './queue-intake.ts'
import { countWaiting } from './queue-waiting.ts'

export interface QueueReading {
  store: ObjectStore
  queue: MessageQueue
  /** For a sentence. */
  shownQueue: string
  /** Whether it is this reader that tells what waits in the queue, and not only what it holds. */
  tellsWaiting: boolean
  pattern: ObjectPattern
  place: EventOrigin
  /** Undefined: only what the queue tells of is given. */
  listing: InitialListing | undefined
  times?: HoldTimes
  /** Of the whole reader. */
  signal: AbortSignal
}

const usualTimes: HoldTimes = { holdMs: 60_000, extendEveryMs: 20_000 }
/** As many can be claimed at once. */
const maxBatches = 1_000
const maxWaitMs = 20_000
const giveBackMs = 1_000

export function makeQueueReader(reading: QueueReading): SourceReader {
  const { store, queue, shownQueue, tellsWaiting, listing, signal, times = usualTimes } = reading
  const held = holdMessages(queue, times)
  const intake = makeIntake({ ...reading, held, holdMs: times.holdMs })
  const closing = new AbortController()
  const waiting = tellsWaiting ? countWaiting(queue, held, AbortSignal.any([signal, closing.signal])) : undefined
  const announced = makeAnnouncedObjects(store, held, intake)
  /** What keeps messages from being removed, and only the user can mend. */
  let trouble: ProbeFailure | undefined

  const removeDone = async (limit: AbortSignal): Promise<void> => {
    try {
      await held.removeDone(limit)
      trouble = undefined
    } catch (error) {
      const told = readerError(error, shownQueue)
      // It is told with the next read: nobody waits for what becomes of messages.
      if (told instanceof ProbeFailure) trouble = told
      throw told
    }
  }

  const readListed = async (limits: ReadLimits, limit: AbortSignal): Promise<Batch[]> => {
    const maxRecords = Math.min(limits.maxRecords, maxBatches)
    const batches = (await listing?.next({ maxRecords, maxBytes: limits.maxBytes }, limit)) ?? []
    for (const { object, partition } of batches) if (object) held.give(partition)
    return batches
  }

  const readQueue = async (limits: ReadLimits, limit: AbortSignal): Promise<Batch[]> => {
    const maxObjects = Math.min(limits.maxRecords, maxBatches)
    if (announced.isEmpty) {
      const waitMs = Math.min(limits.waitMs, maxWaitMs)
      const received = await intake.receive({ waitMs, maxObjects }, limit).catch((error: unknown) => {
        throw readerError(error, shownQueue)
      })
      waiting?.received(received.messageCount, waitMs)
      announced.add(received.announced, received.refused)
    }
    await announced.lookUp(maxObjects, limit)
    await removeDone(limit).catch((error: unknown) => {
      if (!announced.hasReady) throw error
    })
    return announced.take(maxObjects, limits.maxBytes)
  }

  return {
    async read(limits) {
      const limit = AbortSignal.any([signal, limits.signal, closing.signal])
      try {
        limit.throwIfAborted()
        if (trouble) throw trouble
        if (listing && !listing.isDone) return await readListed(limits, limit)
        return await readQueue(limits, limit)
      } catch (error) {
        throw limit.aborted ? new NotConnected() : readerError(error)
      }
    },

    async acknowledge(positions) {
      held.finish(finishedOf(positions))
      await removeDone(AbortSignal.any([signal, closing.signal]))
    },

    lag() {
      const [listed, inQueue] = [listing ? listing.waitingCount() : 0, waiting ? waiting.count() : 0]
      if (listed === undefined || inQueue === undefined) return undefined
      return listed + inQueue + held.count
    },

    note() {
      const { leftCount } = held
      if (leftCount === 0) return undefined
      return `${leftCount.toLocaleString('en')} ${leftCount === 1 ? 'message' : 'messages'} will be tried again`
    },

    async giveBack() {
      const limit = AbortSignal.any([signal, closing.signal, AbortSignal.timeout(giveBackMs)])
      const { promise: overdue, resolve } = Promise.withResolvers<void>()
      limit.addEventListener('abort', () => resolve(), { once: true })
      // What is not given back comes again by itself.
      await Promise.race([held.giveBack(limit).catch(() => undefined), overdue])
    },

    async close() {
      closing.abort()
      held.close()
      queue.close()
      store.close()
    },
  }
}

function finishedOf(positions: Positions): string[] {
  return Object.entries(positions).flatMap(([partition, position]) =>
    position === finishedPosition ? [partition] : [],
  )
}
