// Exponential back-off with full jitter, so that workers that fail at the same time do not retry at the same time.
import { setTimeout as sleep } from 'node:timers/promises'

export interface BackOffTimes {
  firstMs: number
  longestMs: number
}

export const usualBackOff: BackOffTimes = { firstMs: 500, longestMs: 30_000 }

export interface BackOff {
  /** Delay before the next attempt; each call doubles its upper bound. */
  nextMs(): number
  /** Call after a success: the next failure starts with the shortest delay. */
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

/** Resolves early, without an error, when the signal is aborted. */
export async function pause(waitMs: number, signal: AbortSignal): Promise<void> {
  await sleep(waitMs, undefined, { signal }).catch(() => undefined)
}
