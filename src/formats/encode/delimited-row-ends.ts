// Finds the ends of rows in CSV and TabSeparated.
import type { Buffer } from 'node:buffer'
import {
  afterCell,
  backslash,
  type DelimitedText,
  endOfCell,
  isEscaped,
  isLineEnd,
  lengthWithoutLineEnds,
  newline,
  quote,
} from '../delimited-scan.ts'
import type { TextRange } from '../json-scan.ts'
import { EndList, type RowEnds } from './row-ends.ts'

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
      const length = lengthWithoutLineEnds(bytes)
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

/** Undefined when the bytes end before the row does. */
function endOfRow(bytes: Buffer, start: number, text: DelimitedText): number | undefined {
  let at = start
  for (;;) {
    const end = endOfCell(bytes, at, bytes.length, text)
    if (end === undefined || end >= bytes.length) return undefined
    at = afterCell(bytes, end, text)
    if (bytes[end] === newline) return at
  }
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
    at = afterCell(bytes, cellEnd, text)
  }
  return undefined
}
