// Converts column values for the engine: values from COPY with a SQL expression, values from pgoutput here. Both must give the same
// value.
//
//   boolean                     1 and 0
//   integers, floats, oid       as printed; NaN and the infinities of floats as well, which the engine reads
//   numeric(p, s)               as printed; NaN, which a Decimal cannot hold, as NULL
//   date, timestamp             as printed; values outside of 1900 to 2299, BC or infinite are clamped
//   timestamptz                 the same, in UTC and without the offset
//   bytea                       the bytes
//   arrays                      [1,2], ['a','b']; a NULL element is the default where elements are not Nullable; a NULL array is empty;
//                               arrays with several dimensions or a lower bound other than 1 are rejected
//   everything that is String   as printed, including numbers, dates and times for which the engine has no type
//
// ClickHouse reads \N in a column that is not Nullable as the default of its type.

import { Undecodable } from '../../formats/undecodable.ts'
import {
  destinationType,
  type EngineAbilities,
  type NullOptions,
  type PostgresColumn,
  type PostgresType,
  scalarType,
} from '../../sources/postgres/postgres-types.ts'
import { makeArrayWriter } from './arrays.ts'
import type { ColumnValues, IsUnrepresentable, ScalarValues, WriteValue } from './scalar-values.ts'
import { nullText } from './text-fields.ts'
import { findTimestampValues } from './timestamp-values.ts'

export type { EngineAbilities }

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
    return { type, nullText: '[]', expression: unchanged, isRewritten: true, write }
  }
  const { expression, isRewritten, isUnrepresentable, write } = scalarValues(column.type, options.abilities)
  return {
    type,
    nullText,
    expression,
    isRewritten,
    write: isUnrepresentable ? orNull(isUnrepresentable, write) : write,
  }
}

/** Reason of a rejected row; `reason` is that of the value. */
export function reasonOf(column: string, reason: string): string {
  return `the column ${JSON.stringify(column)}: ${reason}`
}

function delimiterOf({ name, isBuiltIn, delimiter }: PostgresType): string {
  return delimiter ?? (isBuiltIn && name === 'box' ? ';' : ',')
}

function orNull(isUnrepresentable: IsUnrepresentable, write: WriteValue): WriteValue {
  return (bytes, start, end, out) => {
    if (isUnrepresentable(bytes, start, end)) out.text(nullText)
    else write(bytes, start, end, out)
  }
}

const unchanged = (column: string): string => column

const texts: ScalarValues = {
  expression: unchanged,
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
    // Older ClickHouse does not read a digit as Bool in an array.
    return scalarType(type, abilities) === 'Bool'
      ? { ...truths, defaultText: 'false', writeElement: writeTruthWord }
      : truths
  }
  if (name === 'numeric') {
    return { ...numbers, expression: (column) => `NULLIF(${column}, 'NaN')`, isUnrepresentable: isNoNumber }
  }
  if (name === 'uuid') return { ...texts, defaultText: "'00000000-0000-0000-0000-000000000000'" }
  if (name === 'float4' || name === 'float8') return { ...numbers, writeElement: writeFloatElement }
  const timestampValues = findTimestampValues(name)
  return timestampValues ? { ...texts, ...timestampValues } : numbers
}

const writeTruthWord: WriteValue = (bytes, start, _end, out) => out.text(bytes[start] === letterT ? 'true' : 'false')
const writeTruth: WriteValue = (bytes, start, _end, out) => out.byte(bytes[start] === letterT ? digit1 : digit0)

const [letterN, letterT, digit0, digit1, digit9, minus] = [0x4e, 0x74, 0x30, 0x31, 0x39, 0x2d]

/** In an array, older ClickHouse reads the N of NaN as the start of NULL. */
const writeFloatElement: WriteValue = (bytes, start, end, out) => {
  if (bytes[start] === letterN) out.text('-nan')
  else out.escaped(bytes, start, end)
}

const isNoNumber: IsUnrepresentable = (bytes, start, end) => {
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
