// From records and objects of a source to rows that the engine reads. What the same ranges of a source hold is always encoded to
// the same rows, so that a delivery can be made again.
import type { EngineColumn } from '../../engine/engine.ts'
import type { Egress } from '../../lib/egress.ts'
import type { SourceSecrets } from '../../pipes/pipe-source.ts'
import type { Rows } from '../../runner/rows.ts'
import type { RecordList, SourceContext } from '../../sources/source.ts'
import type { FieldMapping, SourceKindName } from './field-plan.ts'
import type { ObjectToEncode } from './object-format.ts'

export { encodeKept } from './kept-rows.ts'
export { makeObjectEncoder } from './object-encoder.ts'
export { makeRecordEncoder } from './record-encoder.ts'

export interface EncoderParts {
  kind: SourceKindName
  /** The configuration of the source, as it is shown. */
  source: object
  secrets: SourceSecrets
  destination: { columns: EngineColumn[] }
  fieldMappings: FieldMapping[]
  organizationId: string
  context: Omit<SourceContext, 'organizationId'>
  egress: Egress
}

export interface RecordEncoder {
  /** Rejects with NotConnected or a ProbeFailure when schemas cannot be had; what is wrong with a record is in the rows. */
  encode(partition: string, records: RecordList, signal: AbortSignal): Promise<Rows>
  /** Of several partitions; numbered through in this order. */
  join(parts: Rows[]): Rows
  close(): Promise<void>
}

/** Everything rejects with NotConnected, or with a ProbeFailure when the object is not what it is said to be. */
export interface ObjectEncoder {
  /**
   * Pieces of at most `pieceBytes`, which is asked for before each, cut where rows end, from `beginByte` on; one of a format that is
   * one piece. A row that is larger makes its piece larger. `endByte` null: the object ends with it.
   */
  pieces(
    object: ObjectToEncode,
    options: { partition: string; beginByte: number; pieceBytes: () => number; signal: AbortSignal },
  ): AsyncIterable<{ beginByte: number; endByte: number | null; rows: Rows }>
  /** Exactly this piece again. */
  piece(
    object: ObjectToEncode,
    options: { partition: string; beginByte: number; endByte: number | null; signal: AbortSignal },
  ): Promise<Rows>
  /** Undefined when they cannot go in one insert. */
  join(parts: Rows[]): Rows | undefined
}
