// Keeps the deliveries of a worker in order. Positions move in that order: a delivery that finishes before its predecessors is
// marked as done and waits for them.

import type { DeliveryRange, NewDelivery, StoredPosition } from '../progress/delivery.ts'
import type { CounterChanges } from '../progress/pipe-counters.ts'
import { addCounters, zeroCounters } from './counters.ts'
import type { WorkerStore } from './worker.ts'

export interface Entry extends Omit<NewDelivery, 'id'> {
  /** Undefined when there are no rows and only the position moves. */
  id: string | undefined
  isDone: boolean
}

export interface Ledger {
  add(id: string | undefined, ranges: DeliveryRange[], shape?: string): Entry
  /** Records it after its predecessors, so that records never have gaps. */
  begin(entry: Entry): Promise<void>
  /** Call when the engine has stored it. Resolves when that is recorded in the database. */
  finish(entry: Entry, counters: CounterChanges): Promise<void>
}

export interface LedgerParts {
  store: Pick<WorkerStore, 'begin' | 'finish'>
  firstNumber: number
  /** Called after positions have become durable. */
  moved(positions: StoredPosition[]): void
}

export function makeLedger({ store, firstNumber, moved }: LedgerParts): Ledger {
  const entries: Entry[] = []
  let nextNumber = firstNumber
  let counters: CounterChanges = zeroCounters
  // One write at a time: writes out of order would move positions backwards.
  let lastWrite: Promise<void> = Promise.resolve()
  let lastBegin: Promise<void> = Promise.resolve()

  const write = async (entry: Entry): Promise<void> => {
    // An earlier write may have included it.
    if (!entries.includes(entry)) return
    const firstOpen = entries.findIndex(({ isDone }) => !isDone)
    const settled = entries.splice(0, firstOpen < 0 ? entries.length : firstOpen)
    const behind = idsOf(settled)
    const done = settled.includes(entry) ? [] : idsOf([entry])
    const positions = positionsAfter(settled.flatMap(({ ranges }) => ranges))
    if (behind.length + done.length + positions.length === 0) return
    const written = counters
    counters = zeroCounters
    await store.finish({ done, behind, positions, counters: written })
    if (positions.length > 0) moved(positions)
  }

  return {
    add(id, ranges, shape) {
      const entry = { id, number: nextNumber++, ranges, shape, isDone: false }
      entries.push(entry)
      return entry
    },
    begin({ id, number, ranges, shape }) {
      if (id !== undefined) lastBegin = lastBegin.then(() => store.begin({ id, number, ranges, shape }))
      return lastBegin
    },
    finish(entry, changes) {
      entry.isDone = true
      counters = addCounters(counters, changes)
      lastWrite = lastWrite.then(() => write(entry))
      return lastWrite
    },
  }
}

function idsOf(entries: Entry[]): string[] {
  return entries.flatMap(({ id }) => (id === undefined ? [] : [id]))
}

/** Position of each partition after these ranges. */
export function positionsAfter(ranges: DeliveryRange[]): StoredPosition[] {
  const positions = new Map<string, StoredPosition>()
  for (const { partition, from, next, endByte } of ranges) {
    const isWhole = endByte === undefined || endByte === null
    positions.set(
      partition,
      isWhole ? { partition, position: next } : { partition, position: from, within: next, offsetBytes: endByte },
    )
  }
  return [...positions.values()]
}
