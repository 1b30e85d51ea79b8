// The same two rows in every format and compression of objects.
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib'
import avsc from 'avsc'
import { parquetWriteBuffer } from 'hyparquet-writer'
import type { Compression, ObjectFormat } from '../../src/formats/decode/decoding.ts'
import type { Row } from '../../src/source-shapes/probe.ts'

export const jsonLines = Buffer.from('{"id":1,"name":"one"}\n{"id":2,"name":"two"}\n')

export interface SampleObject {
  key: string
  format: ObjectFormat
  compression: Compression
  delimiter?: string
  bytes: Uint8Array
  /** Names and values as text. */
  rows: Record<string, string>[]
}

/** Values as text: formats differ in their number types. */
export function asText(rows: Row[]): Record<string, string>[] {
  return rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, String(value)])))
}

const named = [
  { id: '1', name: 'one' },
  { id: '2', name: 'two' },
]
const unnamed = named.map(({ id, name }) => ({ c1: id, c2: name }))
const text = (lines: string): Uint8Array => Buffer.from(lines)

function avroFile(): Promise<Uint8Array> {
  const type = avsc.Type.forSchema({
    type: 'record',
    name: 'Sample',
    fields: [
      { name: 'id', type: 'long' },
      { name: 'name', type: 'string' },
    ],
  })
  return new Promise((resolve, reject) => {
    const encoder = new avsc.streams.BlockEncoder(type, { codec: 'deflate' })
    const pieces: Buffer[] = []
    encoder.on('data', (piece: Buffer) => pieces.push(piece))
    encoder.on('end', () => resolve(Buffer.concat(pieces)))
    encoder.on('error', reject)
    encoder.write({ id: 1, name: 'one' })
    encoder.end({ id: 2, name: 'two' })
  })
}

function parquetFile(): Uint8Array {
  const columnData = [
    { name: 'id', data: [1n, 2n], type: 'INT64' as const },
    { name: 'name', data: ['one', 'two'], type: 'STRING' as const },
  ]
  return new Uint8Array(parquetWriteBuffer({ columnData }))
}

/** xz of `jsonLines`, as bytes: Node has no xz. */
const xz = Buffer.from(
  '/Td6WFoAAAFpIt42AgAhARYAAAB0L+Wj4AArACNdAD2IiSaBk1Ox5jXOxQ/YyNuDvg9fokAI8yy3dLYN2JZYXFYAAACpXALhAAE7LPA27C6QQpkNAQAAAAABWVo=',
  'base64',
)

export async function sampleObjects(): Promise<SampleObject[]> {
  const none = 'none' as const
  const json = 'JSONEachRow' as const
  const packed = (key: string, compression: Compression, bytes: Uint8Array): SampleObject => ({
    key: `packed/${key}`,
    format: json,
    compression,
    bytes,
    rows: named,
  })
  return [
    { key: 'formats/json', format: json, compression: none, bytes: jsonLines, rows: named },
    { key: 'formats/csv', format: 'CSV', compression: none, bytes: text('1,one\n2,two\n'), rows: unnamed },
    {
      key: 'formats/csv-names',
      format: 'CSVWithNames',
      compression: none,
      delimiter: ';',
      bytes: text('id;name\n1;one\n2;two\n'),
      rows: named,
    },
    { key: 'formats/tsv', format: 'TabSeparated', compression: none, bytes: text('1\tone\n2\ttwo\n'), rows: unnamed },
    {
      key: 'formats/tsv-names',
      format: 'TabSeparatedWithNames',
      compression: none,
      bytes: text('id\tname\n1\tone\n2\ttwo\n'),
      rows: named,
    },
    { key: 'formats/parquet', format: 'Parquet', compression: 'auto', bytes: parquetFile(), rows: named },
    { key: 'formats/avro', format: 'Avro', compression: none, bytes: await avroFile(), rows: named },
    packed('gzip', 'gzip', gzipSync(jsonLines)),
    packed('gz', 'gz', gzipSync(jsonLines)),
    packed('brotli', 'brotli', brotliCompressSync(jsonLines)),
    packed('br', 'br', brotliCompressSync(jsonLines)),
    packed('xz', 'xz', xz),
    packed('lzma', 'LZMA', xz),
    packed('zstd', 'zstd', zstdCompressSync(jsonLines)),
    packed('auto.json.gz', 'auto', gzipSync(jsonLines)),
    packed('auto.json.br', 'auto', brotliCompressSync(jsonLines)),
    packed('auto.json.xz', 'auto', xz),
    packed('auto.json.zst', 'auto', zstdCompressSync(jsonLines)),
    packed('auto.json', 'auto', jsonLines),
  ]
}
