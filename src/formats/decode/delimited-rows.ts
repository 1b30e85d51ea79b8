// Decodes CSV and TabSeparated like the engine, which does not require UTF-8: a value that is not valid UTF-8 is returned as bytes.
// Unlike the inserts of a pipe, a sample may have single quotes.
import { Buffer, isUtf8 } from 'node:buffer'
import { asBuffer } from '../../lib/as-buffer.ts'
import type { Row, SourceField } from '../../source-shapes/probe.ts'
import {
  afterCell,
  type DelimitedText,
  delimitedTextOf,
  endOfPlain,
  endOfQuoted,
  lengthWithoutLineEnds,
  newline,
  quote,
  skipBlanks,
  trimLine,
} from '../delimited-scan.ts'
import { byteOrderMarkLength } from '../json-scan.ts'
import { excerptOf, Undecodable } from '../undecodable.ts'
import type { Decoded, ObjectDecoding, ObjectStart } from './decoding.ts'
import { inferFieldsOfText } from './infer-fields.ts'

/** With more, the delimiter is wrong. */
export const maxColumns = 10_000

/** Null is NULL. */
type Cells = (string | null)[]

interface Line {
  cells: Cells
  /** The line that it starts in, counted from 1; quoted values may span several. */
  number: number
}

export function decodeDelimited(
  { bytes, isWhole }: ObjectStart,
  { format, delimiter, maxRows }: Pick<ObjectDecoding, 'format' | 'delimiter' | 'maxRows'>,
): Decoded {
  refuseUtf16(bytes)
  const { text, hasNames } = delimitedTextOf({ format, delimiter })
  const lines = readLines(asBuffer(bytes), { text, isWhole, maxLines: hasNames ? maxRows + 1 : maxRows })
  if (lines.length <= (hasNames ? 1 : 0) && !isWhole && maxRows > 0) {
    throw new Undecodable(`the first line is longer than the ${bytes.length} bytes that are read of an object`)
  }
  const [first] = lines
  if (!first) return { rows: [], fields: [] }
  const names = hasNames ? namesIn(first) : first.cells.map((_, index) => `c${index + 1}`)
  const rows = lines.slice(hasNames ? 1 : 0).map((line) => rowOf(names, line, first))
  return { rows, fields: rows.length === 0 ? names.map(untypedField) : inferFieldsOfText(rows) }
}

/** Throws Undecodable. */
export function refuseUtf16([first, second]: Uint8Array): void {
  const hasMark = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)
  if (hasMark) throw new Undecodable('the object is UTF-16 text, and must be UTF-8')
}

const untypedField = (name: string): SourceField => ({ name, type: 'String', isOptional: false })

// The engine accepts a trailing delimiter.
function namesIn({ cells, number }: Line): string[] {
  const isClosed = cells.length > 1 && cells.at(-1) === ''
  const names = new Set<string>()
  for (const cell of isClosed ? cells.slice(0, -1) : cells) {
    const name = String(cellValue(cell ?? ''))
    if (names.has(name)) throw new Undecodable(`line ${number} has the name ${excerptOf(name)} twice`)
    names.add(name)
  }
  return [...names]
}

function rowOf(names: string[], { cells, number }: Line, first: Line): Row {
  const isClosed = cells.length === names.length + 1 && cells.at(-1) === ''
  if (cells.length !== names.length && !isClosed) {
    const count = cells.length === 1 ? '1 value' : `${cells.length} values`
    throw new Undecodable(`line ${number} has ${count}, where line ${first.number} has ${names.length}`)
  }
  return Object.fromEntries(names.map((name, index) => [name, cellValue(cells[index] ?? null)]))
}

function cellValue(cell: string | null): string | Uint8Array | null {
  if (cell === null || !/[\x80-\xff]/.test(cell)) return cell
  const bytes = Buffer.from(cell, 'latin1')
  return isUtf8(bytes) ? bytes.toString('utf8') : new Uint8Array(bytes)
}

interface ReadOptions {
  text: DelimitedText
  isWhole: boolean
  maxLines: number
}

