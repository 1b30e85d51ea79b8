// Rows of CSV and TabSeparated on their way to the engine. They are sent as they lie, with what the transport says before the
// first value, unless a value is to fill columns of different types: then values are picked out of the row.
import { Buffer } from 'node:buffer'
import type { ObjectStorageSource } from '../../pipes/object-storage-source.ts'
import type { RowShape } from '../../runner/rows.ts'
import type { Row } from '../../sources/source.ts'
import { Undecodable } from '../decode/decode.ts'
import { decodeDelimited, maxColumns, refuseUtf16 } from '../decode/delimited-rows.ts'
import { cellsIn, type DelimitedText, problemOfLastRow, trimLine } from './delimited-scan.ts'
import { delimitedValue } from './delimited-value.ts'
import { type FilledColumn, isSharedUnequally, shapeByColumn } from './field-plan.ts'
import type { TextRange } from './json-scan.ts'
import type { ObjectFormat } from './object-format.ts'

export interface DelimitedParts {
  text: DelimitedText
  hasNames: boolean
  filled: readonly FilledColumn[]
  virtualValues: Row
  /** Undefined of an object without rows. */
  firstRow: Buffer | undefined
}

export function delimitedTextOf({ format, delimiter = ',' }: ObjectStorageSource): {
  text: DelimitedText
  hasNames: boolean
} {
  const isCsv = format.startsWith('CSV')
  return {
    text: { format: isCsv ? 'CSV' : 'TabSeparated', delimiter: Buffer.from(isCsv ? delimiter : '\t') },
    hasNames: format.endsWith('WithNames'),
  }
}

const newline = 0x0a

type RowFormat = Omit<ObjectFormat, 'rowEnds' | 'dataStart'>

/** Throws Undecodable. */
export function delimitedFormat(parts: DelimitedParts): RowFormat {
  const { text, filled } = parts
  const names = fieldNames(parts)
  const present = parts.firstRow ? filled.filter(({ field, isVirtual }) => isVirtual || names.includes(field)) : filled
  if (present.length === 0) throw new Undecodable('it has none of the columns')
  const isPicked = isSharedUnequally(present) || !isForEngine(text)
  return isPicked ? pickedFormat(parts, names, present) : straightFormat(parts, names, present)
}

/**
 * Engines know delimiters of one byte only. Some of these they refuse, and others they take for a part of a value that is not
 * quoted, as they do with digits.
 */
function isForEngine({ format, delimiter }: DelimitedText): boolean {
  return format === 'TabSeparated' || [',', ';', '|'].includes(delimiter.toString('utf8'))
}

/** What the values of a row are called, in their order. Throws Undecodable. */
export function fieldNames({ text, hasNames, filled, firstRow }: Omit<DelimitedParts, 'virtualValues'>): string[] {
  if (!firstRow) return []
  refuseUtf16(firstRow)
  const names = hasNames ? namesIn(firstRow, text) : numberedNames(firstRow, text)
  const own = filled.filter(({ isVirtual }) => !isVirtual)
  const isByName = hasNames || own.some(({ field }) => /^c[1-9]\d*$/.test(field))
  // Without any name to go by, columns are filled in their order.
  return isByName ? names : names.map((name, index) => own[index]?.field ?? name)
}

function namesIn(firstRow: Buffer, text: DelimitedText): string[] {
  const { fields = [] } = decodeDelimited(
    { bytes: firstRow, isWhole: true },
    { format: `${text.format}WithNames`, delimiter: text.delimiter.toString('utf8'), maxRows: 0 },
  )
  return fields.map(({ name }) => name)
}

/** A first row with an error of its own is rejected like any other row: only its number of values counts here. */
function numberedNames(firstRow: Buffer, text: DelimitedText): string[] {
  const cells = cellsIn(firstRow, { start: 0, end: firstRow.length }, text, maxColumns + 1)
  if (cells.length > maxColumns) throw new Undecodable(`its first row has more than ${maxColumns} values`)
  return cells.map((_, index) => `c${index + 1}`)
}

