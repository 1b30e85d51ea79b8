// Rows on their way from a source to the engine: the records of a delivery, or a piece of an object, as bytes that the engine
// reads itself. Nothing is parsed in JavaScript that need not be.
import { hash } from 'node:crypto'
import type { Readable } from 'node:stream'
import type { Insert } from '../engine/engine.ts'
import type { RefusedRow } from './delivery.ts'

/** What an insert says of its body. */
export type RowShape = Pick<Insert, 'format' | 'delimiter' | 'hasEmptyTexts' | 'fields' | 'columns'>

/** The same for rows that are made of their records in the same way. */
export function shapeDigest({ format, fields, columns }: RowShape): string {
  return hash('sha256', JSON.stringify([format, fields, columns]), 'hex').slice(0, 32)
}

/** A row as it is kept when the engine refuses it. */
export interface RowToKeep {
  partition: string
  /** Where it stands in the source, for people. */
  position: string
  raw: Uint8Array
  /** What is needed beside the raw bytes to encode it again. */
  meta: string
}

export interface Rows {
  readonly shape: RowShape
  /** Records, or rows of an object: what can be told apart. A record may hold several rows of the engine, or none. */
  readonly count: number
  /** As they lie in the source, decompressed. */
  readonly readBytes: number
  /** Those that we cannot decode ourselves; they are not in the body. */
  readonly undecodable: readonly RefusedRow[]
  /** Whether `only` and `without` work: not for a format that is one piece, such as Parquet. */
  readonly isDivisible: boolean
  /** Gives the same bytes each time it is called. A chunk is only lent: it may be overwritten when the next is asked for. */
  body(): Iterable<Uint8Array> | Readable
  /** Those from `begin` up to and without `end`. Only asked for when the engine has refused some. */
  only(begin: number, end: number): Rows
  /** All but these. Indexes are those of these rows, and of `undecodable`. */
  without(refused: ReadonlySet<number>): Rows
  keep(index: number): RowToKeep
  /** Nothing will be asked of these rows again, nor of any that were made of them. Need not be called. */
  release?(): void
}
