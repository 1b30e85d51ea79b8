// Infers a type of the engine for all sampled values of a field. An object becomes a String with JSON text, because later records
// may have other keys. A UUID becomes a String, because later values may not be UUIDs.

import type { Row, SourceField } from '../../source-shapes/probe.ts'
import { calendarText } from '../timestamps.ts'

/** Fields in the order in which they first appear. */
export function inferFields(rows: Row[]): SourceField[] {
  return infer(rows, observe)
}

const fractions = new WeakMap<Row, string[]>()

/** Records which fields of a row had a fraction: in JavaScript, 1.0 is an integer. */
export function noteFractions(row: Row, names: string[]): void {
  fractions.set(row, names)
}

/**
 * For text formats: recognizes numbers, booleans, dates and timestamps. An empty text counts as missing, unless the field is a
 * String.
 */
export function inferFieldsOfText(rows: Row[]): SourceField[] {
  return infer(rows, observeText)
}

type Observe = (values: Values, value: unknown) => void

function infer(rows: Row[], observeValue: Observe): SourceField[] {
  const fields = new Map<string, Values>()
  for (const row of rows) {
    for (const name of Object.keys(row)) {
      let values = fields.get(name)
      if (!values) {
        values = noValues()
        fields.set(name, values)
      }
      observeValue(values, row[name])
    }
    for (const name of fractions.get(row) ?? []) {
      const values = fields.get(name)
      if (values) values.hasFraction = true
    }
  }
  return [...fields].map(([name, values]) => {
    const type = typeOf(values)
    const present = values.count + (type === 'String' ? values.empty : 0)
    const isOptional = present < rows.length
    return { name, type: isOptional ? nullable(type) : type, isOptional }
  })
}

type Kind = 'bool' | 'number' | 'date' | 'timestamp' | 'list' | 'text'

/** Statistics of the values of one field, or of the elements of its lists. */
interface Values {
  /** Values that are neither null nor an empty text that may mean null. */
  count: number
  empty: number
  nulls: number
  /** Common kind; text when they differ. */
  kind: Kind | undefined
  hasFraction: boolean
  smallest: bigint | number
  largest: bigint | number
  /** Fractional digits of timestamps. */
  digits: number
  hasZone: boolean
  elements: Values | undefined
}

function noValues(): Values {
  return {
    count: 0,
    empty: 0,
    nulls: 0,
    kind: undefined,
    hasFraction: false,
    smallest: 0,
    largest: 0,
    digits: 0,
    hasZone: false,
    elements: undefined,
  }
}

function add(values: Values, kind: Kind): void {
  values.count++
  values.kind = values.kind === undefined || values.kind === kind ? kind : 'text'
}

function addInteger(values: Values, value: bigint | number): void {
  add(values, 'number')
  if (value < values.smallest) values.smallest = value
  if (value > values.largest) values.largest = value
}

function addFraction(values: Values): void {
  add(values, 'number')
  values.hasFraction = true
}

function addTimestamp(values: Values, { digits, hasZone }: { digits: number; hasZone: boolean }): void {
  add(values, 'timestamp')
  values.digits = Math.max(values.digits, digits)
  values.hasZone ||= hasZone
}

function addCalendarText(values: Values, text: string): void {
  const found = calendarText(text)
  if (found === undefined) add(values, 'text')
  else if (found.kind === 'date') add(values, 'date')
  else addTimestamp(values, found)
}

function observe(values: Values, value: unknown): void {
  if (value === null || value === undefined) values.nulls++
  else if (typeof value === 'boolean') add(values, 'bool')
  else if (typeof value === 'string') addCalendarText(values, value)
  // Above 2^53, a number is not exact.
  else if (typeof value === 'bigint' || Number.isSafeInteger(value)) addInteger(values, value as bigint | number)
  else if (typeof value === 'number') addFraction(values)
  else if (Array.isArray(value)) observeList(values, value)
  else if (value instanceof Date) addCalendarText(values, dateText(value))
  else add(values, 'text')
}

function dateText(date: Date): string {
  return Number.isNaN(date.getTime()) ? '' : date.toISOString()
}

const maxListDepth = 16

function observeList(values: Values, list: unknown[], depth = 1): void {
  add(values, 'list')
  values.elements ??= noValues()
  for (const element of list) {
    if (!Array.isArray(element)) observe(values.elements, element)
    else if (depth < maxListDepth) observeList(values.elements, element, depth + 1)
    else add(values.elements, 'text')
  }
}

const integerText = /^[+-]?(?:0|[1-9]\d*)$/
const numberText = /^[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:e[+-]?\d{1,3})?$/i
const specialNumberText = /^[+-]?(?:nan|inf|infinity)$/i
const boolText = /^(?:true|false)$/i
/** No integer type of the engine has more. */
const maxIntegerLength = 79

/** A number with leading zeros, such as a postal code, is text: as a number it would lose them. */
function observeText(values: Values, value: unknown): void {
  if (typeof value !== 'string') observe(values, value)
  else if (value === '') values.empty++
  else if (boolText.test(value)) add(values, 'bool')
  else if (value.length <= maxIntegerLength && integerText.test(value)) addIntegerText(values, value)
  else if (value.length <= maxIntegerLength && (numberText.test(value) || specialNumberText.test(value)))
    addFraction(values)
  else addCalendarText(values, value)
}

function addIntegerText(values: Values, text: string): void {
  const number = Number(text)
  addInteger(values, Number.isSafeInteger(number) ? number : BigInt(text.replace('+', '')))
}

function typeOf(values: Values): string {
  switch (values.kind) {
    case 'bool':
      return 'Bool'
    case 'number':
      return values.hasFraction ? 'Float64' : integerType(BigInt(values.smallest), BigInt(values.largest))
    case 'date':
      return 'Date32'
    case 'timestamp': {
      const precision = values.digits <= 3 ? 3 : values.digits <= 6 ? 6 : 9
      return values.hasZone ? `DateTime64(${precision}, 'UTC')` : `DateTime64(${precision})`
    }
    case 'list': {
      const elements = values.elements ?? noValues()
      const type = typeOf(elements)
      return `Array(${elements.nulls > 0 ? nullable(type) : type})`
    }
    default:
      return 'String'
  }
}

function integerType(smallest: bigint, largest: bigint): string {
  for (const bits of [64, 128, 256]) {
    if (BigInt.asIntN(bits, smallest) === smallest && BigInt.asIntN(bits, largest) === largest) return `Int${bits}`
    if (smallest >= 0n && BigInt.asUintN(bits, largest) === largest) return `UInt${bits}`
  }
  return 'String'
}

function nullable(type: string): string {
  return type.startsWith('Array(') ? type : `Nullable(${type})`
}
