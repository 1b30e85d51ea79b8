// What the rest of Penstock knows of an engine: a table is made ready, and batches go into it, each exactly once where the
// engine can tell a repeated one. ClickHouse is the first engine; nothing outside this folder knows how it is spoken to.
import type { Readable } from 'node:stream'

export interface EngineColumn {
  name: string
  type: string
}

/** Where rows go. `definition` only of a table that Penstock makes and extends. */
export interface EngineTable {
  database: string
  table: string
  columns: EngineColumn[]
  /** The table beside which refused rows are kept, when it is not this one. */
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

/** The settings of a pipe that are the engine's (docs/pipes.md), by their names in a pipe. */
export interface PipeEngineSettings {
  engine_max_threads: number
  engine_max_insert_threads: number
  engine_max_download_threads: number
  engine_min_insert_block_size_bytes: number
  engine_parallel_distributed_insert_select: number
  engine_parallel_view_processing: boolean
}

export type InsertFormat = 'JSONEachRow' | 'CSV' | 'TabSeparated' | 'Parquet' | 'Avro'

/** One batch on its way into a table. The same token always stands for the same rows, unless it has no `identity`. */
export interface Insert {
  /** At most 100 characters of A-Z a-z 0-9 and `-`. */
  token: string
  format: InsertFormat
  /** Of CSV. */
  delimiter?: string
  /** Of CSV and TabSeparated: a text that is empty is meant so, and not the default of its column. */
  hasEmptyTexts?: boolean
  /** What the body has: in this order in CSV and TabSeparated, by name in the others. */
  fields: EngineColumn[]
  /** Which field fills which column; columns that are not named get their defaults. */
  columns: { column: string; field: string }[]
  /** Gives the same bytes each time it is called; not compressed. */
  body(): Iterable<Uint8Array> | Readable
  /** It may have been sent before: by us, or by one who had the pipe before us. */
  isRepeat: boolean
  /** By what a row is known that was sent before: by all columns, unless told. `none`: the rows may have been others. */
  identity?: readonly string[] | 'none'
  settings: PipeEngineSettings
  /** Resolves when the rows may be sent. What they need in the engine is made before. */
  mayBegin?(signal: AbortSignal): Promise<void>
}

export interface InsertOutcome {
  /** As far as the engine tells: rows that are there now because of this insert, or of an earlier one with its token. */
  rows: number | undefined
  /** As they went over the wire. */
  sentBytes: number
}

/** How sure it is that no row is there twice after a failure. */
export type Delivery = { delivery: 'exactly_once' } | { delivery: 'at_least_once'; reason: string }

/** A row that the engine does not take, with all that is needed to try it again. */
export interface BadRow {
  /** The same for the same row of the same source, so that it is kept once. */
  id: string
  partition: string
  /** Where it stands in the source, for people: `offset 17`, `bytes 0 to 120 of invoices/7.csv`. */
  position: string
  /** As it came. */
  raw: Uint8Array
  /** What else is needed to try it again; opaque to the engine. */
  meta: string
  /** What is wrong with it. The engine's own words are allowed here: they stay in the engine. */
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
  /** The one that the row violates; undefined: the engine cannot read the row. */
  constraint?: { name: string; expression: string }
}

/** Finds rejected rows without keeping any. */
export interface ReadCheck {
  /**
   * Those of a part of the rows, which are numbered from `first` on, each with another number; rows with larger numbers may be among
   * them. Undefined when the engine cannot tell. Rejects with an EngineError.
   */
  listRejected(body: Uint8Array, range: { first: number; count: number }): Promise<RejectedNumber[] | undefined>
  close(): void
}

/** All methods reject with an EngineError. */
export interface Sink {
  readonly delivery: Delivery
  /** After it resolves, the rows are durable. */
  insert(insert: Insert, signal: AbortSignal): Promise<InsertOutcome>
  /** Whether the engine would take these rows, without keeping any: undefined, or its own words for what is wrong. */
  tryOut(insert: Insert, signal: AbortSignal): Promise<string | undefined>
  /** For rows of this shape, which have a number in the field `numberField`. Undefined when the engine cannot skip rows. */
  openReadCheck(insert: Omit<Insert, 'body'>, numberField: string, signal: AbortSignal): Promise<ReadCheck | undefined>
  /** Keeps them beside the table, for 7 days; the same ones again change nothing. */
  keepBadRows(rows: BadRow[], signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

/** Of a table that was looked for, and made where it is managed and was not there. */
export interface OpenedSink extends Sink {
  readonly isTableNew: boolean
}

/**
 * `data`: the engine does not take these rows. `passing`: try again later. `user`: only the user can help.
 * The message is a sentence for people in our own words; `detail` holds the engine's and goes nowhere but into the engine.
 */
export class EngineError extends Error {
  readonly kind: 'data' | 'passing' | 'user'
  readonly detail: string
  /** The engine's own number of the error; 0 when it gave none. */
  readonly code: number

  constructor(kind: EngineError['kind'], message: string, detail = '', code = 0) {
    super(message)
    this.name = 'EngineError'
    this.kind = kind
    this.detail = detail
    this.code = code
  }
}

/** The engine does not let its user in, or may not be connected to: nothing works that needs it. */
export class NoEntryError extends EngineError {
  constructor(message: string, detail = '', code = 0) {
    super('user', message, detail, code)
  }
}

/** Whether the engine itself could not be used, whatever was asked of it. */
export function isEngineUnusable(error: unknown): boolean {
  return error instanceof EngineError && (error.kind === 'passing' || error instanceof NoEntryError)
}
