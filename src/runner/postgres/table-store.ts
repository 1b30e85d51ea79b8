// Interface to the stored state of the tables of a postgres pipe.
import type { CounterChanges } from '../../progress/pipe-counters.ts'
import type { StoredTable, TableRange } from '../../progress/tables/stored-table.ts'

/** Writes reject with LeaseLost when the worker no longer holds the lease. */
export interface TableStore {
  listTables(): Promise<StoredTable[]>
  /** Other pipes of the service that fill a table of this name, with their databases. */
  listRivals(table: string): Promise<{ name: string; database: string }[]>
  /** Time of the last request to reload everything. */
  findReloadRequest(): Promise<string | null>
  /** Requests a reload of all tables except `kept`, which only get the changes from now on. */
  requestReload(kept: string[]): Promise<void>
  /**
   * Inserts or replaces the table. Its ranges stay. With the same `loadId`, so do the counts of `planLoad` and `finishRange`, which
   * a caller that changes the shape does not know.
   */
  saveTable(table: StoredTable): Promise<void>
  /** Removes the table and its ranges. */
  removeTable(targetTable: string): Promise<void>
  /** Replaces the ranges, and resets the counts and the start time of the load. The table must exist. */
  planLoad(targetTable: string, plan: { ranges: TableRange[]; rowsEstimated: number | null }): Promise<void>
  /** Unfinished ranges, in order. */
  listRanges(targetTable: string): Promise<TableRange[]>
  /** Records a durable range: adds its rows, and the counters as `finish` of WorkerStore does. */
  finishRange(targetTable: string, change: { number: number; rows: number; counters: CounterChanges }): Promise<void>
  /** In one transaction: the shadow becomes the table of the mapping, and the old table is removed. */
  finishSwap(shadowTable: string): Promise<void>
}
