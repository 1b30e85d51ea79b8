// Finds the values in CSV and TabSeparated. A newline ends a row unless it is in double quotes, or after a backslash in
// TabSeparated. Single quotes have no meaning; the insert settings say the same.
import { Buffer } from 'node:buffer'
import type { TextRange } from './json-scan.ts'

export interface DelimitedText {
  format: 'CSV' | 'TabSeparated'
  /** One character of one or more bytes. */
  delimiter: Buffer
}

export function delimitedTextOf({ format, delimiter = ',' }: { format: string; delimiter?: string | undefined }): {
  text: DelimitedText
  hasNames: boolean
} {
  const isCsv = format.startsWith('CSV')
  return {
    text: { format: isCsv ? 'CSV' : 'TabSeparated', delimiter: Buffer.from(isCsv ? delimiter : '\t') },
    hasNames: format.endsWith('WithNames'),
  }
}

export const newline = 0x0a
const carriageReturn = 0x0d
export const quote = 0x22
export const backslash = 0x5c

export const isLineEnd = (byte: number | undefined): boolean => byte === newline || byte === carriageReturn

export function lengthWithoutLineEnds(bytes: Uint8Array): number {
  let { length } = bytes
  while (isLineEnd(bytes[length - 1])) length--
  return length
}

/** Whether an odd number of backslashes precedes `at`; none is before `start`. */
export function isEscaped(bytes: Buffer, at: number, start: number): boolean {
  let first = at
  while (first > start && bytes[first - 1] === backslash) first--
  return (at - first) % 2 === 1
}

/** Offset of the delimiter or newline after the value, or `limit`; undefined when a quote is not closed before it. */
export function endOfCell(bytes: Buffer, start: number, limit: number, text: DelimitedText): number | undefined {
  let at = start
  if (text.format === 'CSV') {
    const quoteAt = skipBlanks(bytes, start, limit, text)
    if (bytes[quoteAt] === quote && quoteAt < limit) {
      const closed = endOfQuoted(bytes, quoteAt, limit)
      if (closed === undefined) return undefined
      at = closed
    }
  }
  return endOfPlain(bytes, at, limit, text)
}

/** The same from an offset in the value, after its quotes. */
export function endOfPlain(bytes: Buffer, start: number, limit: number, { format, delimiter }: DelimitedText): number {
  const first = delimiter[0]
  const isLong = delimiter.length > 1
  const hasEscapes = format === 'TabSeparated'
  for (let at = start; at < limit; at++) {
    const byte = bytes[at]
    if (byte === newline) return at
    if (byte === first && (!isLong || bytes.subarray(at, at + delimiter.length).equals(delimiter))) return at
    if (hasEscapes && byte === backslash) at++
  }
  return limit
}

export function skipBlanks(bytes: Buffer, start: number, limit: number, { delimiter }: DelimitedText): number {
  let at = start
  while (at < limit && (bytes[at] === 0x20 || bytes[at] === 0x09) && bytes[at] !== delimiter[0]) at++
  return at
}

/** Offset after the closing quote. A doubled quote does not close. */
export function endOfQuoted(bytes: Buffer, start: number, limit: number, mark = quote): number | undefined {
  for (let at = bytes.indexOf(mark, start + 1); at !== -1 && at < limit; at = bytes.indexOf(mark, at + 2)) {
    if (bytes[at + 1] !== mark || at + 1 >= limit) return at + 1
  }
  return undefined
}

/** Start of the next value, after the delimiter or newline at `end`. */
export function afterCell(bytes: Buffer, end: number, { delimiter }: DelimitedText): number {
  return end + (bytes[end] === newline ? 1 : delimiter.length)
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
    at = afterCell(bytes, cellEnd, text)
  }
}
