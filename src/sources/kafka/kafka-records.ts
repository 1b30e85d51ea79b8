// Reads record batches in the stored format. Transaction markers and records of aborted transactions are skipped, but their offsets
// count: reading continues after them.
import { crc32c, Reader } from '@platformatic/kafka'
import type { HeldMemory } from '../../lib/held-memory.ts'
import { decompressBatch, UnreadableBatch } from './kafka-compression.ts'
import { type Cursor, type DecompressedBatch, KafkaRecord, type Scan, scanRecord } from './kafka-record.ts'
import type { KafkaRecordList } from './kafka-record-list.ts'

export interface AbortedTransaction {
  producerId: bigint
  firstOffset: bigint
}

/** Fetched batches of a partition, in the stored format. */
export interface StoredBatches {
  topic: string
  partition: number
  bytes: Buffer
  /** Held for the reader of the batches. */
  memory?: HeldMemory | undefined
  aborted: readonly AbortedTransaction[]
}

/** One step through the fetched batches. */
export interface RecordStep {
  /** Undefined before the requested offset, and at the end of a batch, which can be after offsets without a record. */
  record: KafkaRecord | undefined
  nextOffset: bigint
  /** Decompressed size of the current batch; 0 at its end: the next step decompresses another. */
  decompressedBytes: number
}

const headerBytes = 61
/** A transaction marker has a few bytes. */
const mostMarkerBytes = 64 * 1024
const lengthEnd = 12

/** For few records: each step creates an object. */
export function* readRecords(
  stored: StoredBatches,
  fromOffset: bigint,
  headers: 'keep' | 'skip' = 'keep',
): Generator<RecordStep, void> {
  const walk = new RecordWalk(stored, fromOffset, headers)
  while (walk.step()) {
    const { record, nextOffset, decompressedBytes } = walk
    yield { record, nextOffset, decompressedBytes }
  }
}

/**
 * Walks through the records from an offset on. Each step parses one record, so that a caller can stop before a large batch fills
 * the memory. Ends before a truncated batch. `step` throws UnreadableBatch.
 */
export class RecordWalk implements RecordStep {
  decompressedBytes = 0
  /** The current step has a record at or after the requested offset. */
  hasRecord = false
  readonly #stored: StoredBatches
  readonly #fromOffset: bigint
  readonly #hasHeaders: boolean
  readonly #aborted: AbortedTransactions
  readonly #scan: Scan = { offsetDelta: -1, startsAt: 0, valueStartsAt: 0, valueEndsAt: 0, sizeBytes: 0 }
  #isClosed = false
  #nextBatchAt = 0
  #endOfLastBatch = -1n
  #isInBatch = false
  #leftCount = 0
  #cursor: Cursor = { bytes: Buffer.alloc(0), at: 0 }
  #batch: DecompressedBatch | undefined
  #baseOffset: bigint
  #lastDelta = 0
  /** Offset delta of the first requested record in the batch. */
  #firstDelta = 0
  /** Relative to the base offset. */
  #nextDelta = 0

  constructor(stored: StoredBatches, fromOffset: bigint, headers: 'keep' | 'skip' = 'keep') {
    this.#stored = stored
    this.#fromOffset = fromOffset
    this.#baseOffset = fromOffset
    this.#hasHeaders = headers === 'keep'
    this.#aborted = new AbortedTransactions(stored.aborted)
  }

  get nextOffset(): bigint {
    const nextOffset = this.#baseOffset + BigInt(this.#nextDelta)
    return nextOffset < this.#fromOffset ? this.#fromOffset : nextOffset
  }