function readLines(bytes: Buffer, { text, isWhole, maxLines }: ReadOptions): Line[] {
  const readCell = text.format === 'CSV' ? readCsvCell : readTabSeparatedCell
  const lines: Line[] = []
  let number = 1
  let at = byteOrderMarkLength(bytes)
  const length = lengthWithoutLineEnds(bytes)
  while (at < length && lines.length < maxLines) {
    const start = at
    const cells: Cells = []
    for (let isOpen = true; isOpen; ) {
      const cell = readCell(bytes, at, text)
      if (cell === 'text after quote') throw new Undecodable(`line ${number} has text after a closing quote`)
      if (cell === 'unclosed' || (cell.end >= bytes.length && !isWhole)) {
        if (!isWhole) return lines
        throw new Undecodable(`line ${number} has a quote that is not closed`)
      }
      if (cells.push(cell.value) > maxColumns) {
        throw new Undecodable(`line ${number} has more than ${maxColumns} values`)
      }
      at = afterCell(bytes, cell.end, text)
      isOpen = cell.end < bytes.length && bytes[cell.end] !== newline
    }
    lines.push({ cells, number })
    number += countNewlines(bytes, start, at)
  }
  return lines
}

function countNewlines(bytes: Buffer, start: number, end: number): number {
  let count = 0
  for (let at = bytes.indexOf(newline, start); at !== -1 && at < end; at = bytes.indexOf(newline, at + 1)) count++
  return count
}

interface Cell {
  /** As Latin-1 characters. */
  value: string | null
  /** Offset of the delimiter or newline after it, or of the end of the bytes. */
  end: number
}

const apostrophe = 0x27

function readCsvCell(bytes: Buffer, start: number, text: DelimitedText): Cell | 'unclosed' | 'text after quote' {
  const at = skipBlanks(bytes, start, bytes.length, text)
  const mark = bytes[at]
  if (mark === quote || mark === apostrophe) {
    const closed = endOfQuoted(bytes, at, bytes.length, mark)
    if (closed !== undefined) {
      const end = endOfPlain(bytes, closed, bytes.length, text)
      const isAlone = skipBlanks(bytes, closed, end, text) === withoutReturn(bytes, closed, end, text)
      if (isAlone) return { value: undoubled(bytes.toString('latin1', at + 1, closed - 1), mark), end }
    }
    // An unquoted text may begin with an apostrophe.
    if (mark === quote) return closed === undefined ? 'unclosed' : 'text after quote'
  }
  const end = endOfPlain(bytes, at, bytes.length, text)
  let last = withoutReturn(bytes, at, end, text)
  while (last > at && (bytes[last - 1] === 0x20 || bytes[last - 1] === 0x09)) last--
  const value = bytes.toString('latin1', at, last)
  return { value: value === '\\N' ? null : value, end }
}

function undoubled(value: string, mark: number): string {
  const character = String.fromCharCode(mark)
  return value.replaceAll(character + character, character)
}

/** End of a value without the carriage return of its line end. */
function withoutReturn(bytes: Buffer, start: number, end: number, text: DelimitedText): number {
  return bytes[end] === newline ? trimLine(bytes, { start, end: end + 1 }, text).end : end
}

function readTabSeparatedCell(bytes: Buffer, start: number, text: DelimitedText): Cell {
  const end = endOfPlain(bytes, start, bytes.length, text)
  const raw = bytes.toString('latin1', start, withoutReturn(bytes, start, end, text))
  return { value: raw === '\\N' ? null : unescaped(raw), end }
}

const escapes: Record<string, string> = {
  t: '\t',
  n: '\n',
  r: '\r',
  b: '\b',
  f: '\f',
  a: '\x07',
  v: '\v',
  e: '\x1b',
  '0': '\0',
  "'": "'",
  '\\': '\\',
  '\n': '\n',
}

function unescaped(raw: string): string {
  if (!raw.includes('\\')) return raw
  return raw.replaceAll(/\\(?:x([0-9a-f]{2})|([\s\S]))/gi, (whole, code: string | undefined, letter: string) => {
    if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16))
    return Object.hasOwn(escapes, letter) ? escapes[letter]! : whole
  })
}
