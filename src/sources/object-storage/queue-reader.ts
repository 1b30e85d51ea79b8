// Reads existing objects of a store, then the objects that a queue announces. Each version of an object is a partition. The store
// decides about the version, so repeated messages lead to the same partition. A message is deleted only when all objects that it
// announces are durable.

import { NotConnected, ProbeFailure } from '../../source-shapes/source-failure.ts'
import { type Batch, finishedPosition, type Positions, type ReadLimits, type SourceReader } from '../source.ts'
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
  /** For messages to the user. */
  shownQueue: string
  /** Whether the lag of this reader includes messages in the queue, not only those that it holds. */
  reportsWaiting: boolean
  pattern: ObjectPattern
  origin: EventOrigin
  /** Undefined: without initial load. */
  listing: InitialListing | undefined
  times?: HoldTimes
  /** Of the whole reader. */
  signal: AbortSignal
}

const usualTimes: HoldTimes = { holdMs: 60_000, extendEveryMs: 20_000 }
/** Limit of one claim. */
const maxBatches = 1_000
const maxWaitMs = 20_000
const giveBackMs = 1_000

export function makeQueueReader(reading: QueueReading): SourceReader {
  const { store, queue, shownQueue, reportsWaiting, listing, signal, times = usualTimes } = reading
  const held = holdMessages(queue, times)
  const intake = makeIntake({ ...reading, held, holdMs: times.holdMs })
  const closing = new AbortController()
  const waiting = reportsWaiting ? countWaiting(queue, held, AbortSignal.any([signal, closing.signal])) : undefined
  const announced = makeAnnouncedObjects(store, held, intake)
  /** Why messages cannot be deleted, if only the user can fix it. */
  let removalFailure: ProbeFailure | undefined

  const removeDone = async (limit: AbortSignal): Promise<void> => {
    try {
      await held.removeDone(limit)
      removalFailure = undefined
    } catch (error) {
      const failure = readerError(error, shownQueue)
      // Reported by the next read: the caller of `acknowledge` does not handle it.
      if (failure instanceof ProbeFailure) removalFailure = failure
      throw failure
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
      announced.add(received.announced, received.rejected)
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
        if (removalFailure) throw removalFailure
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
      const { releasedCount } = held
      if (releasedCount === 0) return undefined
      return `${releasedCount.toLocaleString('en')} ${releasedCount === 1 ? 'message' : 'messages'} will be tried again`
    },

    async giveBack() {
      const limit = AbortSignal.any([signal, closing.signal, AbortSignal.timeout(giveBackMs)])
      const { promise: overdue, resolve } = Promise.withResolvers<void>()
      limit.addEventListener('abort', () => resolve(), { once: true })
      // Messages that are not given back become visible after the visibility timeout.
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
