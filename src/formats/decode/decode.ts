// Decodes the bytes of a sample to rows. Decoders are loaded when they are needed, and throw Undecodable for invalid bytes; the
// source adds where the bytes are from.

import type { Row, Sample, SourceField } from '../../source-shapes/probe.ts'
import type { SchemaRegistry } from '../../sources/schema-registry/schema-registry.ts'

export interface Decoded {
  rows: Row[]
  /** Fields that the format declares; otherwise they are inferred from the rows. */
  fields?: SourceField[]
}

/** The bytes do not match the format. The reason is the middle of a sentence, and may quote a few characters of the data. */
export class Undecodable extends Error {
  readonly reason: string

  constructor(reason: string) {
    super(reason)
    this.name = 'Undecodable'
    this.reason = reason
  }
}

/** The start of a text, quoted for a message: truncated, with invisible characters escaped. */
export function excerptOf(text: string, maxCharacters = 20): string {
  const characters = [...text.slice(0, maxCharacters * 2)].slice(0, maxCharacters).join('')
  const shown = characters.replaceAll(/["\\\p{C}\p{Zl}\p{Zp}]/gu, (character) => {
    if (character === '"' || character === '\\') return `\\${character}`
    return `\\u{${character.codePointAt(0)!.toString(16)}}`
  })
  return `"${shown}${characters.length < text.length ? '…' : ''}"`
}

export type RecordFormat = 'JSONEachRow' | 'Avro' | 'AvroConfluent' | 'Protobuf'

/** The first rows of records of a stream. A record may have many rows. Rejects with Undecodable, or with a ProbeFailure of the registry. */
export async function decodeRecords(
  format: RecordFormat,
  records: Uint8Array[],
  { registry, maxRows }: { registry: SchemaRegistry | undefined; maxRows: number },
): Promise<Decoded> {
  switch (format) {
    case 'JSONEachRow':
      return (await import('./json-rows.ts')).decodeJsonRecords(records, maxRows)
    case 'Avro': {
      const decoded = (await import('./avro-rows.ts')).decodeAvroRecords(records)
      return { ...decoded, rows: decoded.rows.slice(0, maxRows) }
    }
    case 'AvroConfluent':
      return (await import('./avro-rows.ts')).decodeConfluentAvro(records, registry)
    case 'Protobuf':
      return (await import('./protobuf-rows.ts')).decodeConfluentProtobuf(records, registry)
  }
}

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

/** The first rows of an object; reads only the bytes that they need. Rejects with Undecodable. */
export async function decodeObject(object: ObjectBytes, decoding: ObjectDecoding): Promise<Decoded> {
  const { format, compression, maxRows, signal } = decoding
  // Parquet has internal compression, and its footer at the end.
  if (format === 'Parquet') return (await import('./parquet-rows.ts')).decodeParquet(object, decoding)
  const { readStart } = await import('./compression.ts')
  const start = await readStart(object, compression)
  signal.throwIfAborted()
  switch (format) {
    case 'JSONEachRow':
      return (await import('./json-rows.ts')).decodeJsonLines(start, maxRows)
    case 'Avro':
      return (await import('./avro-rows.ts')).decodeAvroFile(start, maxRows)
    default:
      return (await import('./delimited-rows.ts')).decodeDelimited(start, decoding)
  }
}

/** The decompressed start of an object. */
export interface ObjectStart {
  bytes: Uint8Array
  /** False: the object continues after these bytes; the last line or block may be incomplete. */
  isWhole: boolean
}

export async function toSample({ rows, fields }: Decoded): Promise<Sample> {
  return { rows, fields: fields ?? (await import('./infer-fields.ts')).inferFields(rows) }
}