  /** Created on each access. */
  get record(): KafkaRecord | undefined {
    if (!this.hasRecord || !this.#batch) return undefined
    const { startsAt, valueStartsAt, valueEndsAt } = this.#scan
    return new KafkaRecord(this.#batch, startsAt, valueStartsAt, valueEndsAt)
  }

  /** Of the current record. */
  get offset(): bigint {
    return this.#baseOffset + BigInt(this.#scan.offsetDelta)
  }

  /** Approximate memory of the record. */
  get sizeBytes(): number {
    return this.#scan.sizeBytes
  }

  /** The current record is a tombstone. */
  get isDeletion(): boolean {
    return this.#scan.valueEndsAt < this.#scan.valueStartsAt
  }

  /** Adds the current record. */
  addTo(list: KafkaRecordList): void {
    if (this.hasRecord && this.#batch) list.add(this.#batch, this.#scan)
  }

  /** No `step` may follow. */
  close(): void {
    if (!this.#isClosed) this.#stored.memory?.release()
    this.#isClosed = true
  }

  /** Returns false when nothing is left. */
  step(): boolean {
    if (this.#isClosed) return false
    if (this.#leftCount > 0) this.#readRecord()
    else if (this.#isInBatch) this.#endBatch()
    else if (!this.#beginBatch()) return false
    else return this.step()
    return true
  }

  #readRecord(): void {
    const scan = this.#scan
    const deltaBefore = scan.offsetDelta
    scanRecord(this.#cursor, scan, this.#hasHeaders)
    const { offsetDelta } = scan
    if (offsetDelta <= deltaBefore || offsetDelta > this.#lastDelta)
      throw new UnreadableBatch('records are not in order')
    this.#leftCount--
    this.#nextDelta = offsetDelta + 1
    this.hasRecord = offsetDelta >= this.#firstDelta
  }

  #endBatch(): void {
    this.#isInBatch = false
    this.#batch = undefined
    this.#cursor.bytes = Buffer.alloc(0)
    this.#nextDelta = this.#lastDelta + 1
    this.hasRecord = false
    this.decompressedBytes = 0
  }

  #beginBatch(): boolean {
    const bytes = findBatch(this.#stored.bytes, this.#nextBatchAt)
    if (!bytes) return false
    const header = readHeader(bytes)
    const lastOffset = header.baseOffset + BigInt(header.lastDelta)
    // Going back would return records twice.
    if (header.baseOffset <= this.#endOfLastBatch || header.lastDelta < 0)
      throw new UnreadableBatch('batches are not in order')
    const isAborted = this.#aborted.has(bytes, header, lastOffset)
    const hasRecords = lastOffset >= this.#fromOffset && !header.isControl && !isAborted
    this.#leftCount = hasRecords ? this.#decompress(bytes, header) : 0
    this.#nextBatchAt += bytes.length
    this.#endOfLastBatch = lastOffset
    this.#isInBatch = true
    this.#baseOffset = header.baseOffset
    this.#lastDelta = header.lastDelta
    this.#firstDelta = Number(this.#fromOffset - header.baseOffset)
    this.#nextDelta = 0
    return true
  }

  /** Returns the record count. */
  #decompress(packedBatch: Buffer, { count, codec, baseOffset, baseTimestampMs, ...header }: BatchHeader): number {
    const packed = packedBatch.subarray(headerBytes)
    // Compaction can leave empty batches, of which only the header remains.
    if (count === 0 && packed.length === 0) return 0
    if (count <= 0) throw new UnreadableBatch('a batch does not say how many records it has')
    const bytes = decompressBatch(codec, packed)
    const { topic, partition } = this.#stored
    const appendedAtMs = header.hasAppendTime ? header.maxTimestampMs : undefined
    const hasHeaders = this.#hasHeaders
    // Decompressed bytes are not in the fetched buffer.
    const memory = codec === 0 ? this.#stored.memory : undefined
    this.#batch = { topic, partition, bytes, memory, baseOffset, baseTimestampMs, appendedAtMs, hasHeaders }
    this.#cursor = { bytes, at: 0 }
    this.#scan.offsetDelta = -1
    this.decompressedBytes = Math.max(bytes.length, 1)
    return count
  }
}

/** Undefined when the batch is truncated. */
function findBatch(bytes: Buffer, at: number): Buffer | undefined {
  if (at + lengthEnd > bytes.length) return undefined
  const endsAt = at + lengthEnd + bytes.readInt32BE(at + 8)
  if (endsAt > bytes.length) return undefined
  if (endsAt < at + headerBytes) throw new UnreadableBatch('a batch is too short')
  return bytes.subarray(at, endsAt)
}

interface BatchHeader {
  baseOffset: bigint
  /** Last offset delta. */
  lastDelta: number
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
  // The library copies a buffer that is not wrapped in a Reader.
  const checked = Reader.from(batch.subarray(21)).buffer
  if (batch.readUInt32BE(17) !== crc32c(checked)) throw new UnreadableBatch('a batch is damaged')
  const attributes = batch.readInt16BE(21)
  return {
    baseOffset: batch.readBigInt64BE(0),
    lastDelta: batch.readInt32BE(23),
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

/** Producers with an aborted transaction at the current offset: from its first offset up to its marker. */
class AbortedTransactions {
  readonly #byOffset: AbortedTransaction[]
  readonly #producers = new Set<bigint>()
  #begunCount = 0

  constructor(aborted: readonly AbortedTransaction[]) {
    this.#byOffset = aborted.toSorted((a, b) => (a.firstOffset < b.firstOffset ? -1 : 1))
  }

  /** Batches must be passed in offset order. */
  has(batch: Buffer, header: BatchHeader, lastOffset: bigint): boolean {
    const { producerId } = header
    for (;;) {
      const next = this.#byOffset[this.#begunCount]
      if (!next || next.firstOffset > lastOffset) break
      this.#producers.add(next.producerId)
      this.#begunCount++
    }
    const isAborted = header.isTransactional && this.#producers.has(producerId)
    if (header.isControl && isAbortMarker(batch, header)) this.#producers.delete(producerId)
    return isAborted
  }
}

/** The key of a marker is a version and a type; type 0 is ABORT. */
function isAbortMarker(batch: Buffer, { codec, count, baseOffset, baseTimestampMs }: BatchHeader): boolean {
  const bytes = decompressBatch(codec, batch.subarray(headerBytes), mostMarkerBytes)
  if (count <= 0) return false
  const scan: Scan = { offsetDelta: 0, startsAt: 0, valueStartsAt: 0, valueEndsAt: 0, sizeBytes: 0 }
  scanRecord({ bytes, at: 0 }, scan, false)
  const common = { topic: '', partition: 0, bytes, baseOffset, baseTimestampMs, appendedAtMs: undefined }
  const { key } = new KafkaRecord({ ...common, hasHeaders: false }, scan.startsAt, scan.valueStartsAt, scan.valueEndsAt)
  return key?.length === 4 && key.readInt16BE(2) === 0
}
