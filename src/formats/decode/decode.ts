// Decodes the bytes of a sample to rows. Decoders are loaded when they are needed, and throw Undecodable for invalid bytes; the
// source adds where the bytes are from.

import type { Sample } from '../../source-shapes/probe.ts'
import type { Decoded, ObjectBytes, ObjectDecoding, RecordFormat } from './decoding.ts'
import type { SchemaRegistry } from './registered-schema.ts'

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

export async function toSample({ rows, fields }: Decoded): Promise<Sample> {
  return { rows, fields: fields ?? (await import('./infer-fields.ts')).inferFields(rows) }
}
