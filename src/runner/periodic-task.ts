// What a runner does from time to time beside running pipes, such as looking after what they have at their sources. Of all runners
// that there are, the first one does it.
import { describeError } from '../lib/describe-error.ts'
import type { Log } from '../lib/log.ts'

export interface PeriodicTask {
  /** Begins it when it is due, unless it is under way. */
  consider(runner: { isFirst: boolean }): void
  /** Breaks it off; what is not done is due again later. */
  close(): Promise<void>
}

export interface PeriodicTaskParts {
  /** From its end to the next time. */
  everyMs: number
  work(signal: AbortSignal): Promise<void>
  /** What the log says when it could not be done. */
  failure: string
  log: Log
}

export function makePeriodicTask({ everyMs, work, failure, log }: PeriodicTaskParts): PeriodicTask {
  const closing = new AbortController()
  let notBeforeMs = 0
  let underWay: Promise<void> | undefined
  return {
    consider({ isFirst }) {
      if (!isFirst || underWay || closing.signal.aborted || performance.now() < notBeforeMs) return
      underWay = work(closing.signal)
        .catch((error: unknown) => {
          if (!closing.signal.aborted) log.warn(failure, { error: describeError(error) })
        })
        .finally(() => {
          notBeforeMs = performance.now() + everyMs
          underWay = undefined
        })
    },
    async close() {
      closing.abort()
      await underWay
    },
  }
}

/** At most `limit` at the same time. All are tried; what failed first is thrown in the end. */
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
