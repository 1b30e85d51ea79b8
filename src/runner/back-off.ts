// How long to wait before the next attempt: doubling, with full jitter, so that many workers that fail together do not come
// back together.
import { setTimeout as sleep } from 'node:timers/promises'

export interface BackOffTimes {
  firstMs: number
  longestMs: number
}

export const usualBackOff: BackOffTimes = { firstMs: 500, longestMs: 30_000 }

export interface BackOff {
  /** Of the attempt that comes next. */
  nextMs(): number
  /** Something went well: the next failure is the first one again. */
  reset(): void
}

export function makeBackOff({ firstMs, longestMs }: BackOffTimes = usualBackOff): BackOff {
  let boundMs = firstMs
  return {
    nextMs() {
      const waitMs = Math.ceil(Math.random() * boundMs)
      boundMs = Math.min(boundMs * 2, longestMs)
      return waitMs
    },
    reset() {
      boundMs = firstMs
    },
  }
}

/** Ends early, without an error, when the signal is aborted. */
export async function pause(waitMs: number, signal: AbortSignal): Promise<void> {
  await sleep(waitMs, undefined, { signal }).catch(() => undefined)
}
