// Maps Parquet columns to types of the engine, and converts their values. Conversions of the library are not used, because they
// lose digits of decimals and timestamps.
import { Buffer, isUtf8 } from 'node:buffer'
import type { SchemaElement, SchemaTree } from 'hyparquet'
import type { SourceField } from '../../source-shapes/probe.ts'
import { dayMs, type SecondDigits, textOfCount } from '../timestamps.ts'
import { decimalText } from './decimal-text.ts'

/** Type of a column in the engine, and conversion of its stored values. */
export interface ColumnReading {
  type: string
  toValue(stored: unknown): unknown
}

export function fieldOf(column: SchemaTree): SourceField {
  const { name, repetition_type } = column.element
  return { name, type: readingOf(column).type, isOptional: repetition_type === 'OPTIONAL' }
}

/** With the repetition of the column: a list when it is repeated, nullable when it is optional and the engine allows that. */
export function readingOf(column: SchemaTree): ColumnReading {
  const reading = readingOfOne(column)
  const { repetition_type } = column.element
  if (repetition_type === 'REPEATED') return listOf(reading)
  return repetition_type === 'OPTIONAL' ? nullable(reading) : reading
}

function readingOfOne(column: SchemaTree): ColumnReading {
  const { children, element } = column
  if (children.length === 0) return leafReading(element)
  if (element.logical_type?.type === 'VARIANT') return as('String', jsonText)
  const [only] = children
  if (only && isListLike(column))
    return listOf(only.children.length === 1 ? readingOf(only.children[0]!) : readingOfOne(only))
  if (only && isMapLike(column)) return mapOf(only.children)
  return structOf(children)
}

// Must match how the library detects lists and maps: otherwise values would not match their type.
function isListLike({ element, children }: SchemaTree): boolean {
  const [only] = children
  const isOne = element.converted_type === 'LIST' && children.length === 1 && (only?.children.length ?? 0) <= 1
  return isOne && only?.element.repetition_type === 'REPEATED'
}

function isMapLike({ element, children }: SchemaTree): boolean {
  const [only] = children
  if (element.converted_type !== 'MAP' || children.length !== 1 || only?.children.length !== 2) return false
  const isRepeated = (name: string): boolean =>
    only.children.find((child) => child.element.name === name)?.element.repetition_type === 'REPEATED'
  return only.element.repetition_type === 'REPEATED' && !isRepeated('key') && !isRepeated('value')
}

const as = (type: string, toValue: (stored: unknown) => unknown = (stored) => stored): ColumnReading => ({
  type,
  toValue: (stored) => (stored === null || stored === undefined ? null : toValue(stored)),
})

const cannotBeNull = /^(?:Array|Map|Tuple)\(/

function nullable({ type, toValue }: ColumnReading): ColumnReading {
  return { type: cannotBeNull.test(type) ? type : `Nullable(${type})`, toValue }
}

function listOf({ type, toValue }: ColumnReading): ColumnReading {
  return as(`Array(${type})`, (stored) => (Array.isArray(stored) ? stored.map(toValue) : []))
}

/** Keys are text, because the library returns maps as objects. */
function mapOf(children: SchemaTree[]): ColumnReading {
  const [key, value] = ['key', 'value'].map((name) => children.find(({ element }) => element.name === name))
  if (!key || !value) return structOf(children)
  const { type, toValue } = readingOf(value)
  return as(`Map(${readingOfOne(key).type}, ${type})`, (stored) =>
    Object.fromEntries(Object.entries(Object(stored)).map(([name, each]) => [name, toValue(each)])),
  )
}

function structOf(children: SchemaTree[]): ColumnReading {
  const parts = children.map((child) => ({ name: child.element.name, reading: readingOf(child) }))
  const types = parts.map(({ name, reading }) => `${quotedName(name)} ${reading.type}`)
  return as(`Tuple(${types.join(', ')})`, (stored) => {
    const values = Object(stored)
    return Object.fromEntries(parts.map(({ name, reading }) => [name, reading.toValue(values[name])]))
  })
}

function quotedName(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? name : `\`${name.replaceAll(/[\\`]/g, '\\$&')}\``
}

function leafReading(element: SchemaElement): ColumnReading {
  const { type, converted_type, logical_type } = element
  if (converted_type === 'DECIMAL' || logical_type?.type === 'DECIMAL') return decimalReading(element)
  // A column of nulls only.
  if (logical_type?.type === 'NULL') return as('String')
  if (logical_type?.type === 'UUID') return as('UUID', uuidText)
  if (logical_type?.type === 'FLOAT16') return as('Float32', halfFloat)
  switch (type) {
    case 'BOOLEAN':
      return as('Bool')
    case 'FLOAT':
      return as('Float32')
    case 'DOUBLE':
      return as('Float64')
    case 'INT96':
      return timestampReading(9)
    case 'INT32':
    case 'INT64':
      return integerReading(element)
    default:
      return as('String', textOrBytes)
  }
}

