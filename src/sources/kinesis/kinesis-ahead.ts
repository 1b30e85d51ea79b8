// Pages are read ahead: while what was given is on its way into the engine, the next pages arrive. A page may have 10 MB: a shard has one
// at the most, under way or waiting, and so have only some shards at a time.
import { setTimeout as wait } from 'node:timers/promises'
import type { ReadShard } from './kinesis-shards.ts'

const pagesAtOnce = 8

export interface ReadAhead {
  /** Of shards that have nothing waiting, as soon as they may be asked; those that are due for the longest time come first. */
  begin(limit: number): void
  /** Whether each shard that may be polled has answered since, or failed to. */
  isAnsweredSince(atMs: number): boolean
  /** What has failed since the last time. */
  takeFailure(): { reason: unknown } | undefined
}

export interface ReadAheadParts {
  /** Those that may be polled. */
  polled(): ReadShard[]
  fetch(shard: ReadShard, limit: number): Promise<void>
  /** Called after each page, and after each failure. */
  arrived(): void
  signal: AbortSignal
}

export function makeReadAhead({ polled, fetch, arrived, signal }: ReadAheadParts): ReadAhead {
  const underWay = new Set<ReadShard>()
  const answeredAtMs = new WeakMap<ReadShard, number>()
  let failure: { reason: unknown } | undefined

  const run = async (shard: ReadShard, limit: number): Promise<void> => {
    underWay.add(shard)
    try {
      const pauseMs = Math.ceil(shard.dueAtMs - performance.now())
      if (pauseMs > 0) await wait(pauseMs, undefined, { signal })
      await fetch(shard, limit)
    } catch (reason) {
      failure = { reason }
    } finally {
      underWay.delete(shard)
      answeredAtMs.set(shard, performance.now())
      arrived()
    }
  }

  return {
    begin(limit) {
      const idle = polled().filter((shard) => !underWay.has(shard))
      const drained = idle.filter(({ waiting }) => waiting.length === 0)
      const room = Math.max(0, pagesAtOnce - underWay.size - (idle.length - drained.length))
      for (const shard of drained.toSorted((a, b) => a.dueAtMs - b.dueAtMs).slice(0, room)) void run(shard, limit)
    },
    isAnsweredSince: (atMs) => polled().every((shard) => (answeredAtMs.get(shard) ?? -1) >= atMs),
    takeFailure() {
      const taken = failure
      failure = undefined
      return taken
    },
  }
}
