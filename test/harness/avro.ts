// Avro that avsc writes, which shares no code with the decoder.
import assert from 'node:assert/strict'
import { buffer } from 'node:stream/consumers'
import { crc32, deflateRawSync, zstdCompressSync } from 'node:zlib'
import { compressionsAlgorithms } from '@platformatic/kafka'
import avro, { type Schema } from 'avsc'
import type { Decoded } from '../../src/formats/decode/decoding.ts'
import type { RegisteredSchema, SchemaRegistry } from '../../src/formats/decode/registered-schema.ts'
import { Undecodable } from '../../src/formats/undecodable.ts'

const longType = avro.types.LongType.__with({
  fromBuffer: (bytes: Buffer) => bytes.readBigInt64LE(),
  toBuffer(value: bigint | number) {
    const bytes = Buffer.alloc(8)
    bytes.writeBigInt64LE(BigInt(value))
    return bytes
  },
  fromJSON: BigInt,
  toJSON: Number,
  isValid: (value: unknown) => typeof value === 'bigint' || typeof value === 'number',
  compare: (one: bigint, other: bigint) => (one < other ? -1 : Number(one > other)),
})

export function typeFor(schema: Schema): avro.Type {
  return avro.Type.forSchema(schema, { registry: { long: longType }, wrapUnions: 'never' })
}

type Codec = 'null' | 'deflate' | 'snappy' | 'zstandard'

function packSnappy(data: Buffer): Buffer {
  const checksum = Buffer.alloc(4)
  checksum.writeUInt32BE(crc32(data))
  return Buffer.concat([compressionsAlgorithms.snappy.compressSync(data), checksum])
}

const packers: Record<Codec, (data: Buffer) => Buffer> = {
  null: (data) => data,
  deflate: (data) => deflateRawSync(data),
  snappy: packSnappy,
  zstandard: (data) => zstdCompressSync(data),
}

interface FileOptions {
  codec?: Codec
  blockSize?: number
}

export async function file(schema: Schema, rows: object[], { codec = 'null', blockSize = 65_536 }: FileOptions = {}) {
  const encoder = new avro.streams.BlockEncoder(typeFor(schema), {
    codec,
    blockSize,
    writeHeader: 'always',
    codecs: {
      [codec]: (data: Buffer, done: (error: null, packed: Buffer) => void) => done(null, packers[codec](data)),
    },
  } as never)
  for (const row of rows) encoder.write(row)
  encoder.end()
  return buffer(encoder)
}

/** A file with exactly this schema: avsc removes unknown attributes. At most one row, of fewer than 64 bytes. */
export function fileOfSchema(schema: Schema, row?: Buffer): Buffer {
  const marker = Buffer.alloc(16, 9)
  const header = avro.Type.forSchema({ type: 'map', values: 'bytes' }).toBuffer({
    'avro.schema': Buffer.from(JSON.stringify(schema)),
  })
  const block = row ? [Buffer.from([2, row.length * 2]), row, marker] : []
  return Buffer.concat([Buffer.from('Obj\u0001'), header, marker, ...block])
}

export const record = (fields: Record<string, unknown>, name = 'Row'): Schema =>
  ({ type: 'record', name, fields: Object.entries(fields).map(([key, type]) => ({ name: key, type })) }) as Schema

export const whole = (bytes: Uint8Array) => ({ bytes, isWhole: true })

/** By id, starting with 1. */
export function registryOf(...schemas: (Schema | RegisteredSchema)[]): SchemaRegistry {
  return {
    async loadSchema(id) {
      const schema = schemas[id - 1] as RegisteredSchema
      if (typeof schema.schema === 'string') return schema
      return { type: 'AVRO', schema: JSON.stringify(schema), references: [] }
    },
  }
}

export function framed(id: number, body: Uint8Array): Uint8Array {
  const header = Buffer.alloc(5)
  header.writeUInt32BE(id, 1)
  return Buffer.concat([header, body])
}

export async function undecodable(work: () => Decoded | Promise<Decoded>): Promise<string> {
  const error = await (async () => work())().then(
    () => assert.fail('was decoded'),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof Undecodable, String((error as Error).stack))
  return error.reason
}

export const dayMs = 86_400_000
