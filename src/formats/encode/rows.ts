// Encoded rows of a delivery or of a piece of an object, as bytes that the engine parses. JavaScript parses only what it has to.
import { hash } from 'node:crypto'
import type { Readable } from 'node:stream'
import type { Insert } from '../../engine/engine.ts'
import type { RejectedRow } from '../../engine/rejected-row.ts'

/** Format and columns of an insert. */
export type RowShape = Pick<Insert, 'format' | 'delimiter' | 'hasEmptyTexts' | 'fields' | 'columns'>

/** Equal for rows that are made of their records in the same way. */
export function shapeDigest({ format, fields, columns }: RowShape): string {
  return hash('sha256', JSON.stringify([format, fields, columns]), 'hex').slice(0, 32)
}

/** A row in the form that is stored when the engine rejects it. */
export interface RowToKeep {
  partition: string
  /** Position in the source, as readable text. */
  position: string
  raw: Uint8Array
  /** Needed beside the raw bytes to encode the row again. */
  meta: string
}

export interface Rows {
  readonly shape: RowShape
  /** Number of records, or of rows of an object. A record may become several rows of the engine, or none. */
  readonly count: number
  /** Size in the source, decompressed. */
  readonly readBytes: number
  /** Rows that Penstock cannot decode; they are not in the body. */
  readonly undecodable: readonly RejectedRow[]
  /** Whether `only` and `without` work: false for a file format such as Parquet. */
  readonly isDivisible: boolean
  /** The same bytes on each call. A chunk may be overwritten when the next one is requested. */
  body(): Iterable<Uint8Array> | Readable
  /** Rows from `begin` (inclusive) to `end` (exclusive). Only called when the engine has rejected rows. */
  only(begin: number, end: number): Rows
  /** All rows except those with these indexes. Indexes are those of these rows, and of `undecodable`. */
  without(rejected: ReadonlySet<number>): Rows
  keep(index: number): RowToKeep
  /** Frees memory: neither these rows nor rows derived from them are used again. Calling it is optional. */
  release?(): void
}
