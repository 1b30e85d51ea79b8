// Yields to the event loop during long work: the same thread may serve the API.
import { setImmediate as nextTurn } from 'node:timers/promises'

const yieldEveryMs = 20

/** Call it often: returns undefined while no yield is due. Rejects with the abort reason of the signal. */
export type YieldToLoop = () => Promise<void> | undefined

export function makeYieldToLoop(signal: AbortSignal): YieldToLoop {
  let yieldedAtMs = performance.now()
  const yieldNow = async (): Promise<void> => {
    await nextTurn()
    signal.throwIfAborted()
    yieldedAtMs = performance.now()
  }
  return () => (performance.now() - yieldedAtMs < yieldEveryMs ? undefined : yieldNow())
}
