// Finds the format of an object by reading its beginning: where its rows begin and end, and their shape.
import { Buffer } from 'node:buffer'
import type { Row } from '../../source-shapes/probe.ts'
import { byteOrderMarkLength, code, endOfValue, skipSpace, type TextRange, trimEnd } from '../json-scan.ts'
import { Undecodable } from '../undecodable.ts'
import { type DelimitedParts, delimitedFormat } from './delimited-format.ts'
import type { FilledColumn } from './field-plan.ts'
import { makeJsonRows } from './json-rows.ts'
import type { ObjectFeed } from './object-feed.ts'
import type { ObjectFormat, ObjectToEncode } from './object-format.ts'
import { jsonLineEnds, jsonListEnds, type RowEnds, skipBetween } from './row-ends.ts'

/** A longer row means that the object has another format. */
export const maxRowBytes = 64 * 1024 * 1024
const firstLookBytes = 64 * 1024
const newline = 0x0a

export function virtualValuesOf({ key, sizeBytes, modifiedAt }: Omit<ObjectToEncode, 'open'>): Row {
  return { _path: key, _file: key.slice(key.lastIndexOf('/') + 1), _size: sizeBytes, _time: modifiedAt ?? null }
}

/** Reads the beginning of the object without consuming it. Rejects with Undecodable. */
export async function jsonFormat(
  feed: ObjectFeed,
  filled: readonly FilledColumn[],
  virtualValues: Row,
): Promise<ObjectFormat> {
  const rows = makeJsonRows(filled)
  const begin = await lookAhead(feed, (bytes, isEnded) => {
    const start = skipSpace(bytes, byteOrderMarkLength(bytes))
    if (bytes[start] === code.openList) return { dataStart: start + 1, isList: true }
    const end = endOfValue(bytes, start, bytes.length)
    // Invalid, or a large object over many lines: in both cases rows are found by lines.
    if (end === undefined && !isEnded && bytes.includes(newline, start))
      return { dataStart: byteOrderMarkLength(bytes), isList: false }
    const next = end === undefined ? bytes.length : skipSpace(bytes, end)
    if (next === bytes.length && !isEnded) return undefined
    return { dataStart: byteOrderMarkLength(bytes), isList: bytes[next] === code.comma }
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

/** Reads the first row without consuming it. Rejects with Undecodable. */
export async function delimitedObjectFormat(
  feed: ObjectFeed,
  parts: Omit<DelimitedParts, 'firstRow'>,
  rowEnds: RowEnds,
): Promise<ObjectFormat> {
  const { dataStart, firstRow } = await lookAhead(feed, (bytes, isEnded) => {
    const mark = byteOrderMarkLength(bytes)
    const [end] = rowEnds.find(bytes.subarray(mark), isEnded ? 'object' : 'anywhere')
    if (end === undefined) return isEnded ? { dataStart: mark, firstRow: undefined } : undefined
    const firstEnd = mark + end
    // A copy, because the buffer is reused.
    const firstRow = Buffer.from(bytes.subarray(mark, firstEnd))
    return { dataStart: parts.hasNames ? lineEnd(bytes, firstEnd) : mark, firstRow }
  })
  return { ...delimitedFormat({ ...parts, firstRow }), rowEnds, dataStart }
}

/** When the row ended with the buffered bytes, its newline follows. */
function lineEnd(bytes: Buffer, end: number): number {
  let at = end
  while (bytes[at] === 0x0d || bytes[at] === 0x0a) at++
  return bytes[end - 1] === 0x0a ? end : at
}

/** What is read depends on the object alone, not on how its bytes arrive: a piece must be cut the same way again. */
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
