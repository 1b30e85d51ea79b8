// Frees the memory that only the start needed, which Node would keep until much more garbage has collected.

const waitMs = 1_000
/** A busy process collects garbage anyway, and must not be blocked for the 100 ms that this takes. */
const mostUtilization = 0.2

export function giveBackMemoryWhenIdle(): void {
  const begun = performance.eventLoopUtilization()
  setTimeout(() => {
    const { utilization } = performance.eventLoopUtilization(begun)
    if (utilization < mostUtilization) globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  }, waitMs).unref()
}
