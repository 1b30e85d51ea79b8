// Starting takes memory that running does not need. Node would keep it until there is much more to collect.

const waitMs = 1_000
/** Whoever is busy makes garbage anyway, and is not to wait for this: it takes 100 ms. */
const mostUtilization = 0.2

export function giveBackMemoryWhenIdle(): void {
  const begun = performance.eventLoopUtilization()
  setTimeout(() => {
    const { utilization } = performance.eventLoopUtilization(begun)
    if (utilization < mostUtilization) globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  }, waitMs).unref()
}
