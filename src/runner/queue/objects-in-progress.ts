// Objects that a worker has claimed and not finished. Each is loaded once, however often the queue delivers its message. An object
// that cannot be loaded is retried with back-off and finally given up, without blocking the others.

import { begun } from '../../sources/object-storage/queued-objects.ts'
import { finishedPosition } from '../../sources/source.ts'
import { type BackOff, makeBackOff } from '../back-off.ts'
import type { ObjectLoader } from '../object-loader.ts'
import type { FoundObject } from '../rebuild-objects.ts'
import type { Session } from '../session.ts'
import { type GivenUp, objectGivenUp } from './given-up.ts'
import { findObjectFailure, maxObjectAttempts, type ObjectAttempts } from './object-failure.ts'
import { readAhead } from './read-ahead.ts'

export interface PendingObject {
  partition: string
  /** The bytes before it are durable. */
  beginByte: number
  find(): Promise<FoundObject>
}

export interface ObjectsInProgress {
  /** Ignores an object that is in progress already. */
  add(object: PendingObject): void
  has(partition: string): boolean
  /** Called when the whole object is durable. */
  finish(partition: string): void
  /** Loads the objects that are due, one after the other. */
  loadDue(): Promise<void>
  /** Objects that wait for a retry. */
  readonly waitingCount: number
  /** Time until the next object is due; Infinity when none waits. */
  dueInMs(): number
}

export interface ObjectsInProgressParts {
  loader: ObjectLoader
  /** Shared by all sessions of the worker. */
  attempts: ObjectAttempts
  /** Waits for inserts of the object that are in flight. */
  giveUp(givenUp: GivenUp): Promise<void>
  reportLoad(key: string, beginByte: number): void
}

interface InProgress extends PendingObject {
  backOff: BackOff
  dueAtMs: number
}

export function makeObjectsInProgress(
  { signal, stopping, times, countRetry }: Pick<Session, 'signal' | 'stopping' | 'times' | 'countRetry'>,
  { loader, attempts, giveUp, reportLoad }: ObjectsInProgressParts,
): ObjectsInProgress {
  const partitions = new Set<string>()
  let waiting: InProgress[] = []

  const load = async (one: InProgress, find: () => Promise<FoundObject>): Promise<void> => {
    const { partition } = one
    let isTaken = false
    try {
      const object = await find()
      reportLoad(object.key, one.beginByte)
      const taken = (endByte: number | null): void => {
        if (endByte === null) isTaken = true
        else one.beginByte = endByte
      }
      const range = { partition, from: begun, next: finishedPosition }
      await loader.load({ ...range, object, beginByte: one.beginByte, taken })
    } catch (error) {
      const trouble = findObjectFailure(error)
      if (trouble === undefined) throw error
      if (!isTaken && !stopping.aborted) await retryLater(one, trouble)
    }
  }

  const retryLater = async (one: InProgress, trouble: string): Promise<void> => {
    const { partition } = one
    const tried = (attempts.get(partition) ?? 0) + 1
    attempts.set(partition, tried)
    if (tried >= maxObjectAttempts) {
      const whatIsThere = one.beginByte > 0 ? 'a part of it is in the table' : 'nothing of it is in the table'
      return giveUp(objectGivenUp(partition, trouble, whatIsThere))
    }
    countRetry()
    one.dueAtMs = performance.now() + one.backOff.nextMs()
    waiting.push(one)
  }

  return {
    add(object) {
      if (partitions.has(object.partition)) return
      partitions.add(object.partition)
      waiting.push({ ...object, backOff: makeBackOff(times.backOff), dueAtMs: Number.NEGATIVE_INFINITY })
    },
    has: (partition) => partitions.has(partition),
    finish(partition) {
      partitions.delete(partition)
      attempts.delete(partition)
    },
    async loadDue() {
      const nowMs = performance.now()
      const due = waiting.filter(({ dueAtMs }) => dueAtMs <= nowMs)
      waiting = waiting.filter(({ dueAtMs }) => dueAtMs > nowMs)
      const objectAt = readAhead(due, signal)
      for (const [index, one] of due.entries()) {
        if (stopping.aborted) return
        await load(one, () => objectAt(index))
      }
    },
    get waitingCount() {
      return waiting.length
    },
    dueInMs: () => Math.min(...waiting.map(({ dueAtMs }) => dueAtMs)) - performance.now(),
  }
}
