// Reads the batches of records that a broker hands out as they are stored. Markers of transactions and records of aborted ones
// are passed over, but counted: the next offset after them is where reading goes on.
import { crc32c } from '@platformatic/kafka'
import { decompressBatch, UnreadableBatch } from './kafka-compression.ts'

export interface KafkaRecord {
  offset: bigint
  /** Undefined when the producer gave none. */
  timestampMs: number | undefined
  key: Buffer | null
  /** Null says that the key is deleted. */
  value: Buffer | null
  headers: [name: string, value: Buffer | null][]
}

/** One step through what was handed out. */
export interface RecordStep {
  /** Undefined for what lies before the offset that was asked for, and at the end of a batch, which can be after offsets that have no record. */
  record: KafkaRecord | undefined
  nextOffset: bigint
  /** What the batch takes that it stands in; 0 at the end of one: the step after that unpacks another. */
  unpackedBytes: number
}

export interface AbortedTransaction {
  producerId: bigint
  firstOffset: bigint
}

const headerBytes = 61
/** The mark of a transaction is a few bytes. */
const mostMarkerBytes = 64 * 1024
/** Of one record: each takes far more memory than it takes in a batch. */
const mostHeaders = 10_000
const mostHeadersBytes = 4 * 1024 * 1024
const lengthEnd = 12
/** The last that a Date can be. */
const latestTimeMs = 8.64e15

/**
 * The records from an offset on, each read when it is asked for: a batch can hold more of them than memory, and whoever asks
 * can stop at each step. Ends before a batch that is cut off. Throws UnreadableBatch.
 */
export function* readRecords(
  bytes: Buffer,
  fromOffset: bigint,
  aborted: readonly AbortedTransaction[],
  headers: 'keep' | 'skip' = 'keep',
): Generator<RecordStep, void> {
  const byOffset = aborted.toSorted((a, b) => (a.firstOffset < b.firstOffset ? -1 : 1))
  let abortedCount = 0
  const abortedProducers = new Set<bigint>()
  let endOfLast = -1n
  for (const batch of splitBatches(bytes)) {
    const header = readHeader(batch)
    const { baseOffset, lastOffset, producerId } = header
    // Going back would give records twice.
    if (baseOffset <= endOfLast || lastOffset < baseOffset) throw new UnreadableBatch('batches are not in order')
    endOfLast = lastOffset
    for (let next = byOffset[abortedCount]; next && next.firstOffset <= lastOffset; next = byOffset[abortedCount]) {
      abortedProducers.add(next.producerId)
      abortedCount++
    }
    const isAborted = header.isTransactional && abortedProducers.has(producerId)
    if (header.isControl && isAbortMarker(batch, header)) abortedProducers.delete(producerId)
    if (lastOffset >= fromOffset && !header.isControl && !isAborted) {
      yield* stepsOf(batch, header, fromOffset, headers)
    }
    yield { record: undefined, nextOffset: lastOffset < fromOffset ? fromOffset : lastOffset + 1n, unpackedBytes: 0 }
  }
}

function* stepsOf(
  batch: Buffer,
  header: BatchHeader,
  fromOffset: bigint,
  headers: 'keep' | 'skip',
): Generator<RecordStep, void> {
  const packed = batch.subarray(headerBytes)
  // Compaction leaves batches without records, of which only the head is kept.
  if (header.count === 0 && packed.length === 0) return
  if (header.count <= 0) throw new UnreadableBatch('a batch does not say how many records it has')
  const bytes = decompressBatch(header.codec, packed)
  const unpackedBytes = Math.max(bytes.length, 1)
  for (const record of recordsOf(bytes, header, headers)) {
    const isWanted = record.offset >= fromOffset
    yield {
      record: isWanted ? record : undefined,
      nextOffset: isWanted ? record.offset + 1n : fromOffset,
      unpackedBytes,
    }
  }
}

function* splitBatches(bytes: Buffer): Generator<Buffer, void> {
  for (let at = 0; at + lengthEnd <= bytes.length; ) {
    const endsAt = at + lengthEnd + bytes.readInt32BE(at + 8)
    if (endsAt > bytes.length) return
    if (endsAt < at + headerBytes) throw new UnreadableBatch('a batch is too short')
    yield bytes.subarray(at, endsAt)
    at = endsAt
  }
}

interface BatchHeader {
  baseOffset: bigint
  lastOffset: bigint
  codec: number
  hasAppendTime: boolean
  isTransactional: boolean
  isControl: boolean
  baseTimestampMs: number
  maxTimestampMs: number
  producerId: bigint
  count: number
}

