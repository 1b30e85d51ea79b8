// Functions of the paper engine that statements of Penstock and tests use.
import { SqlError } from './tokens.ts'
import { asJson, partsOfType, type Reading, readValue, type Value } from './values.ts'

const lenient: Reading = { bestEffortDates: true, anyAsText: true }

export function textOf(value: Value): string {
  if (typeof value === 'string') return value
  if (typeof value === 'boolean') return value ? 'true' : 'false'
  return typeof value === 'object' ? JSON.stringify(value, asJson) : String(value)
}

export function compare(one: Value, other: Value): number {
  const isNumeric = [one, other].every((value) => typeof value === 'number' || typeof value === 'bigint')
  if (isNumeric) return Number(one) - Number(other)
  if (Array.isArray(one) && Array.isArray(other)) {
    for (const [index, value] of one.entries()) {
      const result = compare(value, other[index] ?? null)
      if (result !== 0) return result
    }
    return 0
  }
  const [left, right] = [plain(one), plain(other)]
  return left < right ? -1 : left > right ? 1 : 0
}

const plain = (value: Value): string => (typeof value === 'boolean' ? String(Number(value)) : textOf(value))

export const isTrue = (value: Value): boolean => value !== null && value !== false && Number(value) !== 0

const timestampText = (value: Value): string =>
  readValue(
    typeof value === 'string' && value.length === 10 ? `${value} 00:00:00` : value,
    'DateTime',
    lenient,
  ) as string
const day = (value: Value): string => timestampText(value).slice(0, 10)
const digits = (value: Value, count: number): number =>
  Number(timestampText(value).replaceAll(/\D/g, '').slice(0, count))

const scalars: Record<string, (...values: Value[]) => Value> = {
  version: () => '',
  tuple: (...values) => values,
  tostring: (value = null) => (value === null ? null : textOf(value)),
  touint8: Number,
  touint32: Number,
  touint64: Number,
  toint64: Number,
  tofloat64: Number,
  todate: (value = null) => day(value),
  toyyyymm: (value = null) => digits(value, 6),
  toyyyymmdd: (value = null) => digits(value, 8),
  tounixtimestamp: (value = null) => Date.parse(`${timestampText(value).replace(' ', 'T')}Z`) / 1000,
  now: () => new Date().toISOString().slice(0, 19).replace('T', ' '),
  length: (value = null) => (Array.isArray(value) ? value.length : textOf(value).length),
  substring: (value = null, from = 1, count = Infinity) => textOf(value).substr(Number(from) - 1, Number(count)),
  hex: (value = null) => Buffer.from(textOf(value), 'latin1').toString('hex').toUpperCase(),
  startswith: (value = null, start = '') => textOf(value).startsWith(textOf(start)),
  if: (condition = null, yes = null, no = null) => (isTrue(condition) ? yes : no),
  assumenotnull: (value = null) => value ?? '',
  modulo: (one = null, other = null) => Number(one) % Number(other),
  intdiv: (one = null, other = null) => Math.trunc(Number(one) / Number(other)),
}

export function castTo(value: Value, type: string): Value {
  if (value === null && partsOfType(type).name !== 'Nullable') {
    throw new SqlError(349, `Cannot convert NULL value to non-Nullable type ${type}`)
  }
  return readValue(value, type, lenient)
}

export function callScalar(name: string, values: Value[]): Value {
  const found = scalars[name.toLowerCase()]
  if (!found) throw new SqlError(46, `Unknown function ${name}`)
  return found(...values)
}

const newest = (values: Value[]): Value =>
  values.reduce((best, each) => (compare(each, best) > 0 ? each : best), values[0] ?? 0)
const total = (values: Value[]): Value => values.reduce<number>((sum, each) => sum + Number(each), 0)

const aggregates: Record<string, (values: Value[]) => Value> = {
  count: (values) => values.filter((value) => value !== null).length,
  max: newest,
  sum: total,
}

export const isAggregate = (name: string): boolean => Object.hasOwn(aggregates, name.toLowerCase())

export function callAggregate(name: string, values: Value[]): Value {
  return aggregates[name.toLowerCase()]!(values)
}
