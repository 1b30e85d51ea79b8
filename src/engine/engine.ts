// Interface to the engine: prepares a table and inserts batches, each exactly once where the table has a deduplication window or a
// marker column. ClickHouse is the first engine; only this folder knows its protocol.
import type { Readable } from 'node:stream'

export interface EngineColumn {
  name: string
  type: string
}

/** The destination table. `definition` only for a table that Penstock creates and extends. */
export interface EngineTable {
  database: string
  table: string
  columns: EngineColumn[]
  /** The table whose error table gets rejected rows, when it is not this one. */
  errorsFor?: string
  definition?: {
    engine: {
      type: 'MergeTree' | 'ReplacingMergeTree' | 'SummingMergeTree' | 'Null'
      columnIds?: string[]
      versionColumnId?: string
    }
    partitionBy?: string
    primaryKey?: string
    sortingKey?: string[]
  }
}

/** Pipe settings that are passed to ClickHouse (docs/reference/pipe-fields.md), by their names in a pipe. */
export interface PipeEngineSettings {
  engine_max_threads: number
  engine_max_insert_threads: number
  engine_max_download_threads: number
  engine_min_insert_block_size_bytes: number
  engine_parallel_distributed_insert_select: number
  engine_parallel_view_processing: boolean
}

export type InsertFormat = 'JSONEachRow' | 'CSV' | 'TabSeparated' | 'Parquet' | 'Avro'

/** One batch to insert. The same token always stands for the same rows, unless `identity` is `none`. */
export interface Insert {
  /** At most 100 characters of A-Z a-z 0-9 and `-`. */
  token: string
  format: InsertFormat
  /** For CSV. */
  delimiter?: string
  /** For CSV and TabSeparated: an empty text is a value, not the default of its column. */
  hasEmptyTexts?: boolean
  /** Fields of the body: by position in CSV and TabSeparated, by name in other formats. */
  fields: EngineColumn[]
  /** Which field fills which column; other columns get their defaults. */
  columns: { column: string; field: string }[]
  /** Returns the same bytes at each call; not compressed. */
  body(): Iterable<Uint8Array> | Readable
  /** The batch may have been sent before, by this worker or an earlier one. */
  isRepeat: boolean
  /** Columns that identify a row that was sent before; default: all columns. `none`: the rows may have been different. */
  identity?: readonly string[] | 'none'
  settings: PipeEngineSettings
  /** Resolves when the rows may be sent. Side tables are created before. */
  mayBegin?(signal: AbortSignal): Promise<void>
}

export interface InsertOutcome {
  /** Rows written by this insert, or by an earlier one with its token; undefined when ClickHouse does not report it. */
  rows: number | undefined
  /** Size of the body on the wire. */
  sentBytes: number
}

/** Delivery guarantee after a failure. */
export type Delivery = { delivery: 'exactly_once' } | { delivery: 'at_least_once'; reason: string }

/** A rejected row, with all that is needed to replay it. */
export interface BadRow {
  /** The same for the same row of the same source, so that it is stored once. */
  id: string
  partition: string
  /** Position in the source, for people: `offset 17`, `bytes 0 to 120 of invoices/7.csv`. */
  position: string
  /** The unchanged bytes. */
  raw: Uint8Array
  /** Metadata needed to replay it; opaque to the engine. */
  meta: string
  /** Why it was rejected. ClickHouse's own words are allowed: they are stored only in ClickHouse. */
  reason: string
  /** ISO 8601 with milliseconds. */
  at: string
}

export interface ShownBadRow extends Omit<BadRow, 'raw' | 'meta'> {
  /** The first 10,000 characters. */
  raw: string
  isCut: boolean
}

export interface RejectedNumber {
  number: number
  /** The violated constraint; undefined when ClickHouse cannot read the row. */
  constraint?: { name: string; expression: string }
}

/** Finds rejected rows without storing any. */
export interface ReadCheck {
  /**
   * Lists the rejected rows of a body whose rows are numbered from `first` on, without duplicate numbers. Rows with larger numbers
   * (guard rows) may be among them. Undefined when ClickHouse cannot identify them. Rejects with an EngineError.
   */
  listRejected(body: Uint8Array, range: { first: number; count: number }): Promise<RejectedNumber[] | undefined>
  close(): void
}

/** All methods reject with an EngineError. */
export interface Sink {
  readonly delivery: Delivery
  /** After it resolves, the rows are durable. */
  insert(insert: Insert, signal: AbortSignal): Promise<InsertOutcome>
  /** Tests whether ClickHouse accepts these rows, without storing any: undefined, or its error text. */
  tryOut(insert: Insert, signal: AbortSignal): Promise<string | undefined>
  /** For rows of this shape with a number in the field `numberField`. Undefined when ClickHouse cannot skip rows. */
  openReadCheck(insert: Omit<Insert, 'body'>, numberField: string, signal: AbortSignal): Promise<ReadCheck | undefined>
  /** Stores them in the error table for 7 days; idempotent. */
  keepBadRows(rows: BadRow[], signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

/** A sink whose table was checked, and created if it is managed and did not exist. */
export interface OpenedSink extends Sink {
  readonly isTableNew: boolean
}

/**
 * `data`: ClickHouse rejects these rows. `passing`: try again later. `user`: only the user can fix it. The message is our own sentence
 * for people; `detail` holds ClickHouse's text and is written only to ClickHouse.
 */
export class EngineError extends Error {
  readonly kind: 'data' | 'passing' | 'user'
  readonly detail: string
  /** ClickHouse's error code; 0 when there is no code. */
  readonly code: number

  constructor(kind: EngineError['kind'], message: string, detail = '', code = 0) {
    super(message)
    this.name = 'EngineError'
    this.kind = kind
    this.detail = detail
    this.code = code
  }
}

/** Authentication failed, or the connection is forbidden: nothing that needs the engine works. */
export class EngineAccessError extends EngineError {
  constructor(message: string, detail = '', code = 0) {
    super('user', message, detail, code)
  }
}

/** Whether the engine could not be used at all, whatever the request was. */
export function isEngineUnusable(error: unknown): boolean {
  return error instanceof EngineError && (error.kind === 'passing' || error instanceof EngineAccessError)
}
