// Rows of the records of a stream. Cheap formats are written when sent. Others are written once while they are checked, and kept up to a
// limit; rows beyond the limit are written again when sent.

import type { RejectedRow } from '../../engine/rejected-row.ts'
import { Undecodable } from '../undecodable.ts'
import { ByteOutput, OutputFull } from './byte-output.ts'
import { packMeta, unpackMeta } from './kept-meta.ts'
import { chooseRecords } from './record-choice.ts'
import type { InPlace, RecordFormat } from './record-format.ts'
import type { RecordList, SourceRecord, ValueOffsets } from './record-list.ts'
import { partOf, partWithout } from './row-parts.ts'
import type { Rows, RowToKeep } from './rows.ts'
import { makeYieldToLoop, type YieldToLoop } from './yield-to-loop.ts'

/** Size of a chunk of the body. */
const chunkBytes = 192 * 1024
/** Limit for the written bytes kept per batch. */
const maxKeptBytes = 64 * 1024 * 1024
/** Limit for one written record. */
const maxRecordBytes = 64 * 1024 * 1024

interface Records {
  format: RecordFormat
  partition: string
  records: RecordList
  readBytes: number
  undecodable: readonly RejectedRow[]
  /** Written bytes of the first `count` records. */
  written: { count: number; chunks: Uint8Array[] }
}

/** Rejects with NotConnected, with a ProbeFailure, or with the abort reason of the signal. */
export async function encodeRecords(
  unprepared: RecordFormat,
  partition: string,
  records: RecordList,
  signal: AbortSignal,
): Promise<Rows> {
  const format = (await unprepared.prepare?.(records, signal)) ?? unprepared
  const yieldToLoop = makeYieldToLoop(signal)
  const { valueOffsets } = records
  if (format.inPlace && valueOffsets) {
    const { undecodable, readBytes } = await checkInPlace(format.inPlace, valueOffsets, yieldToLoop)
    return recordRows({ format, partition, records, readBytes, undecodable, written: nothingWritten })
  }
  const undecodable: RejectedRow[] = []
  const keeper = format.check ? undefined : makeKeeper(format)
  const examine = format.check ?? keeper!.write
  let [index, readBytes] = [0, 0]
  for (const record of records) {
    const reason = examine(record)
    if (reason !== undefined) undecodable.push({ index, reason })
    readBytes += record.value.length
    if (index++ % 64 === 0) await yieldToLoop()
  }
  const written = keeper?.finish() ?? nothingWritten
  return recordRows({ format, partition, records, readBytes, undecodable, written })
}

const nothingWritten: Records['written'] = { count: 0, chunks: [] }

async function checkInPlace(
  { check }: InPlace,
  { starts, ends, runs }: ValueOffsets,
  yieldToLoop: YieldToLoop,
): Promise<Pick<Records, 'undecodable' | 'readBytes'>> {
  const undecodable: RejectedRow[] = []
  let [index, readBytes] = [0, 0]
  for (const run of runs) {
    for (; index < run.end; index++) {
      const start = starts[index]!
      const end = ends[index]!
      const reason = check(run.bytes, start, end)
      if (reason !== undefined) undecodable.push({ index, reason })
      readBytes += end - start
      if (index % 64 === 0) await yieldToLoop()
    }
  }
  return { undecodable, readBytes }
}

interface Keeper {
  /** Returns why the record cannot be written. */
  write(record: SourceRecord): string | undefined
  finish(): Records['written']
}

function makeKeeper(format: RecordFormat): Keeper {
  const out = new ByteOutput()
  const chunks: Uint8Array[] = []
  let [count, keptBytes, isFull] = [0, 0, false]
  const keep = (): void => {
    const chunk = out.take()
    keptBytes += chunk.length
    chunks.push(chunk)
  }
  return {
    write(record) {
      const before = isFull ? 0 : out.sizeBytes
      if (isFull) out.backTo(0)
      const reason = problemOfWriting(format, record, out)
      if (reason !== undefined) out.backTo(before)
      if (isFull) return reason
      count++
      if (out.sizeBytes >= chunkBytes) keep()
      isFull = keptBytes >= maxKeptBytes
      return reason
    },
    finish() {
      if (!isFull) keep()
      return { count, chunks }
    },
  }
}

