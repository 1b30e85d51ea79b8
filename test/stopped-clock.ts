// The monotonic clock of this process, stopped for one test: throttles forgive with the time, and machines are slow.
import type { TestContext } from 'node:test'

export function stopClock(t: TestContext): { advance(ms: number): void } {
  // Without a fraction: sums of fractions are not exact.
  let nowMs = Math.ceil(performance.now())
  t.mock.method(performance, 'now', () => nowMs)
  return {
    advance: (ms) => {
      nowMs += ms
    },
  }
}
