// Decodes CSV and TabSeparated like the engine. Works on bytes (as Latin-1 characters), because the engine does not require UTF-8:
// a value that is not valid UTF-8 is returned as bytes.
import { Buffer, isUtf8 } from 'node:buffer'
import type { Row, SourceField } from '../../source-shapes/probe.ts'
import { type Decoded, excerptOf, type ObjectDecoding, type ObjectStart, Undecodable } from './decode.ts'
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
  const text = Buffer.from(bytes).toString('latin1')
  refuseUtf16(bytes)
  const readCell = format.startsWith('CSV') ? csvCellReader(delimiter ?? ',') : readTabSeparatedCell
  const hasNames = format.endsWith('WithNames')
  const lines = readLines(text, { readCell, isWhole, maxLines: hasNames ? maxRows + 1 : maxRows })
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

/** A value and its end: a delimiter, the end of the line or the end of the text. */
interface Cell {
  value: string | null
  end: number
  /** What follows. */
  before: 'cell' | 'line' | 'nothing'
  /** Start of the next cell or line. */
  next: number
}

type CellReader = (text: string, start: number) => Cell | 'unclosed' | 'text after quote'

interface ReadOptions {
  readCell: CellReader
  isWhole: boolean
  maxLines: number
}

function readLines(text: string, { readCell, isWhole, maxLines }: ReadOptions): Line[] {
  const lines: Line[] = []
  let number = 1
  let at = text.startsWith('\xef\xbb\xbf') ? 3 : 0
  const end = endOfLines(text)
  while (at < end && lines.length < maxLines) {
    const start = at
    const cells: Cells = []
    for (let isOpen = true; isOpen; ) {
      const cell = readCell(text, at)
      if (cell === 'text after quote') throw new Undecodable(`line ${number} has text after a closing quote`)
      if (cell === 'unclosed' || (cell.before === 'nothing' && !isWhole)) {
        if (!isWhole) return lines
        throw new Undecodable(`line ${number} has a quote that is not closed`)
      }
      if (cells.push(cell.value) > maxColumns) {
        throw new Undecodable(`line ${number} has more than ${maxColumns} values`)
      }
      at = cell.next
      isOpen = cell.before === 'cell'
    }
    lines.push({ cells, number })
    number += countOf(text, '\n', start, at)
  }
  return lines
}

/** End of the text without trailing line breaks. */
function endOfLines(text: string): number {
  let end = text.length
  while (text[end - 1] === '\n' || text[end - 1] === '\r') end--
  return end
}

function countOf(text: string, character: string, start: number, end: number): number {
  let count = 0
  for (let at = text.indexOf(character, start); at !== -1 && at < end; at = text.indexOf(character, at + 1)) count++
  return count
}

/** The delimiter, or the end of line or text, at `end`; undefined for other characters. */
function boundaryAt(text: string, end: number, delimiter: string): Pick<Cell, 'before' | 'next'> | undefined {
  if (end >= text.length) return { before: 'nothing', next: text.length }
  if (text.startsWith(delimiter, end)) return { before: 'cell', next: end + delimiter.length }
  if (text[end] === '\n') return { before: 'line', next: end + 1 }
  if (text[end] === '\r' && text[end + 1] === '\n') return { before: 'line', next: end + 2 }
  return undefined
}

function csvCellReader(delimiterText: string): CellReader {
  const delimiter = Buffer.from(delimiterText, 'utf8').toString('latin1')
  const spaces = [' ', '\t'].filter((space) => space !== delimiter)
  const skipSpaces = (text: string, start: number): number => {
    let at = start
    while (spaces.includes(text[at] ?? '')) at++
    return at
  }
  return (text, start) => {
    const at = skipSpaces(text, start)
    const quote = text[at]
    if (quote === '"' || quote === "'") {
      const quoted = readQuoted(text, at + 1, quote)
      const boundary = quoted && boundaryAt(text, skipSpaces(text, quoted.end), delimiter)
      if (quoted && boundary) return { ...quoted, ...boundary }
      // An unquoted text may begin with an apostrophe.
      if (quote === '"') return quoted ? 'text after quote' : 'unclosed'
    }
    return readPlain(text, at, delimiter)
  }
}

function readQuoted(text: string, start: number, quote: string): { value: string; end: number } | undefined {
  let value = ''
  let from = start
  for (let at = text.indexOf(quote, from); at !== -1; at = text.indexOf(quote, from)) {
    value += text.slice(from, at)
    if (text[at + 1] !== quote) return { value, end: at + 1 }
    value += quote
    from = at + 2
  }
  return undefined
}

function readPlain(text: string, start: number, delimiter: string): Cell {
  let end = start
  let boundary = boundaryAt(text, end, delimiter)
  while (!boundary) boundary = boundaryAt(text, ++end, delimiter)
  let last = end
  while (last > start && (text[last - 1] === ' ' || text[last - 1] === '\t')) last--
  const value = text.slice(start, last)
  return { value: value === '\\N' ? null : value, end, ...boundary }
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

function readTabSeparatedCell(text: string, start: number): Cell {
  let end = start
  let boundary = boundaryAt(text, end, '\t')
  while (!boundary) {
    end += text[end] === '\\' ? 2 : 1
    boundary = boundaryAt(text, end, '\t')
  }
  const raw = text.slice(start, end)
  return { value: raw === '\\N' ? null : unescaped(raw), end: Math.min(end, text.length), ...boundary }
}

function unescaped(raw: string): string {
  if (!raw.includes('\\')) return raw
  return raw.replaceAll(/\\(?:x([0-9a-f]{2})|([\s\S]))/gi, (whole, code: string | undefined, letter: string) => {
    if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16))
    return Object.hasOwn(escapes, letter) ? escapes[letter]! : whole
  })
}