function problemOfWriting(format: RecordFormat, record: SourceRecord, out: ByteOutput): string | undefined {
  try {
    out.limit(maxRecordBytes)
    format.write(record, out)
    return undefined
  } catch (error) {
    if (error instanceof Undecodable) return error.reason
    if (error instanceof OutputFull) return 'it is larger than 64 MiB when it is decoded'
    throw error
  }
}

function recordRows(parts: Records): Rows {
  const { format, partition, records, readBytes, undecodable } = parts
  const select = (indexes: number[], left: readonly RejectedRow[]): Rows => {
    const chosen = chooseRecords(records, indexes)
    const sizeBytes = valueBytesOf(chosen)
    const written = nothingWritten
    return recordRows({ format, partition, records: chosen, readBytes: sizeBytes, undecodable: left, written })
  }
  return {
    shape: format.shape,
    count: records.length,
    readBytes,
    undecodable,
    isDivisible: true,
    body: () => bodyOf(parts),
    only(begin, end) {
      const { indexes, left } = partOf(undecodable, begin, end)
      return select(indexes, left)
    },
    without(rejected) {
      const { indexes, left } = partWithout(records.length, undecodable, rejected)
      return select(indexes, left)
    },
    keep: (index) => keptRecord(partition, records.at(index)!),
    release: () => records.release?.(),
  }
}

function valueBytesOf(records: RecordList): number {
  const { valueOffsets, length } = records
  let sizeBytes = 0
  if (valueOffsets)
    for (let index = 0; index < length; index++) sizeBytes += valueOffsets.ends[index]! - valueOffsets.starts[index]!
  else for (const { value } of records) sizeBytes += value.length
  return sizeBytes
}

function bodyOf(parts: Records): Generator<Uint8Array, void> {
  const { format, records } = parts
  return format.inPlace && records.valueOffsets
    ? bodyInPlace(parts, format.inPlace, records.valueOffsets)
    : bodyByRecord(parts)
}

function* bodyInPlace(
  { undecodable }: Records,
  { writeSome }: InPlace,
  valueOffsets: ValueOffsets,
): Generator<Uint8Array, void> {
  const out = new ByteOutput()
  let [first, skipped] = [0, 0]
  for (const { bytes, end } of valueOffsets.runs) {
    while (first < end) {
      const nextSkipped = undecodable[skipped]?.index
      if (first === nextSkipped) {
        skipped++
        first++
        continue
      }
      first = writeSome(bytes, valueOffsets, { first, end: Math.min(end, nextSkipped ?? end) }, out)
      if (out.sizeBytes >= chunkBytes) yield* out.lend()
    }
  }
  if (out.sizeBytes > 0) yield* out.lend()
  out.close()
}

function* bodyByRecord({ format, records, undecodable, written }: Records): Generator<Uint8Array, void> {
  yield* written.chunks
  const skipped = new Set(undecodable.map(({ index }) => index))
  const out = new ByteOutput()
  for (let index = written.count; index < records.length; index++) {
    if (skipped.has(index)) continue
    format.write(records.at(index)!, out)
    if (out.sizeBytes >= chunkBytes) yield* out.lend()
  }
  if (out.sizeBytes > 0) yield* out.lend()
  out.close()
}

function keptRecord(partition: string, { value, meta }: SourceRecord): RowToKeep {
  const { _offset: offset, _sequence: sequence } = meta
  const position = offset === undefined ? `sequence ${String(sequence)}` : `offset ${String(offset)}`
  return { partition, position, raw: value, meta: packMeta(meta) }
}

/** The record of a rejected row. Throws when it is not one of a record. */
export function recordOfKept({ raw, meta }: { raw: Uint8Array; meta: string }): SourceRecord {
  return { value: raw, meta: unpackMeta(meta) as SourceRecord['meta'] }
}
