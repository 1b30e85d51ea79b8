// One record within the bytes of its batch: its parts are created on access. A malformed record fails when it is scanned, never later.

import type { SourceRecord } from '../../formats/encode/record-list.ts'
import type { HeldMemory } from '../../lib/held-memory.ts'
import type { Row } from '../../source-shapes/probe.ts'
import { UnreadableBatch } from './kafka-compression.ts'

/** Fields that all records of a batch share. */
export interface DecompressedBatch {
  topic: string
  partition: number
  bytes: Buffer
  /** Of `bytes`, where it is reused. */
  memory?: HeldMemory | undefined
  baseOffset: bigint
  baseTimestampMs: number
  /** Timestamp of all records with LogAppendTime; undefined with CreateTime. */
  appendedAtMs: number | undefined
  /** Whether headers are parsed. */
  hasHeaders: boolean
}

/** The latest time of a Date. */
const latestTimeMs = 8.64e15

export class KafkaRecord implements SourceRecord {
  readonly #batch: DecompressedBatch
  /** Byte offset of the timestamp delta, which the other fields follow. */
  readonly #startsAt: number
  readonly #valueStartsAt: number
  /** Less than `#valueStartsAt`: the record has no value. */
  readonly #valueEndsAt: number

  constructor(batch: DecompressedBatch, startsAt: number, valueStartsAt: number, valueEndsAt: number) {
    this.#batch = batch
    this.#startsAt = startsAt
    this.#valueStartsAt = valueStartsAt
    this.#valueEndsAt = valueEndsAt
  }

  /** A tombstone: the record has no value and deletes its key. */
  get isDeletion(): boolean {
    return this.#valueEndsAt < this.#valueStartsAt
  }

  get value(): Buffer {
    return this.#batch.bytes.subarray(this.#valueStartsAt, this.#valueEnd)
  }

  get offset(): bigint {
    return this.#batch.baseOffset + BigInt(this.#parts().offsetDelta)
  }

  /** Undefined when the producer sent none. */
  get timestampMs(): number | undefined {
    return this.#parts().timestampMs
  }

  get key(): Buffer | null {
    return this.#parts().key
  }

  get headers(): [name: string, value: Buffer | null][] {
    if (!this.#batch.hasHeaders) return []
    const cursor = { bytes: this.#batch.bytes, at: this.#valueEnd }
    const count = readVarint(cursor)
    const headers: [name: string, value: Buffer | null][] = []
    for (let left = count; left > 0; left--) headers.push([readBytes(cursor)?.toString() ?? '', readBytes(cursor)])
    return headers
  }

  /** Created on each access. */
  get meta(): Row {
    const { topic, partition, baseOffset } = this.#batch
    const { offsetDelta, timestampMs, key } = this.#parts()
    const offset = Number(baseOffset) + offsetDelta
    return {
      _topic: topic,
      _partition: partition,
      _offset: Number.isSafeInteger(offset) ? offset : baseOffset + BigInt(offsetDelta),
      _timestamp: timestampMs === undefined ? null : new Date(timestampMs),
      _key: key,
      _headers: byName(this.headers),
    }
  }

  get #valueEnd(): number {
    return Math.max(this.#valueStartsAt, this.#valueEndsAt)
  }

  #parts(): { offsetDelta: number; timestampMs: number | undefined; key: Buffer | null } {
    const { bytes, baseTimestampMs, appendedAtMs } = this.#batch
    const cursor = { bytes, at: this.#startsAt }
    const producedAtMs = baseTimestampMs + readVarint(cursor)
    const timestampMs = appendedAtMs ?? producedAtMs
    const isTime = timestampMs >= 0 && timestampMs <= latestTimeMs
    const offsetDelta = readVarint(cursor)
    return { offsetDelta, timestampMs: isTime ? timestampMs : undefined, key: readBytes(cursor) }
  }
}

/** A header name can occur more than once. */
function byName(headers: KafkaRecord['headers']): Record<string, (string | null)[]> {
  if (headers.length === 0) return {}
  const lists = new Map<string, (string | null)[]>()
  for (const [name, value] of headers) {
    const text = value?.toString() ?? null
    const list = lists.get(name)
    if (list) list.push(text)
    else lists.set(name, [text])
  }
  return Object.fromEntries(lists)
}

export interface Cursor {
  bytes: Buffer
  at: number
}

/** Result of scanning a record without creating objects; one instance serves a whole walk. */
export interface Scan {
  offsetDelta: number
  startsAt: number
  valueStartsAt: number
  valueEndsAt: number
  /** Approximate memory of the record with its headers. */
  sizeBytes: number
}

/** Per record: in memory, headers take far more than in a batch. */
const mostHeaders = 10_000
const mostHeadersBytes = 4 * 1024 * 1024
/** Approximate memory of an empty header. */
const headerOverheadBytes = 100

/** Leaves the cursor after the record. Throws UnreadableBatch. */
export function scanRecord(cursor: Cursor, scan: Scan, hasHeaders: boolean): void {
  const endsAt = readVarint(cursor) + cursor.at
  if (endsAt > cursor.bytes.length) throw new UnreadableBatch('a record goes beyond its batch')
  // Record attributes are unused.
  cursor.at++
  scan.startsAt = cursor.at
  readVarint(cursor)
  scan.offsetDelta = readVarint(cursor)
  const keyBytes = skipBytes(cursor)
  const valueBytes = readVarint(cursor)
  scan.valueStartsAt = cursor.at
  scan.valueEndsAt = cursor.at + valueBytes
  cursor.at += Math.max(valueBytes, 0)
  scan.sizeBytes = keyBytes + Math.max(valueBytes, 0)
  if (hasHeaders) scan.sizeBytes += skipHeaders(cursor, endsAt)
  if (hasHeaders ? cursor.at !== endsAt : cursor.at > endsAt)
    throw new UnreadableBatch('a record is not as long as it says')
  cursor.at = endsAt
}

function skipHeaders(cursor: Cursor, endsAt: number): number {
  const count = readVarint(cursor)
  if (count === 0) return 0
  if (count > mostHeaders || endsAt - cursor.at > mostHeadersBytes)
    throw new UnreadableBatch('a record has too many headers')
  let sizeBytes = 0
  for (let left = count; left > 0; left--) sizeBytes += headerOverheadBytes + skipBytes(cursor) + skipBytes(cursor)
  return sizeBytes
}

function skipBytes(cursor: Cursor): number {
  const lengthBytes = Math.max(readVarint(cursor), 0)
  cursor.at += lengthBytes
  if (cursor.at > cursor.bytes.length) throw new UnreadableBatch('a record goes beyond its batch')
  return lengthBytes
}

function readBytes(cursor: Cursor): Buffer | null {
  const lengthBytes = readVarint(cursor)
  if (lengthBytes < 0) return null
  const start = cursor.at
  cursor.at += lengthBytes
  return cursor.bytes.subarray(start, cursor.at)
}

/** Zigzag. Exact except for timestamps beyond any calendar. */
function readVarint(cursor: Cursor): number {
  const first = cursor.bytes[cursor.at]
  if (first !== undefined && first < 0x80) {
    cursor.at++
    return (first >>> 1) ^ -(first & 1)
  }
  return readLongVarint(cursor)
}

function readLongVarint(cursor: Cursor): number {
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
