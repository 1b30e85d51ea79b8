// Encoder of objects: reads an object from its beginning, detects its layout, and cuts it between rows.
import type { Buffer } from 'node:buffer'
import { makePieceMemory, type PieceMemory } from '../../lib/piece-memory.ts'
import type { ObjectStorageSource } from '../../source-shapes/object-storage-source.ts'
import type { CompressionMethod } from '../decode/compression.ts'
import { delimitedTextOf } from '../delimited-scan.ts'
import { Undecodable } from '../undecodable.ts'
import { delimitedRowEnds } from './delimited-row-ends.ts'
import type { EncoderParts, ObjectEncoder } from './encoder.ts'
import { fillColumns } from './field-plan.ts'
import { delimitedObjectFormat, jsonFormat, maxRowBytes, tooLong, virtualValuesOf } from './find-object-format.ts'
import { joinIfAlike } from './joined-rows.ts'
import { makeFeed, type ObjectFeed } from './object-feed.ts'
import type { ObjectFormat, ObjectToEncode } from './object-format.ts'
import { openInput } from './object-input.ts'
import { rowsOfPiece } from './object-rows.ts'
import { explained, type ObjectPlan } from './object-stream.ts'
import { findEnds } from './row-ends.ts'
import type { Rows } from './rows.ts'
import { wholeObjectRows } from './whole-object-rows.ts'
import { makeYieldToLoop, type YieldToLoop } from './yield-to-loop.ts'

export function makeObjectEncoder(parts: EncoderParts): ObjectEncoder {
  const plan: ObjectPlan = {
    source: parts.source as ObjectStorageSource,
    filled: fillColumns(parts.kind, parts.destination.columns, parts.fieldMappings),
  }
  const memory = makePieceMemory(freeMemoryBytes)
  const isOnePiece = plan.source.format === 'Parquet' || plan.source.format === 'Avro'
  return {
    async *pieces(object, { partition, beginByte, pieceBytes, signal }) {
      if (isOnePiece) {
        yield { beginByte: 0, endByte: null, rows: wholeObjectRows(plan, object, partition, signal) }
        return
      }
      const opened = await openObject(plan, object, { signal, memory, pieceBytes: pieceBytes() })
      try {
        yield* cutPieces(opened, { object, partition, beginByte, pieceBytes, yieldToLoop: makeYieldToLoop(signal) })
      } catch (error) {
        throw explained(error, object)
      } finally {
        await opened.feed.close()
      }
    },
    async piece(object, { partition, beginByte, endByte, signal }) {
      if (isOnePiece) return wholeObjectRows(plan, object, partition, signal)
      const { feed, format } = await openObject(plan, object, { signal, memory, pieceBytes: 0 })
      try {
        await feed.skipTo(Math.max(beginByte, format.dataStart))
        const { begin } = feed
        await feed.fill(endByte === null ? Number.POSITIVE_INFINITY : endByte - begin)
        const end = endByte ?? begin + feed.bytes.length
        if (begin + feed.bytes.length < end) throw new Undecodable('it is shorter than it was')
        const { bytes, release } = feed.take(end - begin)
        const yieldToLoop = makeYieldToLoop(signal)
        const endsObject = endByte === null
        const ends = await findEnds(format.rowEnds, bytes, { ending: endsObject ? 'object' : 'row', yieldToLoop })
        const piece = { object, partition, format, bytes, begin, ends, readBytes: end - beginByte, endsObject, release }
        return await rowsOfPiece(piece, yieldToLoop)
      } catch (error) {
        throw explained(error, object)
      } finally {
        await feed.close()
      }
    },
    join: joinIfAlike,
  }
}

const chunkBytes = 64 * 1024
/** Enough for two of the largest pieces and the bytes read after them. */
const freeMemoryBytes = 2 * 42 * 1024 * 1024

interface OpenedObject {
  feed: ObjectFeed
  format: ObjectFormat
  /** Undefined when the object is compressed. */
  sizeBytes: number | undefined
}

