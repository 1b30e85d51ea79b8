// What a format of records asks of those who send them.

import type { RowShape } from '../../runner/rows.ts'
import type { RecordList, SourceRecord, ValueOffsets } from '../../sources/source.ts'
import type { ByteOutput } from './byte-output.ts'

export interface RecordFormat {
  shape: RowShape
  /** The format with all that these records need beside themselves. Rejects with NotConnected, or with a ProbeFailure. */
  prepare?(records: RecordList, signal: AbortSignal): Promise<RecordFormat>
  /** Why the record cannot be written. Only of a format that can tell without writing it. */
  check?(record: SourceRecord): string | undefined
  /** The rows of the record, each with a newline behind it; the same bytes each time. Throws Undecodable. */
  write(record: SourceRecord, out: ByteOutput): void
  /** The same for values where they lie. Only of a format that needs nothing of a record but its value. */
  inPlace?: InPlace
}

export interface InPlace {
  check(bytes: Buffer, start: number, end: number): string | undefined
  /**
   * Writes values that lie in these bytes, from the first on and at least that one, as far as is good to write at once; gives how
   * far it came. There may be more space between the rows than if each were written by itself.
   */
  writeSome(bytes: Buffer, places: ValueOffsets, values: { first: number; end: number }, out: ByteOutput): number
}
