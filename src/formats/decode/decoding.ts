// Parameters and results of the decoders of samples.
import type { Row, SourceField } from '../../source-shapes/probe.ts'

export interface Decoded {
  rows: Row[]
  /** Fields that the format declares; otherwise they are inferred from the rows. */
  fields?: SourceField[]
}

export type RecordFormat = 'JSONEachRow' | 'Avro' | 'AvroConfluent' | 'Protobuf'

/** An object of a store, with random access. */
export interface ObjectBytes {
  /** Its extension may indicate the compression. */
  key: string
  sizeBytes: number
  /** Bytes from `start` to `end` (exclusive). */
  read(start: number, end: number): Promise<Uint8Array>
}

export type ObjectFormat =
  | 'JSONEachRow'
  | 'CSV'
  | 'CSVWithNames'
  | 'TabSeparated'
  | 'TabSeparatedWithNames'
  | 'Parquet'
  | 'Avro'

export type Compression = 'auto' | 'none' | 'gzip' | 'gz' | 'brotli' | 'br' | 'xz' | 'LZMA' | 'zstd'

export interface ObjectDecoding {
  format: ObjectFormat
  compression: Compression
  delimiter?: string
  maxRows: number
  signal: AbortSignal
}

/** The decompressed start of an object. */
export interface ObjectStart {
  bytes: Uint8Array
  /** False: the object continues after these bytes; the last line or block may be incomplete. */
  isWhole: boolean
}
