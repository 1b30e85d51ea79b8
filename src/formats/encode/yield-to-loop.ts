// Long work gives way to others now and then: the API may be served by the same thread.
import { setImmediate as nextTurn } from 'node:timers/promises'

const longestTurnMs = 20

/** To be called often: undefined when there is no need to rest yet. Rejects with the reason of the signal. */
export type YieldToLoop = () => Promise<void> | undefined

export function makeYieldToLoop(signal: AbortSignal): YieldToLoop {
  let restedAtMs = performance.now()
  const rest = async (): Promise<void> => {
    await nextTurn()
    signal.throwIfAborted()
    restedAtMs = performance.now()
  }
  return () => (performance.now() - restedAtMs < longestTurnMs ? undefined : rest())
}
