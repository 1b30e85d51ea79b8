// What the worker of a postgres pipe keeps of its tables: how each is filled and how far its load has come.
import type { FoundColumn } from '../../sources/postgres/postgres-columns.ts'
import type { CounterChanges } from '../worker.ts'

export interface TableRange {
  number: number
  /** What the loader needs to read it again; opaque to the store. */
  range: string
}

/** A column of the source that is replicated. Without `source`, an older version has stored it. */
export interface StoredColumn {
  name: string
  /** Stays the same when the column is renamed. */
  number: number
  /** The engine's. */
  type: string
  source?: Pick<FoundColumn, 'typeId' | 'modifier' | 'revision' | 'labels'>
}

/** What else must stay as it is for the copy to match the source. */
export interface StoredShape {
  /** As `files` of FoundTable. */
  files: string
  lastColumnNumber: number
  /** Of the copy. */
  sortingKey: string[]
}

export interface StoredTable {
  /** Where the rows go: the target of the mapping, or the shadow that is to take its place. Unique in the pipe. */
  targetTable: string
  sourceSchemaName: string
  sourceTable: string
  /** Of the source, which may give the name to another table; null where it is not known. */
  sourceId: string | null
  /** Which changes the log of the source has, as of when it was loaded; null where it is not known, or nothing is followed. */
  coverage: string | null
  /** Of a shadow: the table whose place it takes. */
  replaces: string | null
  /** Says which mapping it was made by; another one needs another load. */
  mappingDigest: string
  /** In the tokens of its inserts: every load has its own. */
  loadId: string
  /** The request to load everything again that it was made for: with another one it is loaded anew. */
  reloadRequestedAt: string | null
  /** Changes committed before it are in the load; null until that is known. Text as PostgreSQL writes it. */
  beginLsn: string | null
  phase: 'snapshot' | 'following' | 'swapping'
  /** Of the source, as of the last change of its shape. */
  columns: StoredColumn[]
  /** Null where an older version has stored it. */
  shape: StoredShape | null
  /** Rows with a smaller version were truncated at the source; decimal text. */
  truncatedVersion: string | null
  rowsEstimated: number | null
  rowsLoaded: number
  /** Null until the load is planned. */
  rangeCount: number | null
  rangesDone: number
  loadStartedAt: string | null
  loadEndedAt: string | null
}

/** Everything that writes rejects with LeaseLost when another has the place of the worker. */
export interface TableStore {
  listTables(): Promise<StoredTable[]>
  /** The names of other pipes of the service that fill a table of this name, with the databases that they fill. */
  listRivals(table: string): Promise<{ name: string; database: string }[]>
  /** When everything was last asked to be loaded again. */
  findReloadRequest(): Promise<string | null>
  /** Everything is to be loaded again but the tables that are named, which get what comes from now on. */
  requestReload(kept: string[]): Promise<void>
  /**
   * Adds it or replaces what was kept of it; the ranges stay. So does, with the same `loadId`, what `planLoad` and `finishRange`
   * have counted: whoever changes the shape of a table meanwhile need not know it.
   */
  saveTable(table: StoredTable): Promise<void>
  /** With its ranges. */
  removeTable(targetTable: string): Promise<void>
  /** In place of the ranges that there are; counts begin anew, and so does the time of the load. The table must be there. */
  planLoad(targetTable: string, plan: { ranges: TableRange[]; rowsEstimated: number | null }): Promise<void>
  /** Those that are not done, in order. */
  listRanges(targetTable: string): Promise<TableRange[]>
  /** The engine has it: counts rows, and figures as `finish` of WorkerStore does. */
  finishRange(targetTable: string, change: { number: number; rows: number; figures: CounterChanges }): Promise<void>
  /** In one transaction: the shadow is now the table of the mapping, and what was kept of the one before is gone. */
  finishSwap(shadowTable: string): Promise<void>
}
