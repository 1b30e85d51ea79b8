// Counters of a worker, accumulated until they are written together with the positions.
import type { CounterChanges } from '../progress/pipe-counters.ts'

export const zeroCounters: Readonly<CounterChanges> = {
  rowsRead: 0,
  bytesRead: 0,
  rowsWritten: 0,
  bytesWritten: 0,
  rowsRefused: 0,
  rowsReplayed: 0,
  inserts: 0,
  retries: 0,
}

export function addCounters(one: CounterChanges, other: Partial<CounterChanges>): CounterChanges {
  return {
    rowsRead: one.rowsRead + (other.rowsRead ?? 0),
    bytesRead: one.bytesRead + (other.bytesRead ?? 0),
    rowsWritten: one.rowsWritten + (other.rowsWritten ?? 0),
    bytesWritten: one.bytesWritten + (other.bytesWritten ?? 0),
    rowsRefused: one.rowsRefused + (other.rowsRefused ?? 0),
    rowsReplayed: one.rowsReplayed + (other.rowsReplayed ?? 0),
    inserts: one.inserts + (other.inserts ?? 0),
    retries: one.retries + (other.retries ?? 0),
  }
}
