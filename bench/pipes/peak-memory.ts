// The most memory that a process has had resident. What Node itself tells of it is inherited from the process that started it.
import { readFileSync, writeFileSync } from 'node:fs'

export function peakMegabytes(pid: number): number {
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1_024
}

/** From now on only what comes counts. */
export function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
}
