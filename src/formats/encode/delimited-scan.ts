// Finds the ends of rows and values in CSV and TabSeparated. A newline ends a row unless it is in double quotes, or after a backslash in
// TabSeparated. Single quotes have no meaning; the insert settings say the same.
import type { Buffer } from 'node:buffer'
import type { TextRange } from './json-scan.ts'
import { EndList, type RowEnds } from './row-ends.ts'

export interface DelimitedText {
  format: 'CSV' | 'TabSeparated'
  /** One character of one or more bytes. */
  delimiter: Buffer
}

const newline = 0x0a
const carriageReturn = 0x0d
const quote = 0x22
const backslash = 0x5c

const isLineEnd = (byte: number | undefined): boolean => byte === newline || byte === carriageReturn

export function delimitedRowEnds(text: DelimitedText): RowEnds {
  const addEnds = text.format === 'CSV' ? csvEnds(text) : addTabSeparatedEnds
  return {
    // Empty lines at the end of an object are not rows; only its last piece shows where the object ends.
    mayCutAt: (bytes, end) => !isLineEnd(bytes[end]),
    find(bytes, ending, ends = new EndList()) {
      if (ending !== 'object') {
        addEnds(bytes, ends)
        return ends.all()
      }
      let length = bytes.length
      while (isLineEnd(bytes[length - 1])) length--
      addEnds(bytes.subarray(0, length), ends)
      if (ends.last < length) ends.push(length)
      return ends.all()
    },
  }
}

function csvEnds(text: DelimitedText): (bytes: Buffer, ends: EndList) => void {
  return (bytes, ends) => {
    let quoteAt = -1
    for (let start = 0; start < bytes.length; start = ends.last) {
      const lineEnd = bytes.indexOf(newline, start)
      if (lineEnd === -1) break
      if (quoteAt < start) quoteAt = positionOf(bytes.indexOf(quote, start))
      const end = quoteAt > lineEnd ? lineEnd + 1 : endOfRow(bytes, start, text)
      if (end === undefined) break
      ends.push(end)
    }
  }
}

const positionOf = (index: number): number => (index === -1 ? Number.POSITIVE_INFINITY : index)

function addTabSeparatedEnds(bytes: Buffer, ends: EndList): void {
  let start = 0
  for (let at = bytes.indexOf(newline); at !== -1; at = bytes.indexOf(newline, at + 1)) {
    if (bytes[at - 1] === backslash && isEscaped(bytes, at, start)) continue
    start = at + 1
    ends.push(start)
  }
}

/** Whether an odd number of backslashes precedes `at`; none is before `start`. */
function isEscaped(bytes: Buffer, at: number, start: number): boolean {
  let first = at
  while (first > start && bytes[first - 1] === backslash) first--
  return (at - first) % 2 === 1
}

/** Undefined when the bytes end before the row does. */
function endOfRow(bytes: Buffer, start: number, text: DelimitedText): number | undefined {
  let at = start
  for (;;) {
    const end = endOfCell(bytes, at, bytes.length, text)
    if (end === undefined || end >= bytes.length) return undefined
    if (bytes[end] === newline) return end + 1
    at = end + text.delimiter.length
  }
}

/** Offset of the delimiter or newline after the value, or `limit`; undefined when a quote is not closed before it. */
function endOfCell(
  bytes: Buffer,
  start: number,
  limit: number,
  { format, delimiter }: DelimitedText,
): number | undefined {
  let at = start
  const isCsv = format === 'CSV'
  if (isCsv) {
    const quoteAt = skipBlanks(bytes, start, limit, delimiter)
    if (bytes[quoteAt] === quote && quoteAt < limit) {
      const closed = endOfQuoted(bytes, quoteAt, limit)
      if (closed === undefined) return undefined
      at = closed
    }
  }
  const first = delimiter[0]
  const isLong = delimiter.length > 1
  for (; at < limit; at++) {
    const byte = bytes[at]
    if (byte === newline) return at
    if (byte === first && (!isLong || bytes.subarray(at, at + delimiter.length).equals(delimiter))) return at
    if (!isCsv && byte === backslash) at++
  }
  return limit
}

function skipBlanks(bytes: Buffer, start: number, limit: number, delimiter: Buffer): number {
  let at = start
  while (at < limit && (bytes[at] === 0x20 || bytes[at] === 0x09) && bytes[at] !== delimiter[0]) at++
  return at
}

/** Offset after the closing quote. */
function endOfQuoted(bytes: Buffer, start: number, limit: number): number | undefined {
  for (let at = bytes.indexOf(quote, start + 1); at !== -1 && at < limit; at = bytes.indexOf(quote, at + 2)) {
    if (bytes[at + 1] !== quote || at + 1 >= limit) return at + 1
  }
  return undefined
}

/** Why the last row of an object is incomplete: the end of the object ends it wherever it is. */
export function problemOfLastRow(bytes: Buffer, { start, end }: TextRange, text: DelimitedText): string | undefined {
  if (text.format === 'TabSeparated') {
    return isEscaped(bytes, end, start) ? 'the file ends with a backslash that escapes nothing' : undefined
  }
  for (let at = start; at < end; ) {
    const cellEnd = endOfCell(bytes, at, end, text)
    if (cellEnd === undefined) {
      return `the file ends inside a quoted value, which begins at byte ${at - start + 1} of this row`
    }
    at = cellEnd + (bytes[cellEnd] === newline ? 1 : text.delimiter.length)
  }
  return undefined
}

/** The row without its line end. */
export function trimLine(bytes: Buffer, { start, end }: TextRange, { format }: DelimitedText): TextRange {
  const lineEnd = end > start && bytes[end - 1] === newline ? end - 1 : end
  const hasReturn = lineEnd > start && bytes[lineEnd - 1] === carriageReturn
  const isValue = hasReturn && format === 'TabSeparated' && isEscaped(bytes, lineEnd - 1, start)
  return { start, end: hasReturn && !isValue ? lineEnd - 1 : lineEnd }
}

/** The first `most` values of a row, with their quotes and escapes. */
export function cellsIn(
  bytes: Buffer,
  row: TextRange,
  text: DelimitedText,
  most = Number.POSITIVE_INFINITY,
): TextRange[] {
  const cells: TextRange[] = []
  const { start, end } = trimLine(bytes, row, text)
  for (let at = start; ; ) {
    const cellEnd = endOfCell(bytes, at, end, text) ?? end
    cells.push({ start: at, end: cellEnd })
    if (cellEnd >= end || cells.length >= most) return cells
    at = cellEnd + (bytes[cellEnd] === newline ? 1 : text.delimiter.length)
  }
}
