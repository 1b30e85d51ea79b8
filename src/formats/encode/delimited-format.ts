// Format of CSV and TabSeparated objects. Rows are copied unchanged, after the values of virtual columns. When one field fills columns
// of different types, values are picked out of the row instead.
import { Buffer } from 'node:buffer'
import type { Row } from '../../source-shapes/probe.ts'
import { decodeDelimited, maxColumns, refuseUtf16 } from '../decode/delimited-rows.ts'
import { cellsIn, type DelimitedText, newline, trimLine } from '../delimited-scan.ts'
import type { TextRange } from '../json-scan.ts'
import { Undecodable } from '../undecodable.ts'
import { problemOfLastRow } from './delimited-row-ends.ts'
import { delimitedValue } from './delimited-value.ts'
import { type FilledColumn, hasConflictingTypes, shapeByColumn } from './field-plan.ts'
import type { ObjectFormat } from './object-format.ts'
import type { RowShape } from './rows.ts'

export interface DelimitedParts {
  text: DelimitedText
  hasNames: boolean
  filled: readonly FilledColumn[]
  virtualValues: Row
  /** Undefined when the object has no rows. */
  firstRow: Buffer | undefined
}

type RowFormat = Omit<ObjectFormat, 'rowEnds' | 'dataStart'>

/** Throws Undecodable. */
export function delimitedFormat(parts: DelimitedParts): RowFormat {
  const { text, filled } = parts
  const names = fieldNames(parts)
  const present = parts.firstRow ? filled.filter(({ field, isVirtual }) => isVirtual || names.includes(field)) : filled
  if (present.length === 0) throw new Undecodable('it has none of the columns')
  const isPicked = hasConflictingTypes(present) || !isSupportedDelimiter(text)
  return isPicked ? pickedFormat(parts, names, present) : straightFormat(parts, names, present)
}

/**
 * ClickHouse accepts only one-byte delimiters. It rejects some of these and treats others, such as digits, as part of an unquoted
 * value.
 */
function isSupportedDelimiter({ format, delimiter }: DelimitedText): boolean {
  return format === 'TabSeparated' || [',', ';', '|'].includes(delimiter.toString('utf8'))
}

/** Names of the values of a row, in order. Throws Undecodable. */
export function fieldNames({ text, hasNames, filled, firstRow }: Omit<DelimitedParts, 'virtualValues'>): string[] {
  if (!firstRow) return []
  refuseUtf16(firstRow)
  const names = hasNames ? namesIn(firstRow, text) : numberedNames(firstRow, text)
  const own = filled.filter(({ isVirtual }) => !isVirtual)
  const isByName = hasNames || own.some(({ field }) => /^c[1-9]\d*$/.test(field))
  // Without names, values fill the columns in order.
  return isByName ? names : names.map((name, index) => own[index]?.field ?? name)
}

function namesIn(firstRow: Buffer, text: DelimitedText): string[] {
  const { fields = [] } = decodeDelimited(
    { bytes: firstRow, isWhole: true },
    { format: `${text.format}WithNames`, delimiter: text.delimiter.toString('utf8'), maxRows: 0 },
  )
  return fields.map(({ name }) => name)
}

/** An invalid first row is rejected like any other row: only its number of values counts here. */
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
    const isUsed = columns.length > 0
    const inBody = isUsed && !taken.has(name) ? name : `_field_${index + 1}`
    shape.fields.push({ name: inBody, type: columns[0]?.type ?? 'String' })
    for (const column of columns) shape.columns.push({ column: column.name, field: inBody })
  }
  const hasReturn = (bytes: Buffer, end: number): boolean => bytes[end - 2] === 0x0d || bytes[end - 1] === 0x0d
  return {
    shape,
    // In TabSeparated, ClickHouse reads the carriage return of a CRLF line end as part of the value.
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

/** Rows with the columns in their own order, whatever the order of the values. */
export function pickedFormat(
  { text, hasNames, virtualValues }: Pick<DelimitedParts, 'text' | 'hasNames' | 'virtualValues'>,
  names: string[],
  columns: readonly FilledColumn[],
): RowFormat {
  const isRedelimited = !isSupportedDelimiter(text)
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
        // Read as the default of the column, like NULL.
        else if (!cell) out.text('\\N')
        else if (isRedelimited) out.bytes(requoted(bytes.subarray(cell.start, cell.end)))
        else out.bytes(bytes, cell.start, cell.end)
      }
      out.byte(newline)
    },
    kept: hasNames ? { names } : {},
  }
}

/** ClickHouse checks this itself for rows copied unchanged; it accepts one trailing delimiter. */
function problemOfCells(cells: TextRange[], expectedCount: number): string | undefined {
  const last = cells.at(-1)
  const isClosed = cells.length === expectedCount + 1 && last?.start === last?.end
  if (cells.length === expectedCount || isClosed) return undefined
  return `it has ${cells.length === 1 ? '1 value' : `${cells.length} values`}, where the first row has ${expectedCount}`
}

function requoted(cell: Buffer): Buffer {
  const isQuoted = /^[ \t]*"/.test(cell.toString('latin1', 0, 100))
  if (isQuoted || !cell.includes(0x2c)) return cell
  return Buffer.from(`"${cell.toString('latin1').replaceAll('"', '""')}"`, 'latin1')
}
