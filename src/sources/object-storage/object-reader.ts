// Reads the objects of a store in the order of their keys. A position is the last object that was returned. Objects with keys
// before the position are never read: objects that are added to a continuous source must sort after it.

import { setTimeout as wait } from 'node:timers/promises'
import { type FailureCode, NotConnected, ProbeFailure, transientFailures } from '../../source-shapes/source-failure.ts'
import {
  type Batch,
  EndOfInput,
  type Positions,
  type ReadLimits,
  type Selection,
  type SourceReader,
} from '../source.ts'
import { assignmentOf, keyOf, positionOf } from './object-assignment.ts'
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
    /** At most one object, because a partition returns one batch per read. It may exceed the limits. */
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
  const { assignment = { index: 0, count: 1 } } = selection
  const queue = makeObjectQueue({ store, pattern, positions, assignment, until: undefined })
  return {
    async next(waitMs, signal) {
      const batch = await takeFrom(queue, store, signal)
      if (batch) return [batch]
      if (!isContinuous) throw new EndOfInput()
      // Stores charge for every list: list once per `waitMs`.
      await wait(waitMs, undefined, { signal })
      queue.lookAgain()
      const came = await takeFrom(queue, store, signal)
      return came ? [came] : []
    },
    lag: () => queue.waitingCount(),
  }
}

/** Reads one partition after the other. They may be of any number of readers. */
function makeBoundedRead({ store, pattern, positions }: ObjectReading, until: Positions): Read {
  const queues = Object.entries(until).map(([partition, last]) => {
    const assignment = assignmentOf(partition)
    if (!assignment) throw new Error('not a partition of objects')
    return { last, queue: makeObjectQueue({ store, pattern, positions, assignment, until: last }) }
  })
  return {
    async next(_waitMs, signal) {
      const unfinished = queues.find(({ queue }) => !queue.isFinished())
      if (!unfinished) throw new EndOfInput()
      const { queue, last } = unfinished
      const batch = await takeFrom(queue, store, signal)
      const lastKey = keyOf(last) ?? ''
      // The last object must be found unchanged. Otherwise the range has other content than before.
      const isBeyond = !batch?.object || compareKeys(batch.object.key, lastKey) > 0
      if (isBeyond || (batch.object?.key === lastKey && batch.next !== last)) throw new Changed(lastKey)
      return [batch]
    },
    lag: () => undefined,
  }
}

/** A read that finds a changed object rejects; the next one continues after it. */
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

/** The object of a batch. */
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

/** An object that was returned before has been deleted or replaced. */
export class Changed extends Error {
  readonly key: string

  constructor(key: string) {
    super('an object is not the one that it was')
    this.key = key
  }
}

/** These are retried. */
const transient: readonly FailureCode[] = [...transientFailures, 'tls_refused']

/** The error that a reader rejects with. `unreachable`: what was asked, if it is not the store. */
export function readerError(error: unknown, unreachable?: string): unknown {
  if (error instanceof Changed) return objectChanged(error.key, 'read')
  if (error instanceof ProbeFailure && transient.includes(error.code)) return new NotConnected(unreachable, error)
  const isAborted = error instanceof Error && error.name === 'AbortError'
  return isAborted ? new NotConnected(unreachable) : error
}
