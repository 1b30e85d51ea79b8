// Records of a stream, as an encoder reads them.
import type { Buffer } from 'node:buffer'
import type { Row } from '../../source-shapes/probe.ts'

export interface SourceRecord {
  /** As received; batch compression of the transport is removed. */
  value: Uint8Array
  /** Metadata of the transport, by virtual column: `_topic`, `_partition`, `_offset`, `_timestamp`, `_key`, … */
  meta: Row
}

/** Records in order. An array is a RecordList; other lists create a record on each access. */
export interface RecordList extends Iterable<SourceRecord> {
  readonly length: number
  at(index: number): SourceRecord | undefined
  /** For encoders that need only the values: avoids one object per record. */
  readonly valueOffsets?: ValueOffsets
  /** Allows reuse of the memory: no record, value or offset is read after this call. Optional. */
  release?(): void
}

/** Start and end of each value within its run. */
export interface ValueOffsets {
  readonly starts: Int32Array
  readonly ends: Int32Array
  /** Values in the same buffer. A run has the values from the end of the run before to its own end (exclusive). */
  readonly runs: readonly ValueRun[]
}

export interface ValueRun {
  readonly bytes: Buffer
  readonly end: number
}
