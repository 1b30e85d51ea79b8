// Numbers rows and writes each on one line, so that ClickHouse can skip an invalid row and continue with the next one.
import { randomBytes } from 'node:crypto'
import { code, objectsIn, skipSpace } from '../json-scan.ts'
import { ByteOutput } from './byte-output.ts'
import type { Rows } from './rows.ts'
import { makeYieldToLoop } from './yield-to-loop.ts'

export interface NumberedRows {
  /** The first field of the shape. */
  numberField: string
  shape: Rows['shape']
  parts: AsyncIterable<NumberedPart>
}

export interface NumberedPart {
  body: Buffer
  /** Number of the first numbered row; the others follow. */
  first: number
  /** Index of the source row of each numbered row. */
  indexes: number[]
  /** Rows without an end. They are not in the body. */
  unclosed: number[]
}

/** Bounds the memory, the size of ClickHouse's answer, and the time between yields. */
export const mostNumbered = { rows: 50_000, bytes: 4 * 1_024 * 1_024 }

const newline = 0x0a
const carriageReturn = 0x0d
const space = 0x20
const escapedNewline = 'n'.charCodeAt(0)

/** Undefined for rows that are not divisible. Rows in `leftOut` are omitted. */
export function numberRows(rows: Rows, leftOut: ReadonlySet<number>, signal: AbortSignal): NumberedRows | undefined {
  const { shape } = rows
  if (!rows.isDivisible) return undefined
  const numberField = `_penstock_row_${randomBytes(6).toString('hex')}`
  return {
    numberField,
    shape: { ...shape, fields: [{ name: numberField, type: 'UInt32' }, ...shape.fields] },
    parts: partsOf(rows, { leftOut, numberField }, signal),
  }
}

async function* partsOf(
  rows: Rows,
  { leftOut, numberField }: { leftOut: ReadonlySet<number>; numberField: string },
  signal: AbortSignal,
): AsyncGenerator<NumberedPart> {
  const { shape } = rows
  const write = shape.format === 'JSONEachRow' ? objectsWith(numberField) : lineOf(shape)
  const guard = guardRow(shape, numberField)
  const yieldToLoop = makeYieldToLoop(signal)
  const out = new ByteOutput()
  let part: Omit<NumberedPart, 'body'> = { first: 0, indexes: [], unclosed: [] }
  for (let index = 0; index < rows.count; index++) {
    if (leftOut.has(index)) continue
    const next = part.first + part.indexes.length
    const count = write(next, bytesOf(rows, index), out)
    if (count === undefined) part.unclosed.push(index)
    else for (let written = 0; written < count; written++) part.indexes.push(index)
    out.bytes(guard)
    await yieldToLoop()
    if (part.indexes.length < mostNumbered.rows && out.sizeBytes < mostNumbered.bytes) continue
    yield { ...part, body: out.take() }
    part = { first: part.first + part.indexes.length, indexes: [], unclosed: [] }
  }
  if (part.indexes.length + part.unclosed.length > 0) yield { ...part, body: out.take() }
}

/** Number of guard rows. */
const guardNumber = 2 ** 32 - 1
const guardBytes = 64

/**
 * Follows each row. ClickHouse reads some types by length, not up to a delimiter, such as 36 bytes for a UUID: what it reads beyond an
 * invalid row must not belong to the next one.
 */
function guardRow({ format, delimiter = ',', fields }: Rows['shape'], numberField: string): Buffer {
  if (format === 'JSONEachRow') return Buffer.from(`{"${numberField}":${guardNumber}${' '.repeat(guardBytes)}}\n`)
  const defaults = (format === 'TabSeparated' ? '\t' : delimiter).repeat(fields.length)
  return Buffer.from(`${String(guardNumber).padStart(guardBytes, '0')}${defaults}\n`)
}

/** The row as it is sent to ClickHouse. */
export function bytesOf(rows: Rows, index: number): Buffer {
  const body = rows.only(index, index + 1).body()
  if (!(Symbol.iterator in body)) throw new Error('rows that can be divided have no stream')
  // Copied, because the generator reuses the chunk.
  return Buffer.concat(Array.from(body, (chunk) => Buffer.from(chunk)))
}

/** Writes numbered rows from `first` on and returns their count; undefined when the row has no end. */
type WriteRow = (first: number, bytes: Buffer, out: ByteOutput) => number | undefined

function lineOf({ format, delimiter = ',' }: Rows['shape']): WriteRow {
  const isTabSeparated = format === 'TabSeparated'
  return (number, bytes, out) => {
    if (bytes.length === 0) return 0
    out.text(`${number}${isTabSeparated ? '\t' : delimiter}`)
    const end = bytes.at(-1) === newline ? bytes.length - 1 : bytes.length
    for (let at = bytes.indexOf(newline); at !== -1 && at < end; at = bytes.indexOf(newline, at + 1)) {
      // Only after a backslash in TabSeparated, and in quotes in CSV.
      bytes[at] = isTabSeparated ? escapedNewline : space
    }
    out.bytes(bytes, 0, end)
    out.byte(newline)
    return 1
  }
}

function objectsWith(numberField: string): WriteRow {
  return (first, bytes, out) => {
    const objects = objectsIn(bytes, 0, bytes.length)
    if (!objects) return undefined
    for (let at = 0; at < bytes.length; at++) {
      if (bytes[at] === newline || bytes[at] === carriageReturn) bytes[at] = space
    }
    for (const [at, { start, end }] of objects.entries()) {
      const member = skipSpace(bytes, start + 1, end)
      out.text(`{"${numberField}":${first + at}${bytes[member] === code.closeObject ? '' : ','}`)
      out.bytes(bytes, member, end)
      out.byte(newline)
    }
    return objects.length
  }
}
