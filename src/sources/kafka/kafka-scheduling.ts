// Yields to the event loop during long work on responses, and limits concurrent calls.
import { setImmediate as nextLoopIteration } from 'node:timers/promises'

/** Called after each small step. */
export interface YieldTimer {
  /** Whether to yield now. Checked first, because yielding takes longer than most steps. */
  isDue(): boolean
  yieldToLoop(): Promise<void>
}

const longestBusyMs = 20

export function makeYieldTimer(): YieldTimer {
  let yieldedAtMs = performance.now()
  return {
    isDue: () => performance.now() - yieldedAtMs > longestBusyMs,
    async yieldToLoop() {
      await nextLoopIteration()
      yieldedAtMs = performance.now()
    },
  }
}

/** Runs tasks in their order, at most `mostAtOnce` at a time. */
export function limitConcurrency(mostAtOnce: number): <Result>(task: () => Promise<Result>) => Promise<Result> {
  let busyCount = 0
  const waiting: (() => void)[] = []
  return async (task) => {
    if (busyCount < mostAtOnce) busyCount++
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await task()
    } finally {
      // The next task takes over this one's permit.
      const next = waiting.shift()
      if (next) next()
      else busyCount--
    }
  }
}