async function openObject(
  plan: ObjectPlan,
  object: ObjectToEncode,
  { signal, memory, pieceBytes }: { signal: AbortSignal; memory: PieceMemory; pieceBytes: number },
): Promise<OpenedObject> {
  // A piece is exceeded by at most one chunk.
  const expectedBytes = Math.min(object.sizeBytes, evenPieceBytes(object.sizeBytes, pieceBytes) + chunkBytes)
  let sizeBytes: number | undefined
  const found = (method: CompressionMethod): void => {
    if (method === 'none') sizeBytes = object.sizeBytes
  }
  const input = await openInput(plan, object, { signal, found }).catch((error: unknown) => {
    throw explained(error, object)
  })
  const feed = makeFeed(input, { memory, pieceBytes: expectedBytes })
  try {
    const format = await formatOf(plan, object, feed)
    return { feed, format, sizeBytes }
  } catch (error) {
    await feed.close()
    throw explained(error, object)
  }
}

async function formatOf(
  { source, filled }: ObjectPlan,
  object: ObjectToEncode,
  feed: ObjectFeed,
): Promise<ObjectFormat> {
  const virtualValues = virtualValuesOf(object)
  if (source.format === 'JSONEachRow') return jsonFormat(feed, filled, virtualValues)
  const delimited = delimitedTextOf(source)
  return delimitedObjectFormat(feed, { ...delimited, filled, virtualValues }, delimitedRowEnds(delimited.text))
}

interface Cutting {
  object: ObjectToEncode
  partition: string
  beginByte: number
  pieceBytes: () => number
  yieldToLoop: YieldToLoop
}

type Piece = { beginByte: number; endByte: number | null; rows: Rows }

async function* cutPieces(
  { feed, format, sizeBytes }: OpenedObject,
  { object, partition, beginByte, pieceBytes, yieldToLoop }: Cutting,
): AsyncGenerator<Piece, void> {
  await feed.skipTo(Math.max(beginByte, format.dataStart))
  for (let pieceBegin = beginByte; ; ) {
    const { begin } = feed
    const leftBytes = sizeBytes === undefined ? 0 : sizeBytes - begin
    const { cut, ends } = await findCut(feed, format, {
      pieceBytes: evenPieceBytes(leftBytes, pieceBytes()),
      yieldToLoop,
    })
    const end = begin + (cut ?? feed.bytes.length)
    const { bytes, release } = feed.take(end - begin)
    const endsObject = cut === undefined
    const piece = { object, partition, format, bytes, begin, ends, readBytes: end - pieceBegin, endsObject, release }
    yield { beginByte: pieceBegin, endByte: endsObject ? null : end, rows: await rowsOfPiece(piece, yieldToLoop) }
    if (endsObject) return
    pieceBegin = end
  }
}

/** Divides the remaining bytes into as few pieces of similar size as possible: the next piece is read while one is inserted. */
function evenPieceBytes(leftBytes: number, mostBytes: number): number {
  const pieces = Math.ceil(leftBytes / mostBytes)
  // A piece ends with a row, before its limit; without the extra chunk, a small piece would be left over.
  return pieces > 1 ? Math.min(mostBytes, Math.ceil(leftBytes / pieces) + chunkBytes) : mostBytes
}

interface Cut {
  /** End of the piece within the buffered bytes; undefined when the object ends with it. */
  cut: number | undefined
  /** Ends of its rows. */
  ends: Uint32Array
}

async function findCut(
  feed: ObjectFeed,
  format: ObjectFormat,
  { pieceBytes, yieldToLoop }: { pieceBytes: number; yieldToLoop: YieldToLoop },
): Promise<Cut> {
  for (let neededBytes = pieceBytes + 1; ; neededBytes = feed.bytes.length * 2) {
    await feed.fill(neededBytes)
    const { bytes, isEnded } = feed
    const ends = await findEnds(format.rowEnds, bytes, { ending: isEnded ? 'object' : 'anywhere', yieldToLoop })
    const isLast = isEnded && bytes.length <= pieceBytes
    const count = isLast ? 0 : countToCut(bytes, ends, format, pieceBytes)
    if (count > 0) return { cut: ends[count - 1], ends: ends.subarray(0, count) }
    if (isEnded) return { cut: undefined, ends }
    if (bytes.length > maxRowBytes) throw new Undecodable(tooLong)
  }
}

/** Number of rows in the piece: as many as its size allows, and at least one; 0 when more bytes are needed. */
function countToCut(bytes: Buffer, ends: Uint32Array, { rowEnds }: ObjectFormat, pieceBytes: number): number {
  const mayCut = (end: number): boolean => end < bytes.length && rowEnds.mayCutAt(bytes, end)
  const last = ends.findLastIndex((end) => end <= pieceBytes && mayCut(end))
  return (last === -1 ? ends.findIndex(mayCut) : last) + 1
}
