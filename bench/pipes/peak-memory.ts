// Peak resident memory of a process from /proc: the value that Node reports is inherited from the parent process.
import { readFileSync, writeFileSync } from 'node:fs'

export function peakMegabytes(pid: number): number {
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1_024
}

/** Resets the peak. */
export function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
}
