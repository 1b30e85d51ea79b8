// Reads the objects of a store one after the other, in the order of their keys. All of them are one partition; a position is the
// last object that was given, with its etag: an object that was replaced meanwhile gives another position. Objects whose keys
// come before the position are never given: what is added to a continuous source must come later in the order.
import { setTimeout as wait } from 'node:timers/promises'
import {
  type Batch,
  EndOfInput,
  type FailureCode,
  NotConnected,
  type Positions,
  ProbeFailure,
  type ReadLimits,
  type SourceReader,
} from '../source.ts'
import { listMatching } from './object-listing.ts'
import type { ObjectPattern } from './object-pattern.ts'
import { objectChanged } from './object-sample.ts'
import { compareKeys, ObjectChanged, type ObjectStore, type StoredObject } from './object-store.ts'

const partition = 'objects'

export interface ObjectReading {
  store: ObjectStore
  pattern: ObjectPattern
  isContinuous: boolean
  positions: Positions
  /** Of the whole reader. */
  signal: AbortSignal
}

export function makeObjectReader({ store, pattern, isContinuous, positions, signal }: ObjectReading): SourceReader {
  let position = positions[partition] ?? ''
  let after = keyOf(position)
  const listed: StoredObject[] = []
  let isAtEnd = false
  const closing = new AbortController()

  /** The next object; undefined when there is none for now. */
  const findNext = async (limit: AbortSignal): Promise<StoredObject | undefined> => {
    while (listed.length === 0 && !isAtEnd) {
      const page = await listMatching(store, pattern, after, limit)
      assertOrder(page.matches, after)
      if (!page.isLast && page.last === after) throw outOfOrder()
      listed.push(...page.matches)
      after = page.last
      isAtEnd = page.isLast
    }
    return listed.shift()
  }

  return {
    /** One object: a partition gives one batch, and whatever the limits are, a single one may exceed them. */
    async read({ waitMs, signal: ofRead }: ReadLimits): Promise<Batch[]> {
      const limit = AbortSignal.any([signal, ofRead, closing.signal])
      try {
        limit.throwIfAborted()
        let object = await findNext(limit)
        if (!object && isContinuous) {
          // Stores count every list: they are asked once in the time that the caller gives.
          await wait(waitMs, undefined, { signal: limit })
          isAtEnd = false
          // Not behind what was listed and left out: what comes now may stand before that.
          after = keyOf(position)
          object = await findNext(limit)
        }
        if (!object && !isContinuous) throw new EndOfInput()
        if (!object) return []
        const from = position
        position = positionOf(object)
        return [batchOf(object, from, position, store)]
      } catch (error) {
        throw limit.aborted ? new NotConnected() : readerError(error)
      }
    },
    acknowledge: async () => undefined,
    async close() {
      closing.abort()
      store.close()
    },
  }
}

function positionOf({ key, etag }: StoredObject): string {
  return `${encodeURIComponent(etag)} ${key}`
}

function keyOf(position: string): string | undefined {
  return position === '' ? undefined : position.slice(position.indexOf(' ') + 1)
}

function batchOf(object: StoredObject, from: string, next: string, store: ObjectStore): Batch {
  const { key, sizeBytes } = object
  const open = async (signal: AbortSignal) => {
    try {
      return await store.open(object, signal)
    } catch (error) {
      throw error instanceof ObjectChanged ? objectChanged(key, 'read') : readerError(error)
    }
  }
  return { partition, from, next, object: { key, sizeBytes, open } }
}

/** Going on from a key needs the order that all keys have. */
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

/** These pass, or nothing but waiting helps. */
const passing: FailureCode[] = [
  'host_unknown',
  'connection_refused',
  'host_unreachable',
  'timed_out',
  'tls_refused',
  'protocol_mismatch',
  'source_failed',
]

function readerError(error: unknown): unknown {
  const isPassing = error instanceof ProbeFailure && passing.includes(error.code)
  const isAborted = error instanceof Error && error.name === 'AbortError'
  return isPassing || isAborted ? new NotConnected() : error
}
