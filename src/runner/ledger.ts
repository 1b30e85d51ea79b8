// The deliveries of a worker in the order in which they were made. Positions move in that order: what is done before its
// predecessors waits for them, marked as done.

import { addCounters, zeroCounters } from './counters.ts'
import type { DeliveryRange, NewDelivery, StoredPosition } from './delivery.ts'
import type { CounterChanges, WorkerStore } from './worker.ts'

export interface Entry extends Omit<NewDelivery, 'id'> {
  /** Undefined when there is nothing to send, only a position that moves. */
  id: string | undefined
  isDone: boolean
}

export interface Ledger {
  add(id: string | undefined, ranges: DeliveryRange[], shape?: string): Entry
  /** Records it, after all that were added before it: when one is recorded, none before it can be missing. */
  begin(entry: Entry): Promise<void>
  /** The engine has it. Resolves when that is durable here. */
  finish(entry: Entry, figures: CounterChanges): Promise<void>
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
  let figures: CounterChanges = zeroCounters
  // One write at a time: one that is overtaken would take the positions back.
  let lastWrite: Promise<void> = Promise.resolve()
  let lastBegin: Promise<void> = Promise.resolve()

  const write = async (entry: Entry): Promise<void> => {
    // An earlier write may have taken it along.
    if (!entries.includes(entry)) return
    const firstOpen = entries.findIndex(({ isDone }) => !isDone)
    const settled = entries.splice(0, firstOpen < 0 ? entries.length : firstOpen)
    const behind = idsOf(settled)
    const done = settled.includes(entry) ? [] : idsOf([entry])
    const positions = positionsAfter(settled.flatMap(({ ranges }) => ranges))
    if (behind.length + done.length + positions.length === 0) return
    const written = figures
    figures = zeroCounters
    await store.finish({ done, behind, positions, figures: written })
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
      figures = addCounters(figures, changes)
      lastWrite = lastWrite.then(() => write(entry))
      return lastWrite
    },
  }
}

function idsOf(entries: Entry[]): string[] {
  return entries.flatMap(({ id }) => (id === undefined ? [] : [id]))
}

/** How far each partition is when all of these are durable. */
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
