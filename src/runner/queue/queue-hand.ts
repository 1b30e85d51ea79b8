// The objects that a worker has in hand: claimed, and not finished. Each is loaded once, however often it is told of; one that
// cannot be loaded is put aside for a while and given up in the end, and the others go on.

import { begun } from '../../sources/object-storage/queued-objects.ts'
import { finishedPosition } from '../../sources/source.ts'
import { type BackOff, makeBackOff } from '../back-off.ts'
import type { ObjectLoader } from '../object-loader.ts'
import type { FoundObject } from '../rebuild-objects.ts'
import type { Session } from '../session.ts'
import { type GivenUp, objectGivenUp } from './given-up.ts'
import { findTrouble, mostTries, type Tries } from './object-trouble.ts'
import { readAhead } from './read-ahead.ts'

export interface ObjectToHave {
  partition: string
  /** What is before it is durable. */
  beginByte: number
  find(): Promise<FoundObject>
}

export interface QueueHand {
  /** Does nothing with one that is in hand already. */
  add(object: ObjectToHave): void
  has(partition: string): boolean
  /** All of it is durable. */
  finish(partition: string): void
  /** Loads what is due, one after the other. */
  loadDue(): Promise<void>
  /** How many are put aside. */
  readonly asideCount: number
  /** Until the next one is due; Infinity when none waits. */
  dueInMs(): number
}

export interface HandParts {
  loader: ObjectLoader
  /** Outlives the session. */
  tries: Tries
  /** Waits for what is under way of it. */
  giveUp(givenUp: GivenUp): Promise<void>
  told(key: string, beginByte: number): void
}

interface InHand extends ObjectToHave {
  backOff: BackOff
  dueAtMs: number
}

export function makeQueueHand(
  { signal, stopping, times, countRetry }: Pick<Session, 'signal' | 'stopping' | 'times' | 'countRetry'>,
  { loader, tries, giveUp, told }: HandParts,
): QueueHand {
  const partitions = new Set<string>()
  let waiting: InHand[] = []

  const load = async (one: InHand, find: () => Promise<FoundObject>): Promise<void> => {
    const { partition } = one
    let isTaken = false
    try {
      const object = await find()
      told(object.key, one.beginByte)
      const taken = (endByte: number | null): void => {
        if (endByte === null) isTaken = true
        else one.beginByte = endByte
      }
      const range = { partition, from: begun, next: finishedPosition }
      await loader.load({ ...range, object, beginByte: one.beginByte, taken })
    } catch (error) {
      const trouble = findTrouble(error)
      if (trouble === undefined) throw error
      if (!isTaken && !stopping.aborted) await putAside(one, trouble)
    }
  }

  const putAside = async (one: InHand, trouble: string): Promise<void> => {
    const { partition } = one
    const tried = (tries.get(partition) ?? 0) + 1
    tries.set(partition, tried)
    if (tried >= mostTries) {
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
      tries.delete(partition)
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
    get asideCount() {
      return waiting.length
    },
    dueInMs: () => Math.min(...waiting.map(({ dueAtMs }) => dueAtMs)) - performance.now(),
  }
}
