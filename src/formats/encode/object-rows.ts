// Rows of a piece of an object.
import { Buffer } from 'node:buffer'
import type { RejectedRow } from '../../engine/rejected-row.ts'
import type { TextRange } from '../json-scan.ts'
import { ByteOutput } from './byte-output.ts'
import { packMeta } from './kept-meta.ts'
import type { ObjectFormat, ObjectToEncode } from './object-format.ts'
import { partOf, partWithout } from './row-parts.ts'
import type { Rows, RowToKeep } from './rows.ts'
import type { YieldToLoop } from './yield-to-loop.ts'

const chunkBytes = 192 * 1024

export interface ObjectPiece {
  object: Omit<ObjectToEncode, 'open'>
  partition: string
  format: ObjectFormat
  bytes: Buffer
  /** Offset of the bytes in the object. */
  begin: number
  /** Ends of all its rows. */
  ends: Uint32Array
  readBytes: number
  /** The last row of the piece is the last row of the object. */
  endsObject: boolean
  /** Returns the memory of the bytes for reuse. */
  release?(): void
}

interface PieceRows extends ObjectPiece {
  /** Undefined when each row begins where the previous one ends. */
  starts: Uint32Array | undefined
  undecodable: readonly RejectedRow[]
  /** All rows can be sent unchanged, in one chunk. */
  isStraight: boolean
}

/** Rejects with the abort reason of the signal of `yieldToLoop`. */
export async function rowsOfPiece(piece: ObjectPiece, yieldToLoop: YieldToLoop): Promise<Rows> {
  const { format, bytes, ends } = piece
  const undecodable: RejectedRow[] = []
  let isStraight = true
  for (let index = 0, start = 0; index < ends.length; index++) {
    const end = ends[index]!
    const isLast = piece.endsObject && index === ends.length - 1
    const reason = format.check(bytes, start, end) ?? (isLast ? format.checkLast(bytes, start, end) : undefined)
    if (reason !== undefined) undecodable.push({ index, reason })
    if (isStraight) isStraight = reason === undefined && format.isStraight(bytes, start, end)
    if (index % 64 === 0) await yieldToLoop()
    start = end
  }
  return pieceRows({ ...piece, starts: undefined, undecodable, isStraight })
}

function rowAt({ starts, ends }: PieceRows, index: number): TextRange {
  const start = starts ? starts[index]! : index === 0 ? 0 : ends[index - 1]!
  return { start, end: ends[index]! }
}

function pieceRows(parts: PieceRows): Rows {
  const { format, ends, undecodable } = parts
  const select = (indexes: number[], left: readonly RejectedRow[]): Rows => {
    const rows = indexes.map((index) => rowAt(parts, index))
    const selected = {
      starts: Uint32Array.from(rows, ({ start }) => start),
      ends: Uint32Array.from(rows, ({ end }) => end),
    }
    const readBytes = rows.reduce((sizeBytes, { start, end }) => sizeBytes + end - start, 0)
    return pieceRows({ ...parts, ...selected, undecodable: left, isStraight: false, readBytes })
  }
  return {
    shape: format.shape,
    count: ends.length,
    readBytes: parts.readBytes,
    undecodable,
    isDivisible: true,
    body: () => (parts.isStraight ? straightBody(parts) : writtenBody(parts)),
    only(begin, end) {
      const { indexes, left } = partOf(undecodable, begin, end)
      return select(indexes, left)
    },
    without(rejected) {
      const { indexes, left } = partWithout(ends.length, undecodable, rejected)
      return select(indexes, left)
    },
    keep: (index) => keptRow(parts, rowAt(parts, index)),
    release: () => parts.release?.(),
  }
}

const newline = Buffer.from('\n')

function* straightBody({ bytes, ends }: PieceRows): Generator<Uint8Array, void> {
  const end = ends.at(-1)
  if (end === undefined) return
  yield bytes.subarray(0, end)
  if (bytes[end - 1] !== newline[0]) yield newline
}

function* writtenBody(parts: PieceRows): Generator<Uint8Array, void> {
  const { format, bytes, ends, undecodable } = parts
  const skipped = new Set(undecodable.map(({ index }) => index))
  const out = new ByteOutput()
  for (let index = 0; index < ends.length; index++) {
    if (skipped.has(index)) continue
    format.write(bytes, rowAt(parts, index), out)
    if (out.sizeBytes >= chunkBytes) yield* out.lend()
  }
  if (out.sizeBytes > 0) yield* out.lend()
  out.close()
}

function keptRow({ object, partition, format, bytes, begin }: PieceRows, row: TextRange): RowToKeep {
  const { start, end } = format.trim(bytes, row)
  const { key, sizeBytes, modifiedAt } = object
  return {
    partition,
    position: `bytes ${begin + start} to ${begin + end} of ${key}`,
    // A copy, so that the piece can be released.
    raw: Buffer.from(bytes.subarray(start, end)),
    meta: packMeta({ object: { key, sizeBytes, modifiedAt: modifiedAt ?? null }, ...format.kept }),
  }
}
