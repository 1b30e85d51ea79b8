// Counters of a pipe.
/** Counter changes since the last report; added in the database in the same transaction as the positions. */
export interface CounterChanges {
  rowsRead: number
  bytesRead: number
  rowsWritten: number
  bytesWritten: number
  rowsRefused: number
  /** Rejected rows that a replay has inserted. */
  rowsReplayed: number
  inserts: number
  retries: number
}

/** Counters of a pipe since it was created. */
export interface PipeCounters {
  rowsRead: number
  bytesRead: number
  rowsWritten: number
  bytesWritten: number
  rowsRefused: number
  inserts: number
  retries: number
}
