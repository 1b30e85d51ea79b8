// What a format of records asks of those who send them.
import type { SourceRecord } from '../../sources/source.ts'
import type { RowShape } from '../rows.ts'
import type { ByteOutput } from './byte-output.ts'

export interface RecordFormat {
  shape: RowShape
  /** The format with all that these records need beside themselves. Rejects with NotConnected, or with a ProbeFailure. */
  prepare?(records: readonly SourceRecord[], signal: AbortSignal): Promise<RecordFormat>
  /** Why the record cannot be written. Only of a format that can tell without writing it. */
  check?(record: SourceRecord): string | undefined
  /** The rows of the record, each with a newline behind it; the same bytes each time. Throws Undecodable. */
  write(record: SourceRecord, out: ByteOutput): void
}
