// Grammar of ClickHouse types: parses a type and writes it as ClickHouse does, so that two texts of one type become equal. Throws a
// GrammarError.
import { GrammarError, TokenReader } from './grammar-tokens.ts'
import { quoteName, quoteText } from './names.ts'

/** Longest quote of user text in an error. */
export const maxShownLength = 100

export function canonicalType(text: string): string {
  const reader = new TokenReader(text)
  const type = takeType(reader)
  reader.mustEnd()
  return type
}

/** The type families in a type: `Array(Nullable(Int8))` has Array, Nullable and Int8. */
export function typeFamilies(text: string): string[] {
  const reader = new TokenReader(canonicalType(text))
  const found = new Set<string>()
  for (let token = reader.take(); token.kind !== 'end'; token = reader.take()) {
    // Other words are names of fields and functions. If such a name is also a type family, every ClickHouse has that family.
    if (token.kind === 'word' && Object.hasOwn(families, token.value)) found.add(token.value)
  }
  return [...found]
}

export function takeType(reader: TokenReader): string {
  return reader.nested(() => {
    const { kind, value } = reader.take()
    if (kind !== 'word') throw new GrammarError('does not begin with the name of a type')
    const family = Object.hasOwn(families, value) ? value : aliases.get(value.toUpperCase())
    if (family === undefined) throw new GrammarError(`names ${value.slice(0, maxShownLength)}, which is not a type`)
    return families[family]!(reader, family)
  })
}

/** Parses what follows the name of a type family. */
type Family = (reader: TokenReader, name: string) => string

const plain: Family = (_reader, name) => name

function whole(reader: TokenReader, least: number, most: number): number {
  const { kind, value } = reader.take()
  const number = Number(value)
  const isWhole = kind === 'number' && Number.isInteger(number) && number >= least && number <= most
  if (!isWhole) throw new GrammarError(`lacks a whole number from ${least} to ${most}`)
  return number
}

function textValue(reader: TokenReader): string {
  const { kind, value } = reader.take()
  if (kind !== 'text') throw new GrammarError('lacks a text in single quotes')
  return value
}

export function takeName(reader: TokenReader): string {
  const { kind, value } = reader.take()
  if ((kind !== 'word' && kind !== 'name') || value === '') throw new GrammarError('lacks a name')
  return value
}

/** As ClickHouse writes it: quoted only where necessary. */
function shownName(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) && !/^(?:null|distinct|all|skip)$/i.test(name) ? name : quoteName(name)
}

const maxLengthOfFixedString = 16_777_216

const fixedString: Family = (reader, name) => {
  reader.mustSign('(')
  const length = whole(reader, 1, maxLengthOfFixedString)
  reader.mustSign(')')
  return `${name}(${length})`
}

const decimal: Family = (reader) => {
  if (!reader.takeSign('(')) return 'Decimal(10, 0)'
  const precision = whole(reader, 1, 76)
  const scale = reader.takeSign(',') ? whole(reader, 0, precision) : 0
  reader.mustSign(')')
  return `Decimal(${precision}, ${scale})`
}

const decimalOf =
  (precision: number): Family =>
  (reader) => {
    reader.mustSign('(')
    const scale = whole(reader, 0, precision)
    reader.mustSign(')')
    return `Decimal(${precision}, ${scale})`
  }

const dateTime: Family = (reader) => {
  if (!reader.takeSign('(')) return 'DateTime'
  // `DateTime(0)` is DateTime.
  if (reader.peek().kind === 'number') {
    whole(reader, 0, 0)
    if (!reader.takeSign(',')) {
      reader.mustSign(')')
      return 'DateTime'
    }
  }
  const zone = textValue(reader)
  reader.mustSign(')')
  return `DateTime(${quoteText(zone)})`
}

const dateTime64: Family = (reader, name) => {
  if (!reader.takeSign('(')) return `${name}(3)`
  const digits = whole(reader, 0, 9)
  const zone = name === 'DateTime64' && reader.takeSign(',') ? `, ${quoteText(textValue(reader))}` : ''
  reader.mustSign(')')
  return `${name}(${digits}${zone})`
}

