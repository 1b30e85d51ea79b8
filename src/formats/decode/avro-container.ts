// Avro object container: a header with the schema, then blocks of rows, each compressed separately. Reads the complete rows of a
// truncated one.
import { constants, crc32, inflateRawSync, zstdDecompressSync } from 'node:zlib'
import { decompressSnappy } from 'hyparquet-compressors'
import { quote } from '../../lib/shape-rules.ts'
import type { Row } from '../../source-shapes/probe.ts'
import { type AvroRecord, type LogicalTypes, parseAvroSchema } from './avro-schema.ts'
import { readAvroRow } from './avro-values.ts'
import { ByteReader, Misfit, TooShort } from './byte-reader.ts'
import type { ObjectStart } from './decoding.ts'
import { BudgetSpent, type SampleBudget } from './sample-budget.ts'

const magic = 'Obj\u0001'
const markerBytes = 16

export function isAvroContainer(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.subarray(0, magic.length)).toString('latin1') === magic
}

export interface AvroContainer {
  schema: AvroRecord
  codec: Codec
  /** Sync marker after every block. */
  marker: Buffer
  /** At the first block. */
  reader: ByteReader
}

const codecs = ['null', 'deflate', 'snappy', 'zstandard'] as const
type Codec = (typeof codecs)[number]

/** Throws a Misfit, or a SchemaFault. */
export function openAvroContainer(bytes: Uint8Array, logicalTypes?: LogicalTypes): AvroContainer {
  const reader = new ByteReader(bytes)
  reader.bytes(magic.length)
  const header = readHeader(reader)
  const marker = Buffer.from(reader.bytes(markerBytes))
  const codec = header.get('avro.codec') ?? 'null'
  if (!isCodec(codec)) {
    throw new Misfit(`it is compressed with ${quote(codec)}, which is not one of ${codecs.join(', ')}`)
  }
  const schema = header.get('avro.schema')
  if (schema === undefined) throw new Misfit('it has no schema')
  return { schema: parseAvroSchema(schema, [], logicalTypes), codec, marker, reader }
}

const isCodec = (codec: string): codec is Codec => codecs.includes(codec as Codec)

function readHeader(reader: ByteReader): Map<string, string> {
  const header = new Map<string, string>()
  for (;;) {
    let count = reader.zigzag()
    if (count === 0) return header
    if (count < 0) {
      count = -count
      reader.zigzag()
    }
    // Every entry takes bytes, so a false count cannot cause an endless loop.
    for (let index = 0; index < count; index++) {
      const key = reader.text(reader.zigzag())
      const value = reader.bytes(reader.zigzag())
      // Writers add other entries, which may not be text.
      if (key.startsWith('avro.')) header.set(key, new ByteReader(value).text(value.length))
    }
  }
}

export interface RowLimits {
  maxRows: number
  budget: SampleBudget
}

/** Adds rows to the list, up to `maxRows`. Throws a Misfit, or BudgetSpent when the next row exceeds the budget. */
export function readAvroBlocks(
  { schema, codec, marker, reader }: AvroContainer,
  { isWhole }: Pick<ObjectStart, 'isWhole'>,
  rows: Row[],
  { maxRows, budget }: RowLimits,
): void {
  while (reader.left > 0 && rows.length < maxRows) {
    const block = readBlock(reader, marker, isWhole)
    if (!block) return
    const { count, isCut } = block
    const unpacked = new ByteReader(unpack(codec, block.bytes, isCut, budget))
    try {
      for (let index = 0; index < count && rows.length < maxRows; index++) {
        rows.push(readAvroRow(schema, unpacked, budget))
      }
    } catch (error) {
      if (isCut && error instanceof TooShort) return
      throw error
    }
    if (isCut) return
    if (rows.length < maxRows && unpacked.left > 0) throw new Misfit('it has a block with more bytes than rows')
  }
}

interface Block {
  count: number | bigint
  bytes: Uint8Array
  isCut: boolean
}

function readBlock(reader: ByteReader, marker: Buffer, isWhole: boolean): Block | undefined {
  try {
    const count = reader.zigzag()
    const sizeBytes = reader.zigzag()
    if (count < 0 || sizeBytes < 0) throw new Misfit('it has a block with a count or a size below zero')
    if (!isWhole && sizeBytes > reader.left - markerBytes) {
      return { count, bytes: reader.bytes(Math.min(Number(sizeBytes), reader.left)), isCut: true }
    }
    const bytes = reader.bytes(sizeBytes)
    if (!marker.equals(reader.bytes(markerBytes))) throw new Misfit('it has a block that does not end where it says')
    return { count, bytes, isCut: false }
  } catch (error) {
    if (!isWhole && error instanceof TooShort) return undefined
    throw error
  }
}

/** For a truncated block, the decompressed start; empty if the codec needs the whole block. */
function unpack(codec: Codec, bytes: Uint8Array, isCut: boolean, budget: SampleBudget): Uint8Array {
  const maxOutputLength = budget.unpackedBytes
  if (codec === 'null') return bytes
  if (maxOutputLength <= 0) throw new BudgetSpent()
  try {
    const unpacked = unpackWith(codec, bytes, isCut, maxOutputLength)
    budget.unpackedBytes -= unpacked.length
    return unpacked
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw new BudgetSpent()
    if (error instanceof BudgetSpent) throw error
    throw new Misfit(`it has a block that is not ${codec}, as it says`)
  }
}

function unpackWith(
  codec: Exclude<Codec, 'null'>,
  bytes: Uint8Array,
  isCut: boolean,
  maxOutputLength: number,
): Uint8Array {
  switch (codec) {
    case 'deflate':
      return inflateRawSync(bytes, {
        maxOutputLength,
        finishFlush: isCut ? constants.Z_SYNC_FLUSH : constants.Z_FINISH,
      })
    case 'zstandard':
      return zstdDecompressSync(bytes, {
        maxOutputLength,
        finishFlush: isCut ? constants.ZSTD_e_flush : constants.ZSTD_e_end,
      })
    case 'snappy':
      return isCut ? new Uint8Array() : unpackSnappy(bytes, maxOutputLength)
  }
}

const checksumBytes = 4

function unpackSnappy(bytes: Uint8Array, maxOutputLength: number): Uint8Array {
  const packed = bytes.subarray(0, -checksumBytes)
  const sizeBytes = Number(new ByteReader(packed).varint())
  if (sizeBytes > maxOutputLength) throw new BudgetSpent()
  const unpacked = decompressSnappy(packed, sizeBytes)
  const checksum = Buffer.from(bytes.subarray(-checksumBytes)).readUInt32BE()
  if (crc32(unpacked) !== checksum) throw new Misfit('the checksum is wrong')
  return unpacked
}
