// Stored state of a table of a postgres pipe: source, columns and load progress.
import type { FoundColumn } from '../../sources/postgres/postgres-columns.ts'

export interface TableRange {
  number: number
  /** Definition for the loader; opaque to the store. */
  range: string
}

/** A replicated column of the source. An older version stored it without `source`. */
export interface StoredColumn {
  name: string
  /** `attnum`: stays the same when the column is renamed. */
  number: number
  /** ClickHouse type. */
  type: string
  source?: Pick<FoundColumn, 'typeId' | 'modifier' | 'revision' | 'labels'>
}

/** Other properties of the source that must not change for the copy to match. */
export interface StoredShape {
  /** `files` of FoundTable. */
  files: string
  lastColumnNumber: number
  /** Sorting key of the copy. */
  sortingKey: string[]
}

export interface StoredTable {
  /** Table that gets the rows: the target of the mapping, or the shadow that will replace it. Unique in the pipe. */
  targetTable: string
  sourceSchemaName: string
  sourceTable: string
  /** OID of the source table, because another table can get its name; null when not known. */
  sourceId: string | null
  /** Changes that the log of the source has, as of the load; null when not known, or without CDC. */
  coverage: string | null
  /** Of a shadow: the table that it replaces. */
  replaces: string | null
  /** Digest of its mapping; another mapping needs a reload. */
  mappingDigest: string
  /** Unique for each load; part of the deduplication tokens. */
  loadId: string
  /** Reload request that it was loaded for; a newer request reloads it. */
  reloadRequestedAt: string | null
  /** LSN: changes committed before it are in the load; null until it is known. */
  beginLsn: string | null
  phase: 'snapshot' | 'following' | 'swapping'
  /** Of the source, as of its last schema change. */
  columns: StoredColumn[]
  /** Null when an older version stored the table. */
  shape: StoredShape | null
  /** Rows with a smaller version were truncated at the source. Decimal text. */
  truncatedVersion: string | null
  rowsEstimated: number | null
  rowsLoaded: number
  /** Null until the load is planned. */
  rangeCount: number | null
  rangesDone: number
  loadStartedAt: string | null
  loadEndedAt: string | null
}