function straightFormat(
  { text, hasNames, virtualValues }: DelimitedParts,
  names: string[],
  present: readonly FilledColumn[],
): RowFormat {
  const shape: RowShape = { format: text.format, ...delimiterOf(text), fields: [], columns: [] }
  let prefix = ''
  for (const { name: column, type, field, isVirtual } of present) {
    if (!isVirtual) continue
    shape.fields.push({ name: column, type })
    shape.columns.push({ column, field: column })
    prefix += `${delimitedValue(virtualValues[field], type, text.format)}${text.delimiter.toString('utf8')}`
  }
  const taken = new Set(shape.fields.map(({ name }) => name))
  for (const [index, name] of names.entries()) {
    const columns = present.filter(({ field, isVirtual }) => !isVirtual && field === name)
    const isWanted = columns.length > 0
    const inBody = isWanted && !taken.has(name) ? name : `_field_${index + 1}`
    shape.fields.push({ name: inBody, type: columns[0]?.type ?? 'String' })
    for (const column of columns) shape.columns.push({ column: column.name, field: inBody })
  }
  const hasReturn = (bytes: Buffer, end: number): boolean => bytes[end - 2] === 0x0d || bytes[end - 1] === 0x0d
  return {
    shape,
    // The engine takes the end of a line as Windows has it for a part of the value in TabSeparated.
    isStraight: (bytes, _start, end) => prefix === '' && (text.format === 'CSV' || !hasReturn(bytes, end)),
    check: () => undefined,
    checkLast: (bytes, start, end) => problemOfLastRow(bytes, { start, end }, text),
    trim: (bytes, row) => trimLine(bytes, row, text),
    write(bytes, row, out) {
      const { start, end } = trimLine(bytes, row, text)
      if (prefix !== '') out.text(prefix)
      out.bytes(bytes, start, end)
      out.byte(newline)
    },
    kept: hasNames ? { names } : {},
  }
}

const delimiterOf = ({ format, delimiter }: DelimitedText): Pick<RowShape, 'delimiter'> =>
  format === 'CSV' ? { delimiter: delimiter.toString('utf8') } : {}

/** Rows with the columns in their order, whatever the order of the values is. */
export function pickedFormat(
  { text, hasNames, virtualValues }: Pick<DelimitedParts, 'text' | 'hasNames' | 'virtualValues'>,
  names: string[],
  columns: readonly FilledColumn[],
): RowFormat {
  const isRedelimited = !isForEngine(text)
  const written: DelimitedText = isRedelimited ? { ...text, delimiter: Buffer.from(',') } : text
  const sources = columns.map(({ field, type, isVirtual }) =>
    isVirtual ? delimitedValue(virtualValues[field], type, text.format) : names.indexOf(field),
  )
  return {
    shape: { ...shapeByColumn(text.format, columns), ...delimiterOf(written) },
    isStraight: () => false,
    check: (bytes, start, end) => problemOfCells(cellsIn(bytes, { start, end }, text), names.length),
    checkLast: (bytes, start, end) => problemOfLastRow(bytes, { start, end }, text),
    trim: (bytes, row) => trimLine(bytes, row, text),
    write(bytes, row, out) {
      const cells = cellsIn(bytes, row, text)
      for (const [index, source] of sources.entries()) {
        if (index > 0) out.bytes(written.delimiter)
        const cell = typeof source === 'number' ? cells[source] : undefined
        if (typeof source === 'string') out.text(source)
        // Stands for the default, as NULL does.
        else if (!cell) out.text('\\N')
        else if (isRedelimited) out.bytes(requoted(bytes.subarray(cell.start, cell.end)))
        else out.bytes(bytes, cell.start, cell.end)
      }
      out.byte(newline)
    },
    kept: hasNames ? { names } : {},
  }
}

/** The engine says so of rows that it gets as they lie, and lets one end with one more delimiter. */
function problemOfCells(cells: TextRange[], wantedCount: number): string | undefined {
  const last = cells.at(-1)
  const isClosed = cells.length === wantedCount + 1 && last?.start === last?.end
  if (cells.length === wantedCount || isClosed) return undefined
  return `it has ${cells.length === 1 ? '1 value' : `${cells.length} values`}, where the first row has ${wantedCount}`
}

function requoted(cell: Buffer): Buffer {
  const isQuoted = /^[ \t]*"/.test(cell.toString('latin1', 0, 100))
  if (isQuoted || !cell.includes(0x2c)) return cell
  return Buffer.from(`"${cell.toString('latin1').replaceAll('"', '""')}"`, 'latin1')
}