function readHeader(batch: Buffer): BatchHeader {
  if (batch.readInt8(16) !== 2) throw new UnreadableBatch('a batch has a format from before Kafka 0.11')
  if (batch.readUInt32BE(17) !== crc32c(batch.subarray(21))) throw new UnreadableBatch('a batch is damaged')
  const attributes = batch.readInt16BE(21)
  const baseOffset = batch.readBigInt64BE(0)
  return {
    baseOffset,
    lastOffset: baseOffset + BigInt(batch.readInt32BE(23)),
    codec: attributes & 0x07,
    hasAppendTime: (attributes & 0x08) !== 0,
    isTransactional: (attributes & 0x10) !== 0,
    isControl: (attributes & 0x20) !== 0,
    baseTimestampMs: Number(batch.readBigInt64BE(27)),
    maxTimestampMs: Number(batch.readBigInt64BE(35)),
    producerId: batch.readBigInt64BE(43),
    count: batch.readInt32BE(57),
  }
}

/** The key of a marker is a version and a type, of which 0 is the end of an aborted transaction. */
function isAbortMarker(batch: Buffer, header: BatchHeader): boolean {
  const bytes = decompressBatch(header.codec, batch.subarray(headerBytes), mostMarkerBytes)
  const { value: marker } = recordsOf(bytes, header, 'skip').next()
  return marker?.key?.length === 4 && marker.key.readInt16BE(2) === 0
}

function* recordsOf(bytes: Buffer, header: BatchHeader, headers: 'keep' | 'skip'): Generator<KafkaRecord, undefined> {
  const cursor: Cursor = { bytes, at: 0 }
  let offsetBefore = header.baseOffset - 1n
  for (let left = header.count; left > 0; left--) {
    const record = readRecord(cursor, header, headers === 'keep')
    const isInOrder = record.offset > offsetBefore && record.offset <= header.lastOffset
    if (!isInOrder) throw new UnreadableBatch('records are not in order')
    offsetBefore = record.offset
    yield record
  }
  return undefined
}

interface Cursor {
  bytes: Buffer
  at: number
}

function readRecord(cursor: Cursor, header: BatchHeader, keepsHeaders: boolean): KafkaRecord {
  const endsAt = readVarint(cursor) + cursor.at
  if (endsAt > cursor.bytes.length) throw new UnreadableBatch('a record goes beyond its batch')
  // Attributes of a record, of which there are none.
  cursor.at++
  const timestampDeltaMs = readVarint(cursor)
  const offset = header.baseOffset + BigInt(readVarint(cursor))
  const key = readBytes(cursor)
  const value = readBytes(cursor)
  const headers = keepsHeaders ? readHeaders(cursor, endsAt) : []
  if (keepsHeaders ? cursor.at !== endsAt : cursor.at > endsAt)
    throw new UnreadableBatch('a record is not as long as it says')
  cursor.at = endsAt
  const timestampMs = header.hasAppendTime ? header.maxTimestampMs : header.baseTimestampMs + timestampDeltaMs
  const isTime = timestampMs >= 0 && timestampMs <= latestTimeMs
  return { offset, timestampMs: isTime ? timestampMs : undefined, key, value, headers }
}

function readHeaders(cursor: Cursor, endsAt: number): KafkaRecord['headers'] {
  const count = readVarint(cursor)
  if (count > mostHeaders || endsAt - cursor.at > mostHeadersBytes) {
    throw new UnreadableBatch('a record has too many headers')
  }
  const headers: KafkaRecord['headers'] = []
  for (let left = count; left > 0; left--) headers.push([readBytes(cursor)?.toString() ?? '', readBytes(cursor)])
  return headers
}

function readBytes(cursor: Cursor): Buffer | null {
  const lengthBytes = readVarint(cursor)
  if (lengthBytes < 0) return null
  const start = cursor.at
  cursor.at += lengthBytes
  if (cursor.at > cursor.bytes.length) throw new UnreadableBatch('a record goes beyond its batch')
  return cursor.bytes.subarray(start, cursor.at)
}

/** Zigzag. Exact for everything but times that no calendar has. */
function readVarint(cursor: Cursor): number {
  let value = 0
  let factor = 1
  for (let index = 0; index < 10; index++) {
    const byte = cursor.bytes[cursor.at++]
    if (byte === undefined) throw new UnreadableBatch('a batch does not hold the records that it says')
    value += (byte & 0x7f) * factor
    factor *= 128
    if (byte < 0x80) return value % 2 === 0 ? value / 2 : -(value + 1) / 2
  }
  throw new UnreadableBatch('a number is too long')
}
