// Interface of a record format.

import type { ByteOutput } from './byte-output.ts'
import type { RecordList, SourceRecord, ValueOffsets } from './record-list.ts'
import type { RowShape } from './rows.ts'

export interface RecordFormat {
  shape: RowShape
  /** Loads what these records need, such as schemas. Rejects with NotConnected, or with a ProbeFailure. */
  prepare?(records: RecordList, signal: AbortSignal): Promise<RecordFormat>
  /** Why the record cannot be written. Only for formats that can check without writing. */
  check?(record: SourceRecord): string | undefined
  /** Writes the rows of the record, each followed by a newline; the same bytes each time. Throws Undecodable. */
  write(record: SourceRecord, out: ByteOutput): void
  /** The same for values that are still in the fetched bytes. Only for formats that need nothing but the value. */
  inPlace?: InPlace
}

export interface InPlace {
  check(bytes: Buffer, start: number, end: number): string | undefined
  /**
   * Writes one or more of the values, from `first` on, and returns the index after the last one written. There may be more white space
   * between rows than with one write per value.
   */
  writeSome(bytes: Buffer, offsets: ValueOffsets, values: { first: number; end: number }, out: ByteOutput): number
}
