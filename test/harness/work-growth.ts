// Checks that work grows linearly with the input. Measures from small sizes upwards, so that quadratic or exponential work is
// found long before it would stall the test.
import assert from 'node:assert/strict'

/** Four times the input: linear work takes 4 times as long, quadratic work 16 times. */
const step = 4
const mostGrowth = 9
/** Resolution of the CPU time. */
const tickMs = 4
/** Below this, a few ticks decide. */
const noticeableMs = 20
const attempts = 4

/** Fails if work on four times the input takes more than nine times the CPU time of this thread. */
export async function assertLinearWork(
  name: string,
  work: (size: number) => unknown,
  { fromSize = 64, toSize }: { fromSize?: number; toSize: number },
): Promise<void> {
  let beforeMs = await shortestMs(work, fromSize)
  for (let size = fromSize * step; size <= toSize; size *= step) {
    let tookMs = await shortestMs(work, size)
    const isTooLong = (): boolean => tookMs > noticeableMs && tookMs > Math.max(beforeMs, tickMs) * mostGrowth
    // A garbage collection may have been included.
    for (let attempt = 1; isTooLong() && attempt < attempts; attempt++) {
      beforeMs = await shortestMs(work, size / step)
      tookMs = Math.min(tookMs, await shortestMs(work, size))
    }
    const growth = `${beforeMs.toFixed(1)} ms for ${size / step}, ${tookMs.toFixed(1)} ms for ${size}`
    assert.ok(!isTooLong(), `${name} takes ${growth}: more than linear`)
    beforeMs = tookMs
  }
}

async function shortestMs(work: (size: number) => unknown, size: number): Promise<number> {
  let shortest = Number.POSITIVE_INFINITY
  for (let run = 0; run < 3; run++) {
    const before = process.threadCpuUsage()
    await work(size)
    const { user, system } = process.threadCpuUsage(before)
    shortest = Math.min(shortest, (user + system) / 1_000)
    // One measurement suffices if it is short or long.
    if (shortest < 1 || shortest > 1_000) break
  }
  return shortest
}