const enumeration: Family = (reader, name) => {
  reader.mustSign('(')
  let next = 1
  const values = reader.list(() => {
    const text = textValue(reader)
    if (reader.takeSign('=')) {
      const sign = reader.takeSign('-') ? -1 : 1
      next = sign * whole(reader, 0, 32_768)
    }
    return { text, number: next++ }
  })
  if (values.length === 0) throw new GrammarError('has no values')
  const isSmall = values.every(({ number }) => number >= -128 && number <= 127)
  const family = name === 'Enum' ? (isSmall ? 'Enum8' : 'Enum16') : name
  // ClickHouse sorts them by number.
  const sorted = values.toSorted((one, other) => one.number - other.number)
  return `${family}(${sorted.map(({ text, number }) => `${quoteText(text)} = ${number}`).join(', ')})`
}

const wrapper =
  (count: number): Family =>
  (reader, name) => {
    reader.mustSign('(')
    const types = reader.list(() => takeType(reader))
    if (types.length !== count)
      throw new GrammarError(`needs ${count === 1 ? 'one type' : `${count} types`} in ${name}`)
    return `${name}(${types.join(', ')})`
  }

const tuple: Family = (reader, name) => {
  if (!reader.takeSign('(')) return `${name}()`
  const elements = reader.list(() => {
    const [first, second] = [reader.peek(), reader.peek(1)]
    const hasName =
      first.kind === 'name' || (first.kind === 'word' && (second.kind === 'word' || second.kind === 'name'))
    return hasName ? `${shownName(takeName(reader))} ${takeType(reader)}` : takeType(reader)
  })
  return `${name}(${elements.join(', ')})`
}

const nested: Family = (reader, name) => {
  reader.mustSign('(')
  const elements = reader.list(() => `${shownName(takeName(reader))} ${takeType(reader)}`)
  if (elements.length === 0) throw new GrammarError('has no fields')
  return `${name}(${elements.join(', ')})`
}

const variant: Family = (reader, name) => {
  reader.mustSign('(')
  // ClickHouse sorts them by name.
  const types = reader.list(() => takeType(reader)).toSorted()
  return `${name}(${types.join(', ')})`
}

function limitOf(reader: TokenReader, names: string[]): string | undefined {
  const { kind, value } = reader.peek()
  if (kind !== 'word' || !names.includes(value) || !reader.isSign('=', 1)) return undefined
  reader.take()
  reader.take()
  return `${value}=${whole(reader, 0, 1_000_000)}`
}

const dynamic: Family = (reader, name) => {
  if (!reader.takeSign('(')) return name
  const limits = reader.list(() => {
    const limit = limitOf(reader, ['max_types'])
    if (limit === undefined) throw new GrammarError('takes nothing but max_types')
    return limit
  })
  return limits.length === 0 ? name : `${name}(${limits.join(', ')})`
}

/** ClickHouse writes a path as one name. */
function takePath(reader: TokenReader): string {
  const parts = [takeName(reader)]
  while (reader.takeSign('.')) parts.push(takeName(reader))
  return shownName(parts.join('.'))
}

const json: Family = (reader, name) => {
  if (!reader.takeSign('(')) return name
  const parts = reader.list(() => {
    const limit = limitOf(reader, ['max_dynamic_paths', 'max_dynamic_types'])
    if (limit !== undefined) return { order: 0, text: limit }
    if (!reader.isWord('SKIP')) return { order: 1, text: `${takePath(reader)} ${takeType(reader)}` }
    reader.take()
    if (!reader.isWord('REGEXP')) return { order: 2, text: `SKIP ${takePath(reader)}` }
    reader.take()
    return { order: 3, text: `SKIP REGEXP ${quoteText(textValue(reader))}` }
  })
  const sorted = parts.toSorted((one, other) => one.order - other.order || (one.text < other.text ? -1 : 1))
  return parts.length === 0 ? name : `${name}(${sorted.map(({ text }) => text).join(', ')})`
}

const oldObject: Family = (reader, name) => {
  reader.mustSign('(')
  const format = textValue(reader)
  reader.mustSign(')')
  return `${name}(${quoteText(format)})`
}

