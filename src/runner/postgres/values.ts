// What becomes of the values of a column on both ways to the engine: of those that COPY gives, by an expression of SQL, and of those
// that pgoutput gives, here. Both ways must give the engine the same value.
//
//   boolean                     1 and 0
//   integers, floats, oid       as printed; NaN and the infinities of floats as well, which the engine reads
//   numeric(p, s)               as printed; NaN, for which a Decimal has no place, as NULL
//   date, timestamp             as printed; what is outside of 1900 to 2299, before Christ or infinite, is the nearest that is not
//   timestamptz                 the same, in UTC and without the offset
//   bytea                       the bytes
//   arrays                      [1,2], ['a','b']; NULL within is the default where the elements are not Nullable, and an array that
//                               is NULL is empty; one of several dimensions, or that does not count from 1, is refused
//   everything that is String   as printed: the numbers, dates and times, too, for which the engine has no type
//
// What is NULL in a column that is not Nullable becomes the default of the type, by what the engine makes of \N.
import type { Buffer } from 'node:buffer'
import { Undecodable } from '../../formats/decode/decode.ts'
import {
  destinationType,
  type EngineAbilities,
  type NullOptions,
  type PostgresColumn,
  type PostgresType,
  scalarType,
} from '../../sources/postgres/postgres-types.ts'
import { makeArrayWriter } from './arrays.ts'
import type { FieldOutput } from './field-output.ts'
import { nullText } from './text-fields.ts'
import { findMomentValues } from './timestamp-values.ts'

export type { EngineAbilities }

/** The bytes are those of a text that PostgreSQL prints. Throws Undecodable. */
export type WriteValue = (bytes: Buffer, start: number, end: number, out: FieldOutput) => void

export interface ColumnValues {
  /** The engine's. */
  type: string
  /** The field that stands for NULL: the engine has no array that is NULL. */
  nullText: string
  /** SQL that gives what COPY is to send for the column; the name of the column is quoted already. */
  expression(quotedColumn: string): string
  /** What COPY sends must go through `write`, too, and is unescaped before. */
  isRewritten: boolean
  /** Writes a field of TabSeparated. NULL has no text and never comes here. */
  write: WriteValue
}

export function columnValues(
  column: PostgresColumn,
  options: NullOptions & { abilities: EngineAbilities },
): ColumnValues {
  const type = destinationType(column, options)
  const { elements } = column.type
  if (elements) {
    const values = scalarValues(elements, options.abilities)
    const write = makeArrayWriter({
      ...values,
      isNullable: options.allowNullableColumns,
      delimiter: delimiterOf(elements),
    })
    return { type, nullText: '[]', expression: asItIs, isRewritten: true, write }
  }
  const { expression, isRewritten, hasNoPlace, write } = scalarValues(column.type, options.abilities)
  return { type, nullText, expression, isRewritten, write: hasNoPlace ? orNull(hasNoPlace, write) : write }
}

/** Why a row is refused; `reason` is that of a value. */
export function reasonOf(column: string, reason: string): string {
  return `the column ${JSON.stringify(column)}: ${reason}`
}

function delimiterOf({ name, isBuiltIn, delimiter }: PostgresType): string {
  return delimiter ?? (isBuiltIn && name === 'box' ? ';' : ',')
}

export type HasNoPlace = (bytes: Buffer, start: number, end: number) => boolean

function orNull(hasNoPlace: HasNoPlace, write: WriteValue): WriteValue {
  return (bytes, start, end, out) => {
    if (hasNoPlace(bytes, start, end)) out.text(nullText)
    else write(bytes, start, end, out)
  }
}

/** Of a column, or of the elements of an array. */
export interface ScalarValues {
  expression: ColumnValues['expression']
  isRewritten: boolean
  /** In an array, its values stand between quotes. */
  isQuoted: boolean
  /** What the engine makes of a NULL where there can be none, as it stands in an array. */
  defaultText: string
  /** The engine's type cannot hold this value. */
  hasNoPlace?: HasNoPlace
  write: WriteValue
  /** In an array, where that is another. */
  writeElement?: WriteValue
}

const asItIs = (column: string): string => column

const texts: ScalarValues = {
  expression: asItIs,
  isRewritten: false,
  isQuoted: true,
  defaultText: "''",
  write: (bytes, start, end, out) => out.escaped(bytes, start, end),
}
const numbers: ScalarValues = { ...texts, isQuoted: false, defaultText: '0' }

function scalarValues(type: PostgresType, abilities: EngineAbilities): ScalarValues {
  const name = type.isBuiltIn ? type.name : ''
  if (name === 'bytea') return { ...texts, isRewritten: true, write: writeBytes }
  if (scalarType(type, abilities) === 'String') return texts
  if (name === 'bool') {
    const truths = { ...numbers, expression: (column: string) => `${column}::int`, write: writeTruth }
    // Not every ClickHouse reads a digit as a Bool in an array.
    return scalarType(type, abilities) === 'Bool'
      ? { ...truths, defaultText: 'false', writeElement: writeTruthWord }
      : truths
  }
  if (name === 'numeric') {
    return { ...numbers, expression: (column) => `NULLIF(${column}, 'NaN')`, hasNoPlace: isNoNumber }
  }
  if (name === 'uuid') return { ...texts, defaultText: "'00000000-0000-0000-0000-000000000000'" }
  if (name === 'float4' || name === 'float8') return { ...numbers, writeElement: writeFloatElement }
  const moments = findMomentValues(name)
  return moments ? { ...texts, ...moments } : numbers
}

const writeTruthWord: WriteValue = (bytes, start, _end, out) => out.text(bytes[start] === letterT ? 'true' : 'false')
const writeTruth: WriteValue = (bytes, start, _end, out) => out.byte(bytes[start] === letterT ? digit1 : digit0)

const [letterN, letterT, digit0, digit1, digit9, minus] = [0x4e, 0x74, 0x30, 0x31, 0x39, 0x2d]

/** In an array, an engine of before takes the first letter of NaN for that of NULL. */
const writeFloatElement: WriteValue = (bytes, start, end, out) => {
  if (bytes[start] === letterN) out.text('-nan')
  else out.escaped(bytes, start, end)
}

const isNoNumber: HasNoPlace = (bytes, start, end) => {
  const at = bytes[start] === minus ? start + 1 : start
  return at >= end || bytes[at]! < digit0 || bytes[at]! > digit9
}

const [backslash, letterX] = [0x5c, 0x78]

const writeBytes: WriteValue = (bytes, start, end, out) => {
  const isHex = bytes[start] === backslash && bytes[start + 1] === letterX && (end - start) % 2 === 0
  if (!isHex) throw new Undecodable('a value of bytea is not printed in hexadecimal digits')
  for (let at = start + 2; at < end; at += 2) out.escapedByte((hexDigit(bytes[at]!) << 4) | hexDigit(bytes[at + 1]!))
}

function hexDigit(byte: number): number {
  // 'a' is 0x61.
  return byte > digit9 ? (byte | 0x20) - 0x57 : byte - digit0
}
