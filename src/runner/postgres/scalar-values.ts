// Conversion of single values from PostgreSQL to ClickHouse.
import type { Buffer } from 'node:buffer'
import type { ByteOutput } from '../../formats/encode/byte-output.ts'

/** The bytes are a value in PostgreSQL's text format. Throws Undecodable. */
export type WriteValue = (bytes: Buffer, start: number, end: number, out: ByteOutput) => void

export interface ColumnValues {
  /** ClickHouse type. */
  type: string
  /** Field for NULL; `[]` for arrays, which cannot be NULL in ClickHouse. */
  nullText: string
  /** SQL expression for the column in COPY. */
  expression(quotedColumn: string): string
  /** Values from COPY must be unescaped and go through `write` too. */
  isRewritten: boolean
  /** Writes a TabSeparated field. Never called for NULL. */
  write: WriteValue
}

export type IsUnrepresentable = (bytes: Buffer, start: number, end: number) => boolean

/** Of a column, or of the elements of an array. */
export interface ScalarValues {
  expression: ColumnValues['expression']
  isRewritten: boolean
  /** Values are quoted in an array. */
  isQuoted: boolean
  /** Default value of the type, as an array element. */
  defaultText: string
  /** The ClickHouse type cannot hold this value. */
  isUnrepresentable?: IsUnrepresentable
  write: WriteValue
  /** For array elements, when different from `write`. */
  writeElement?: WriteValue
}
