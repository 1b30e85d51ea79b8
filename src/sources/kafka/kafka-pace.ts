// Long work on what brokers sent, in short pieces: between them everyone else has a turn, and the work can be ended.
import { setImmediate as nextTurn } from 'node:timers/promises'

/** Called after each small step; waits when it is time for others. */
export interface Pace {
  /** Whether others have waited long enough; asked first, because waiting for nothing takes longer than most steps. */
  isDue(): boolean
  rest(): Promise<void>
}

const longestPieceMs = 20

export function makePace(): Pace {
  let restedAtMs = performance.now()
  return {
    isDue: () => performance.now() - restedAtMs > longestPieceMs,
    async rest() {
      await nextTurn()
      restedAtMs = performance.now()
    },
  }
}

/** Does all works, no more than some at once and in their order. */
export function makeTurnstile(mostAtOnce: number): <Result>(work: () => Promise<Result>) => Promise<Result> {
  let busyCount = 0
  const waiting: (() => void)[] = []
  return async (work) => {
    if (busyCount < mostAtOnce) busyCount++
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await work()
    } finally {
      // Whoever is next takes over the place.
      const next = waiting.shift()
      if (next) next()
      else busyCount--
    }
  }
}
