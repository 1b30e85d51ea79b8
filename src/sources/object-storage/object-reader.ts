// Reads the objects of a store one after the other, in the order of their keys. A position is the last object that was given.
// Objects whose keys come before the position are never given: what is added to a continuous source must come later in the order.

import { setTimeout as wait } from 'node:timers/promises'
import { passingFailures } from '../failure.ts'
import {
  type Batch,
  EndOfInput,
  type FailureCode,
  NotConnected,
  type Positions,
  ProbeFailure,
  type ReadLimits,
  type Selection,
  type SourceReader,
} from '../source.ts'
import { keyOf, positionOf, shareOf } from './object-assignment.ts'
import type { ObjectPattern } from './object-pattern.ts'
import { makeObjectQueue, type ObjectQueue } from './object-queue.ts'
import { objectChanged } from './object-sample.ts'
import { compareKeys, ObjectChanged, type ObjectStore, type StoredObject } from './object-store.ts'

export interface ObjectReading {
  store: ObjectStore
  pattern: ObjectPattern
  isContinuous: boolean
  positions: Positions
  selection: Selection
  /** Of the whole reader. */
  signal: AbortSignal
}

export function makeObjectReader(reading: ObjectReading): SourceReader {
  const { store, selection, signal } = reading
  const { until, only } = selection
  const read = !until ? makeRead(reading) : only ? makeExactRead(store, until, only) : makeBoundedRead(reading, until)
  const closing = new AbortController()
  return {
    /** One object: a partition gives one batch, and whatever the limits are, a single one may exceed them. */
    async read(limits: ReadLimits): Promise<Batch[]> {
      const limit = AbortSignal.any([signal, limits.signal, closing.signal])
      try {
        limit.throwIfAborted()
        return await read.next(limits.waitMs, limit)
      } catch (error) {
        throw limit.aborted ? new NotConnected() : readerError(error)
      }
    },
    acknowledge: async () => undefined,
    lag: read.lag,
    async close() {
      closing.abort()
      store.close()
    },
  }
}

interface Read {
  next(waitMs: number, signal: AbortSignal): Promise<Batch[]>
  lag(): number | undefined
}

function makeRead({ store, pattern, isContinuous, positions, selection }: ObjectReading): Read {
  const { share = { index: 0, count: 1 } } = selection
  const queue = makeObjectQueue({ store, pattern, positions, share, until: undefined })
  return {
    async next(waitMs, signal) {
      const batch = await takeFrom(queue, store, signal)
      if (batch) return [batch]
      if (!isContinuous) throw new EndOfInput()
      // Stores count every list: they are asked once in the time that the caller gives.
      await wait(waitMs, undefined, { signal })
      queue.lookAgain()
      const came = await takeFrom(queue, store, signal)
      return came ? [came] : []
    },
    lag: () => queue.waitingCount(),
  }
}

/** Partition by partition, of whatever number of readers they were. */
function makeBoundedRead({ store, pattern, positions }: ObjectReading, until: Positions): Read {
  const queues = Object.entries(until).map(([partition, last]) => {
    const share = shareOf(partition)
    if (!share) throw new Error('not a partition of objects')
    return { last, queue: makeObjectQueue({ store, pattern, positions, share, until: last }) }
  })
  return {
    async next(_waitMs, signal) {
      const unfinished = queues.find(({ queue }) => !queue.isFinished())
      if (!unfinished) throw new EndOfInput()
      const { queue, last } = unfinished
      const batch = await takeFrom(queue, store, signal)
      const lastKey = keyOf(last) ?? ''
      // It must be met as it was: without it, or as another one, the range does not hold what it held.
      const isBeyond = !batch?.object || compareKeys(batch.object.key, lastKey) > 0
      if (isBeyond || (batch.object?.key === lastKey && batch.next !== last)) throw new Changed(lastKey)
      return [batch]
    },
    lag: () => undefined,
  }
}

/** A read that finds an object changed rejects; the next one goes on behind it. */
function makeExactRead(store: ObjectStore, until: Positions, only: string[]): Read {
  const [partition = ''] = Object.keys(until)
  let given = 0
  return {
    async next(_waitMs, signal) {
      const wanted = only[given]
      if (wanted === undefined) throw new EndOfInput()
      const key = keyOf(wanted) ?? ''
      const object = await store.find(key, signal)
      const from = only[given - 1] ?? ''
      given++
      if (!object || positionOf(object) !== wanted) throw new Changed(key)
      return [batchOf(partition, object, from, store)]
    },
    lag: () => undefined,
  }
}

async function takeFrom(queue: ObjectQueue, store: ObjectStore, signal: AbortSignal): Promise<Batch | undefined> {
  const from = queue.position
  const object = await queue.take(signal)
  return object && batchOf(queue.partition, object, from, store)
}

function batchOf(partition: string, object: StoredObject, from: string, store: ObjectStore): Batch {
  return { partition, from, next: positionOf(object), object: givenObject(object, store) }
}

/** As a batch has it. */
export function givenObject(object: StoredObject, store: ObjectStore): NonNullable<Batch['object']> {
  const { key, sizeBytes, modifiedAt } = object
  const open = async (signal: AbortSignal) => {
    try {
      return await store.open(object, signal)
    } catch (error) {
      throw readerError(error instanceof ObjectChanged ? new Changed(key) : error)
    }
  }
  return { key, sizeBytes, modifiedAt, open }
}

/** An object that was given before is not there any more, or is another one. */
export class Changed extends Error {
  readonly key: string

  constructor(key: string) {
    super('an object is not the one that it was')
    this.key = key
  }
}

/** These pass, or nothing but waiting helps. */
const passing: readonly FailureCode[] = [...passingFailures, 'tls_refused']

/** What a reader rejects with. `place`: what was asked, where that is not the store. */
export function readerError(error: unknown, place?: string): unknown {
  if (error instanceof Changed) return objectChanged(error.key, 'read')
  if (error instanceof ProbeFailure && passing.includes(error.code)) return new NotConnected(place, error)
  const isAborted = error instanceof Error && error.name === 'AbortError'
  return isAborted ? new NotConnected(place) : error
}
