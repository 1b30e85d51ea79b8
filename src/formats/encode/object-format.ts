// Interface of the format of one object.
import type { Buffer } from 'node:buffer'
import type { Readable } from 'node:stream'
import type { Row } from '../../source-shapes/probe.ts'
import type { TextRange } from '../json-scan.ts'
import type { ByteOutput } from './byte-output.ts'
import type { RowEnds } from './row-ends.ts'
import type { RowShape } from './rows.ts'

export interface ObjectToEncode {
  key: string
  sizeBytes: number
  modifiedAt?: Date | undefined
  open(signal: AbortSignal): Promise<Readable>
}

export interface ObjectFormat {
  shape: RowShape
  rowEnds: RowEnds
  /** Offset of the first row. */
  dataStart: number
  /** Whether the row can be sent unchanged. */
  isStraight(bytes: Buffer, start: number, end: number): boolean
  /** Why the row cannot be sent. */
  check(bytes: Buffer, start: number, end: number): string | undefined
  /** Why the last row of the object is incomplete. Sent unchanged, it would continue with the first row of the next object. */
  checkLast(bytes: Buffer, start: number, end: number): string | undefined
  /** The row without separators. */
  trim(bytes: Buffer, row: TextRange): TextRange
  /** Writes the row and a newline. */
  write(bytes: Buffer, row: TextRange, out: ByteOutput): void
  /** Metadata stored with a rejected row. */
  kept: Row
}
