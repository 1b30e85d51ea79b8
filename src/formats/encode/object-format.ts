// What is known of an object before its rows are sent: where they begin and end, and what the engine is told of them.
import { Buffer } from 'node:buffer'
import type { RowShape } from '../../runner/rows.ts'
import type { Batch, Row } from '../../sources/source.ts'
import { Undecodable } from '../decode/decode.ts'
import type { ByteOutput } from './byte-output.ts'
import { type DelimitedParts, delimitedFormat } from './delimited-format.ts'
import type { FilledColumn } from './field-plan.ts'
import { makeJsonRows } from './json-rows.ts'
import { code, endOfValue, skipSpace, type TextRange, trimEnd } from './json-scan.ts'
import type { ObjectFeed } from './object-feed.ts'
import { jsonLineEnds, jsonListEnds, type RowEnds, skipBetween } from './row-ends.ts'

export type ObjectToEncode = NonNullable<Batch['object']>

export interface ObjectFormat {
  shape: RowShape
  rowEnds: RowEnds
  /** Where the rows begin. */
  dataStart: number
  /** Whether the row may be sent as it lies in the object. */
  isStraight(bytes: Buffer, start: number, end: number): boolean
  /** Why the row cannot be sent. */
  check(bytes: Buffer, start: number, end: number): string | undefined
  /** Why the last row of the object is not complete. Sent as it is, it would continue with the first row of the next object. */
  checkLast(bytes: Buffer, start: number, end: number): string | undefined
  /** The row without what stands between rows. */
  trim(bytes: Buffer, row: TextRange): TextRange
  /** With a newline behind it. */
  write(bytes: Buffer, row: TextRange, out: ByteOutput): void
  /** What is to be kept beside a row. */
  kept: Row
}

/** A row that is longer is not what the format says it is. */
export const maxRowBytes = 64 * 1024 * 1024
const firstLookBytes = 64 * 1024
const newline = 0x0a

export function virtualValuesOf({ key, sizeBytes, modifiedAt }: Omit<ObjectToEncode, 'open'>): Row {
  return { _path: key, _file: key.slice(key.lastIndexOf('/') + 1), _size: sizeBytes, _time: modifiedAt ?? null }
}

/** Looks at the beginning of the object, and takes nothing of it. Rejects with Undecodable. */
export async function jsonFormat(
  feed: ObjectFeed,
  filled: readonly FilledColumn[],
  virtualValues: Row,
): Promise<ObjectFormat> {
  const rows = makeJsonRows(filled)
  const begin = await lookAhead(feed, (bytes, isEnded) => {
    const start = skipSpace(bytes, markBytesOf(bytes))
    if (bytes[start] === code.openList) return { dataStart: start + 1, isList: true }
    const end = endOfValue(bytes, start, bytes.length)
    // Broken, or large and over many lines: either way what comes next is told by lines.
    if (end === undefined && !isEnded && bytes.includes(newline, start))
      return { dataStart: markBytesOf(bytes), isList: false }
    const next = end === undefined ? bytes.length : skipSpace(bytes, end)
    if (next === bytes.length && !isEnded) return undefined
    return { dataStart: markBytesOf(bytes), isList: bytes[next] === code.comma }
  })
  const { dataStart, isList } = begin
  const isStraight = rows.isStraight && !isList
  const startIn = (bytes: Buffer, start: number, end: number): number =>
    isList ? skipBetween(bytes, start, end) : start
  const trim = (bytes: Buffer, { start, end }: TextRange): TextRange => ({
    start: startIn(bytes, start, end),
    end: trimEnd(bytes, start, end),
  })
  return {
    shape: rows.shape,
    rowEnds: isList ? jsonListEnds : jsonLineEnds,
    dataStart,
    isStraight: (bytes, start, end) => isStraight && bytes[skipSpace(bytes, start, end)] === code.openObject,
    check: (bytes, start, end) => rows.check(bytes, startIn(bytes, start, end), end),
    checkLast: (bytes, start, end) => rows.checkLast(bytes, startIn(bytes, start, end), end),
    trim,
    write: (bytes, row, out) => rows.write(bytes, trim(bytes, row), virtualValues, out),
    kept: {},
  }
}

/** Looks at the first row, and takes nothing of the object. Rejects with Undecodable. */
export async function delimitedObjectFormat(
  feed: ObjectFeed,
  parts: Omit<DelimitedParts, 'firstRow'>,
  rowEnds: RowEnds,
): Promise<ObjectFormat> {
  const { dataStart, firstRow } = await lookAhead(feed, (bytes, isEnded) => {
    const mark = markBytesOf(bytes)
    const [end] = rowEnds.find(bytes.subarray(mark), isEnded ? 'object' : 'anywhere')
    if (end === undefined) return isEnded ? { dataStart: mark, firstRow: undefined } : undefined
    const firstEnd = mark + end
    // A copy: what is at hand is used again.
    const firstRow = Buffer.from(bytes.subarray(mark, firstEnd))
    return { dataStart: parts.hasNames ? lineEnd(bytes, firstEnd) : mark, firstRow }
  })
  return { ...delimitedFormat({ ...parts, firstRow }), rowEnds, dataStart }
}

/** A row of which nothing is known to follow ends before its newline. */
function lineEnd(bytes: Buffer, end: number): number {
  let at = end
  while (bytes[at] === 0x0d || bytes[at] === 0x0a) at++
  return bytes[end - 1] === 0x0a ? end : at
}

/** What is looked at depends on the object alone, not on how it arrives: a piece must be cut again as it was. */
async function lookAhead<Found>(
  feed: ObjectFeed,
  look: (bytes: Buffer, isEnded: boolean) => Found | undefined,
): Promise<Found> {
  for (let sizeBytes = firstLookBytes; ; sizeBytes *= 2) {
    await feed.fill(sizeBytes + 1)
    const found = look(feed.bytes.subarray(0, sizeBytes), feed.bytes.length <= sizeBytes)
    if (found !== undefined) return found
    if (sizeBytes > maxRowBytes) throw new Undecodable(tooLong)
  }
}

export const tooLong = 'it has a row of more than 64 MiB'

/** The mark of the byte order that some writers begin with. */
function markBytesOf(bytes: Buffer): number {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0
}
