// A stopwatch for time limits in tests: it does not count the time in which other processes have the processor.
import { performance } from 'node:perf_hooks'

/** Returns milliseconds since the start: processor time of this thread, and time in which it waits for events. */
export function startStopwatch(): () => number {
  const processorTime = process.threadCpuUsage()
  const loop = performance.eventLoopUtilization()
  return () => {
    const { user, system } = process.threadCpuUsage(processorTime)
    return (user + system) / 1_000 + performance.eventLoopUtilization(loop).idle
  }
}
