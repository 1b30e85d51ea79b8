// Record batches (format 2). The broker stores them as the producer wrote them, sets their offset, and parses records only to find
// one by its timestamp.
import { gunzipSync, gzipSync, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { compressionsAlgorithms } from '@platformatic/kafka'
import type { KafkaCompression, KafkaRecord } from '../kafka-server.ts'
import { crc32c } from './crc32c.ts'
import { MalformedMessage, WireReader, WireWriter } from './wire.ts'

export interface RecordBatch {
  bytes: Buffer
  recordCount: number
  lastOffsetDelta: number
  baseTimestampMs: number
  maxTimestampMs: number
  compression: KafkaCompression
  isTransactional: boolean
  /** Ends a transaction; contains no records of a user. */
  isControl: boolean
  /** -1: the producer is not idempotent. */
  producerId: bigint
  producerEpoch: number
  baseSequence: number
}

interface BatchProducer {
  producerId: bigint
  producerEpoch: number
  baseSequence: number
}

const headerSizeBytes = 61
/** The batch length counts from here. */
const lengthEnd = 12
const checksumStart = 17
const checksummedStart = 21
const magic = 2
const transactionalBit = 0x10
const controlBit = 0x20

const compressions: readonly KafkaCompression[] = ['none', 'gzip', 'snappy', 'lz4', 'zstd']

const codecs: Record<KafkaCompression, { compress(bytes: Buffer): Buffer; decompress(bytes: Buffer): Buffer }> = {
  none: { compress: (bytes) => bytes, decompress: (bytes) => bytes },
  gzip: { compress: (bytes) => gzipSync(bytes), decompress: (bytes) => gunzipSync(bytes) },
  snappy: {
    compress: (bytes) => compressionsAlgorithms.snappy.compressSync(bytes),
    decompress: (bytes) => compressionsAlgorithms.snappy.decompressSync(bytes),
  },
  lz4: {
    compress: (bytes) => compressionsAlgorithms.lz4.compressSync(bytes),
    decompress: (bytes) => compressionsAlgorithms.lz4.decompressSync(bytes),
  },
  zstd: { compress: (bytes) => zstdCompressSync(bytes), decompress: (bytes) => zstdDecompressSync(bytes) },
}

/** An older format, which current brokers reject. */
export class UnsupportedFormat extends Error {}

export function parseBatches(bytes: Buffer): RecordBatch[] {
  const batches: RecordBatch[] = []
  for (let start = 0; start < bytes.length; ) {
    if (bytes.length - start < headerSizeBytes) throw new MalformedMessage('a batch ends within its header')
    if (bytes.readInt8(start + 16) !== magic) throw new UnsupportedFormat()
    const end = start + lengthEnd + bytes.readInt32BE(start + 8)
    if (end < start + headerSizeBytes || end > bytes.length) throw new MalformedMessage('a batch of a wrong length')
    // A copy: it must not change, and must not keep the whole request in memory.
    batches.push(parseBatch(Buffer.from(bytes.subarray(start, end))))
    start = end
  }
  return batches
}

function parseBatch(bytes: Buffer): RecordBatch {
  if (bytes.readUInt32BE(checksumStart) !== crc32c(bytes.subarray(checksummedStart))) {
    throw new MalformedMessage('a batch of a wrong checksum')
  }
  const attributes = bytes.readInt16BE(21)
  const compression = compressions[attributes & 7]
  if (!compression) throw new MalformedMessage('an unknown compression')
  const batch: RecordBatch = {
    bytes,
    compression,
    isTransactional: (attributes & transactionalBit) !== 0,
    isControl: (attributes & controlBit) !== 0,
    lastOffsetDelta: bytes.readInt32BE(23),
    baseTimestampMs: Number(bytes.readBigInt64BE(27)),
    maxTimestampMs: Number(bytes.readBigInt64BE(35)),
    producerId: bytes.readBigInt64BE(43),
    producerEpoch: bytes.readInt16BE(51),
    baseSequence: bytes.readInt32BE(53),
    recordCount: bytes.readInt32BE(57),
  }
  if (batch.recordCount !== batch.lastOffsetDelta + 1) throw new MalformedMessage('a batch that does not count right')
  return batch
}

/** Not covered by the checksum, so that the broker can set it. */
export function setOffset(batch: RecordBatch, baseOffset: number, leaderEpoch: number): void {
  batch.bytes.writeBigInt64BE(BigInt(baseOffset))
  batch.bytes.writeInt32BE(leaderEpoch, lengthEnd)
}

/** Timestamps of the records, by index. */
export function timestampsOf(batch: RecordBatch): { offsetDelta: number; timestampMs: number }[] {
  const records = new WireReader(codecs[batch.compression].decompress(batch.bytes.subarray(headerSizeBytes)), false)
  return Array.from({ length: batch.recordCount }, () => {
    const record = new WireReader(records.raw(records.varint()), false)
    record.int8()
    const timestampMs = batch.baseTimestampMs + record.varint()
    return { offsetDelta: record.varint(), timestampMs }
  })
}

export function buildBatch(records: Omit<KafkaRecord, 'partition'>[], compression: KafkaCompression): RecordBatch {
  const nowMs = Date.now()
  const timestamps = records.map(({ timestampMs }) => timestampMs ?? nowMs)
  const baseTimestampMs = timestamps[0] ?? nowMs
  const body = new WireWriter(false)
  records.forEach(({ key, value }, index) => {
    const timestampDelta = (timestamps[index] ?? nowMs) - baseTimestampMs
    const keyBytes = key === undefined ? null : Buffer.from(key)
    appendRecord(body, { offsetDelta: index, timestampDelta, key: keyBytes, value: Buffer.from(value) })
  })
  return assembleBatch({
    attributes: compressions.indexOf(compression),
    recordCount: records.length,
    baseTimestampMs,
    maxTimestampMs: timestamps.reduce((latest, timestampMs) => Math.max(latest, timestampMs), baseTimestampMs),
    producer: { producerId: -1n, producerEpoch: -1, baseSequence: -1 },
    body: codecs[compression].compress(body.toBuffer()),
  })
}

/** Transaction marker, which the transaction coordinator writes to each partition. */
export function buildMarker(producer: { producerId: bigint; producerEpoch: number }, isCommit: boolean): RecordBatch {
  const nowMs = Date.now()
  const key = new WireWriter(false).int16(0).int16(isCommit ? 1 : 0)
  const value = new WireWriter(false).int16(0).int32(0)
  const body = new WireWriter(false)
  appendRecord(body, { offsetDelta: 0, timestampDelta: 0, key: key.toBuffer(), value: value.toBuffer() })
  return assembleBatch({
    attributes: transactionalBit | controlBit,
    recordCount: 1,
    baseTimestampMs: nowMs,
    maxTimestampMs: nowMs,
    producer: { ...producer, baseSequence: -1 },
    body: body.toBuffer(),
  })
}

interface RecordParts {
  offsetDelta: number
  timestampDelta: number
  key: Buffer | null
  value: Buffer
}

function appendRecord(body: WireWriter, { offsetDelta, timestampDelta, key, value }: RecordParts): void {
  const record = new WireWriter(false).int8(0).varint(timestampDelta).varint(offsetDelta)
  record.varint(key?.length ?? -1).raw(key ?? Buffer.alloc(0))
  const noHeaders = 0
  const bytes = record.varint(value.length).raw(value).varint(noHeaders).toBuffer()
  body.varint(bytes.length).raw(bytes)
}

interface BatchParts {
  attributes: number
  recordCount: number
  baseTimestampMs: number
  maxTimestampMs: number
  producer: BatchProducer
  body: Buffer
}

function assembleBatch(parts: BatchParts): RecordBatch {
  const checksummed = new WireWriter(false)
    .int16(parts.attributes)
    .int32(parts.recordCount - 1)
    .int64(parts.baseTimestampMs)
    .int64(parts.maxTimestampMs)
    .int64(parts.producer.producerId)
    .int16(parts.producer.producerEpoch)
    .int32(parts.producer.baseSequence)
    .int32(parts.recordCount)
    .raw(parts.body)
    .toBuffer()
  const bytes = new WireWriter(false)
    .int64(0)
    .int32(checksummedStart - lengthEnd + checksummed.length)
    .int32(0)
    .int8(magic)
    .uint32(crc32c(checksummed))
    .raw(checksummed)
    .toBuffer()
  return parseBatch(bytes)
}
