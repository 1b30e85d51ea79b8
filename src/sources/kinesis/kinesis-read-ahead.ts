// Reads pages ahead while earlier records are inserted. A page can have 10 MB: each shard has at most one in flight or waiting, and
// only a limited number of shards has any.
import { setTimeout as wait } from 'node:timers/promises'
import type { ReadShard } from './kinesis-shards.ts'

const pagesAtOnce = 8

export interface ReadAhead {
  /** Requests pages for shards without waiting records, as soon as their pause is over. The longest due come first. */
  begin(limit: number): void
  /** Whether each polled shard has answered or failed since then. */
  isAnsweredSince(atMs: number): boolean
  /** Returns the last failure and clears it. */
  takeFailure(): { reason: unknown } | undefined
}

export interface ReadAheadParts {
  /** Shards that may be polled. */
  polled(): ReadShard[]
  fetch(shard: ReadShard, limit: number): Promise<void>
  /** Called after each page and each failure. */
  arrived(): void
  signal: AbortSignal
}

export function makeReadAhead({ polled, fetch, arrived, signal }: ReadAheadParts): ReadAhead {
  const inFlight = new Set<ReadShard>()
  const answeredAtMs = new WeakMap<ReadShard, number>()
  let failure: { reason: unknown } | undefined

  const run = async (shard: ReadShard, limit: number): Promise<void> => {
    inFlight.add(shard)
    try {
      const pauseMs = Math.ceil(shard.dueAtMs - performance.now())
      if (pauseMs > 0) await wait(pauseMs, undefined, { signal })
      await fetch(shard, limit)
    } catch (reason) {
      failure = { reason }
    } finally {
      inFlight.delete(shard)
      answeredAtMs.set(shard, performance.now())
      arrived()
    }
  }

  return {
    begin(limit) {
      const idle = polled().filter((shard) => !inFlight.has(shard))
      const empty = idle.filter(({ waiting }) => waiting.length === 0)
      const free = Math.max(0, pagesAtOnce - inFlight.size - (idle.length - empty.length))
      for (const shard of empty.toSorted((a, b) => a.dueAtMs - b.dueAtMs).slice(0, free)) void run(shard, limit)
    },
    isAnsweredSince: (atMs) => polled().every((shard) => (answeredAtMs.get(shard) ?? -1) >= atMs),
    takeFailure() {
      const taken = failure
      failure = undefined
      return taken
    },
  }
}
