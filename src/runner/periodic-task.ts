// Periodic background work of a runner beside its pipes, such as cleaning up at sources. Only the first of all runners does it.
import { describeError } from '../lib/describe-error.ts'
import type { Log } from '../lib/log.ts'

export interface PeriodicTask {
  /** Starts the work when it is due and not running. */
  consider(runner: { isFirst: boolean }): void
  /** Aborts the work; the rest is done by a later run. */
  close(): Promise<void>
}

export interface PeriodicTaskParts {
  /** From the end of one run to the start of the next. */
  everyMs: number
  work(signal: AbortSignal): Promise<void>
  /** Log message when it fails. */
  failure: string
  log: Log
}

export function makePeriodicTask({ everyMs, work, failure, log }: PeriodicTaskParts): PeriodicTask {
  const closing = new AbortController()
  let notBeforeMs = 0
  let running: Promise<void> | undefined
  return {
    consider({ isFirst }) {
      if (!isFirst || running || closing.signal.aborted || performance.now() < notBeforeMs) return
      running = work(closing.signal)
        .catch((error: unknown) => {
          if (!closing.signal.aborted) log.warn(failure, { error: describeError(error) })
        })
        .finally(() => {
          notBeforeMs = performance.now() + everyMs
          running = undefined
        })
    },
    async close() {
      closing.abort()
      await running
    },
  }
}

/** Works on at most `limit` items concurrently. Tries all, then throws the first failure. */
export async function eachOf<Item>(
  items: readonly Item[],
  limit: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const waiting = [...items]
  const failures: unknown[] = []
  const workNext = async (): Promise<void> => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) {
      await work(item).catch((error: unknown) => failures.push(error))
    }
  }
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, workNext))
  if (failures.length > 0) throw failures[0]
}