/** Such as `quantiles(0.5, 0.9)`. */
function takeFunction(reader: TokenReader): string {
  const { kind, value } = reader.take()
  if (kind !== 'word') throw new GrammarError('lacks the name of a function')
  if (!reader.takeSign('(')) return value
  const parameters = reader.list(() => takeLiteral(reader))
  return `${value}(${parameters.join(', ')})`
}

function takeLiteral(reader: TokenReader): string {
  const isNegative = reader.takeSign('-')
  const { kind, value } = reader.take()
  if (kind === 'number') return isNegative ? `-${value}` : value
  if (kind !== 'text' || isNegative) throw new GrammarError('has a parameter that is neither a number nor a text')
  return quoteText(value)
}

const aggregate: Family = (reader, name) => {
  reader.mustSign('(')
  const version = reader.peek().kind === 'number' ? [String(whole(reader, 0, 1_000_000))] : []
  if (version.length > 0) reader.mustSign(',')
  const parts = [...version, takeFunction(reader)]
  while (reader.takeSign(',')) parts.push(takeType(reader))
  reader.mustSign(')')
  return `${name}(${parts.join(', ')})`
}

const bits: Family = (reader, name) => {
  reader.mustSign('(')
  const type = takeType(reader)
  reader.mustSign(',')
  const count = whole(reader, 1, 1_000_000)
  reader.mustSign(')')
  return `${name}(${type}, ${count})`
}

const plainFamilies =
  'UInt8 UInt16 UInt32 UInt64 UInt128 UInt256 Int8 Int16 Int32 Int64 Int128 Int256 Float32 Float64 BFloat16 Bool String UUID ' +
  'IPv4 IPv6 Date Date32 Time Point Ring LineString MultiLineString Polygon MultiPolygon Geometry Nothing'

const families: Record<string, Family> = {
  ...Object.fromEntries(plainFamilies.split(' ').map((name) => [name, plain])),
  FixedString: fixedString,
  Decimal: decimal,
  Decimal32: decimalOf(9),
  Decimal64: decimalOf(18),
  Decimal128: decimalOf(38),
  Decimal256: decimalOf(76),
  DateTime: dateTime,
  DateTime32: dateTime,
  DateTime64: dateTime64,
  Time64: dateTime64,
  Enum: enumeration,
  Enum8: enumeration,
  Enum16: enumeration,
  Array: wrapper(1),
  Nullable: wrapper(1),
  LowCardinality: wrapper(1),
  Map: wrapper(2),
  Tuple: tuple,
  Nested: nested,
  Variant: variant,
  Dynamic: dynamic,
  JSON: json,
  Object: oldObject,
  QBit: bits,
  AggregateFunction: aggregate,
  SimpleAggregateFunction: aggregate,
}

/** Type names of other databases that ClickHouse accepts, and case-insensitive names of its own. */
const aliases = new Map<string, string>(
  Object.entries({
    Int8: 'TINYINT INT1 BYTE',
    Int16: 'SMALLINT',
    Int32: 'INT INTEGER MEDIUMINT',
    Int64: 'BIGINT',
    Float32: 'FLOAT REAL SINGLE',
    Float64: 'DOUBLE',
    Bool: 'BOOL BOOLEAN',
    String: 'TEXT VARCHAR CHAR BLOB TINYTEXT MEDIUMTEXT LONGTEXT CLOB BYTEA',
    Decimal: 'DECIMAL DEC NUMERIC FIXED',
    Decimal32: 'DECIMAL32',
    Decimal64: 'DECIMAL64',
    Decimal128: 'DECIMAL128',
    Decimal256: 'DECIMAL256',
    Date: 'DATE',
    Date32: 'DATE32',
    DateTime: 'DATETIME DATETIME32 TIMESTAMP',
    DateTime64: 'DATETIME64',
    Time: 'TIME',
    Time64: 'TIME64',
    Enum: 'ENUM',
    JSON: 'JSON',
    UUID: 'UUID',
    IPv4: 'INET4 IPV4',
    IPv6: 'INET6 IPV6',
  }).flatMap(([family, names]) => names.split(' ').map((name): [string, string] => [name, family])),
)
