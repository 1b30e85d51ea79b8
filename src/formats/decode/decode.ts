// From bytes to rows, for a sample: which decoder a format has. Each is loaded when it is needed. A decoder that cannot read
// what it is given throws Undecodable; whoever has the source says where that came from.

import type { SchemaRegistry } from '../../sources/schema-registry/schema-registry.ts'
import type { Row, Sample, SourceField } from '../../sources/source.ts'

export interface Decoded {
  rows: Row[]
  /** What the format itself declares; without it, the rows tell. */
  fields?: SourceField[]
}

/** The bytes are not what they are said to be. The reason is the middle of a sentence, in our own words; it may quote a few characters of the data. */
export class Undecodable extends Error {
  readonly reason: string

  constructor(reason: string) {
    super(reason)
    this.name = 'Undecodable'
    this.reason = reason
  }
}

/** The beginning of a text, quoted so that it can stand in a sentence: cut, and without characters that do not show. */
export function excerptOf(text: string, maxCharacters = 20): string {
  const characters = [...text.slice(0, maxCharacters * 2)].slice(0, maxCharacters).join('')
  const shown = characters.replaceAll(/["\\\p{C}\p{Zl}\p{Zp}]/gu, (character) => {
    if (character === '"' || character === '\\') return `\\${character}`
    return `\\u{${character.codePointAt(0)!.toString(16)}}`
  })
  return `"${shown}${characters.length < text.length ? '…' : ''}"`
}

export type RecordFormat = 'JSONEachRow' | 'Avro' | 'AvroConfluent' | 'Protobuf'

/** The first rows of records of a stream, each of which may hold many. Rejects with Undecodable, or with a ProbeFailure of the registry. */
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

/** An object of a store, of which any part can be read. */
export interface ObjectBytes {
  /** Its last part may tell the compression. */
  key: string
  sizeBytes: number
  /** Bytes from `start` up to and without `end`. */
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

/** The first rows of an object, of which no more is read than they need. Rejects with Undecodable. */
export async function decodeObject(object: ObjectBytes, decoding: ObjectDecoding): Promise<Decoded> {
  const { format, compression, maxRows, signal } = decoding
  // Has its own compression inside, and its table of contents at its end.
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

/** What is decompressed of the beginning of an object. */
export interface ObjectStart {
  bytes: Uint8Array
  /** False: the object goes on after these bytes, and its last line or block may be cut. */
  isWhole: boolean
}

export async function toSample({ rows, fields }: Decoded): Promise<Sample> {
  return { rows, fields: fields ?? (await import('./infer-fields.ts')).inferFields(rows) }
}