const fractionDigits = { MILLIS: 3, MICROS: 6, NANOS: 9 } as const

function integerReading({ type, converted_type, logical_type }: SchemaElement): ColumnReading {
  if (converted_type === 'DATE' || logical_type?.type === 'DATE') return as('Date32', dayText)
  if (logical_type?.type === 'TIMESTAMP') return timestampReading(fractionDigits[logical_type.unit])
  if (converted_type === 'TIMESTAMP_MILLIS') return timestampReading(3)
  if (converted_type === 'TIMESTAMP_MICROS') return timestampReading(6)
  const storedBits = type === 'INT64' ? 64 : 32
  const [, unsigned, bits = String(storedBits)] = /^(U?)INT_(\d+)$/.exec(converted_type ?? '') ?? []
  const isInteger = logical_type?.type === 'INTEGER'
  const isSigned = isInteger ? logical_type.isSigned : unsigned !== 'U'
  const width = isInteger ? logical_type.bitWidth : Number(bits)
  return as(`${isSigned ? 'Int' : 'UInt'}${width}`, (stored) => {
    const integer = BigInt(stored as bigint | number)
    return safest(isSigned ? integer : BigInt.asUintN(storedBits, integer))
  })
}

function safest(integer: bigint): bigint | number {
  return integer >= Number.MIN_SAFE_INTEGER && integer <= Number.MAX_SAFE_INTEGER ? Number(integer) : integer
}

function decimalReading({ scale, precision, logical_type }: SchemaElement): ColumnReading {
  const logical = logical_type?.type === 'DECIMAL' ? logical_type : undefined
  const digits = logical?.precision ?? precision ?? 0
  const fraction = logical?.scale ?? scale ?? 0
  const isHeld = digits >= 1 && digits <= 76 && fraction >= 0 && fraction <= digits
  return as(isHeld ? `Decimal(${digits}, ${fraction})` : 'String', (stored) => {
    const unscaled = stored instanceof Uint8Array ? signedInteger(stored) : BigInt(stored as bigint | number)
    return decimalText(unscaled, Math.max(0, Math.min(fraction, 1000)))
  })
}

function signedInteger(bytes: Uint8Array): bigint {
  const hex = Buffer.from(bytes).toString('hex')
  return hex === '' ? 0n : BigInt.asIntN(bytes.length * 8, BigInt(`0x${hex}`))
}

function timestampReading(digits: SecondDigits): ColumnReading {
  return as(`DateTime64(${digits}, 'UTC')`, (stored) => textOfCount(BigInt(stored as bigint | number), digits, false))
}

/** Years may have more than four digits. */
function dayText(stored: unknown): unknown {
  const date = new Date(Number(stored) * dayMs)
  return Number.isNaN(date.getTime()) ? stored : date.toISOString().slice(0, -'T00:00:00.000Z'.length)
}

function uuidText(stored: unknown): unknown {
  if (!(stored instanceof Uint8Array)) return stored
  return Buffer.from(stored)
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

function halfFloat(stored: unknown): unknown {
  if (!(stored instanceof Uint8Array) || stored.length !== 2) return stored
  const bits = stored[0]! | (stored[1]! << 8)
  const [exponent, fraction] = [(bits >> 10) & 0x1f, (bits & 0x3ff) / 1024]
  const sign = bits & 0x8000 ? -1 : 1
  if (exponent === 0) return sign * 2 ** -14 * fraction
  if (exponent === 0x1f) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN
  return sign * 2 ** (exponent - 15) * (1 + fraction)
}

function textOrBytes(stored: unknown): unknown {
  if (!(stored instanceof Uint8Array)) return stored
  return isUtf8(stored) ? Buffer.from(stored).toString('utf8') : new Uint8Array(stored)
}

function jsonText(stored: unknown): unknown {
  return JSON.stringify(stored, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value))
}

/**
 * Schema elements without the annotations that make the library convert values. Lists, maps, variants and the keys of maps keep
 * theirs.
 */
export function withoutConversions(tree: SchemaTree, isKept = false): SchemaElement[] {
  const { children, element } = tree
  const { converted_type: _, logical_type: __, ...bare } = element
  if (children.length === 0) return [isKept ? element : bare]
  const isVariant = isKept || element.logical_type?.type === 'VARIANT'
  if (!isVariant && isMapLike(tree)) {
    const [only] = children
    const parts = only!.children.flatMap((child) =>
      child.element.name === 'key' && child.children.length === 0
        ? [textKey(child.element)]
        : withoutConversions(child),
    )
    return [element, only!.element, ...parts]
  }
  return [element, ...children.flatMap((child) => withoutConversions(child, isVariant))]
}

function textKey(element: SchemaElement): SchemaElement {
  const { converted_type: _, logical_type: __, ...bare } = element
  return element.type === 'BYTE_ARRAY' ? { ...bare, converted_type: 'UTF8' } : element
}
