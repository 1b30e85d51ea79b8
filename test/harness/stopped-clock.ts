// Stops the monotonic clock of this process for one test: throttles recover with time, and machines are slow.
import type { TestContext } from 'node:test'

export function stopClock(t: TestContext): { advance(ms: number): void } {
  // An integer: sums of fractions are not exact.
  let nowMs = Math.ceil(performance.now())
  t.mock.method(performance, 'now', () => nowMs)
  return {
    advance: (ms) => {
      nowMs += ms
    },
  }
}
