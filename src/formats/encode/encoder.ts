// Encoders from records and objects of a source to rows that ClickHouse reads. The same range of a source always gives the same rows, so
// that a batch can be inserted again.
import type { EngineColumn } from '../../engine/engine.ts'
import type { SchemaRegistry } from '../decode/registered-schema.ts'
import type { FieldMapping, SourceKindName } from './field-plan.ts'
import type { ObjectToEncode } from './object-format.ts'
import type { RecordList } from './record-list.ts'
import type { Rows } from './rows.ts'

export interface EncoderParts {
  kind: SourceKindName
  /** The source configuration without its secrets. */
  source: object
  destination: { columns: EngineColumn[] }
  fieldMappings: FieldMapping[]
  /** Undefined when the source has no schema registry. */
  openRegistry(signal: AbortSignal): SchemaRegistry | undefined
}

export interface RecordEncoder {
  /** Rejects with NotConnected or a ProbeFailure when schemas are unavailable; errors of single records are in the rows. */
  encode(partition: string, records: RecordList, signal: AbortSignal): Promise<Rows>
  /** Joins rows of several partitions; numbers them in this order. */
  join(parts: Rows[]): Rows
  close(): Promise<void>
}

/** All methods reject with NotConnected, or with a ProbeFailure when the object does not have its declared format. */
export interface ObjectEncoder {
  /**
   * Pieces from `beginByte` on, cut between rows; a format that cannot be cut gives one piece. `pieceBytes` is called before each
   * piece and limits its size, unless a single row is larger. `endByte` is null for the last piece.
   */
  pieces(
    object: ObjectToEncode,
    options: { partition: string; beginByte: number; pieceBytes: () => number; signal: AbortSignal },
  ): AsyncIterable<{ beginByte: number; endByte: number | null; rows: Rows }>
  /** Encodes exactly this piece again. */
  piece(
    object: ObjectToEncode,
    options: { partition: string; beginByte: number; endByte: number | null; signal: AbortSignal },
  ): Promise<Rows>
  /** Undefined when they cannot be sent in one insert. */
  join(parts: Rows[]): Rows | undefined
}
