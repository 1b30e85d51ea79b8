// The functions of the paper engine: those that Penstock's own statements use, and those that tests like to ask with.
import { SqlError } from './tokens.ts'
import { asJson, partsOfType, type Reading, readValue, type Value } from './values.ts'

const lenient: Reading = { nullAsDefault: false, bestEffortDates: true, numbersAsTexts: true, objectsAsTexts: true }

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

const moment = (value: Value): string =>
  readValue(
    typeof value === 'string' && value.length === 10 ? `${value} 00:00:00` : value,
    'DateTime',
    lenient,
  ) as string
const day = (value: Value): string => moment(value).slice(0, 10)
const digits = (value: Value, count: number): number => Number(moment(value).replaceAll(/\D/g, '').slice(0, count))

const scalars: Record<string, (...values: Value[]) => Value> = {
  version: () => '',
  tuple: (...values) => values,
  array: (...values) => values,
  tostring: (value = null) => (value === null ? null : textOf(value)),
  touint8: Number,
  touint32: Number,
  touint64: Number,
  toint64: Number,
  tofloat64: Number,
  todate: (value = null) => day(value),
  todatetime: (value = null) => moment(value),
  todatetime64: (value = null) => moment(value),
  parsedatetimebesteffort: (value = null) => moment(value),
  toyyyymm: (value = null) => digits(value, 6),
  toyyyymmdd: (value = null) => digits(value, 8),
  toyear: (value = null) => digits(value, 4),
  tohour: (value = null) => Number(moment(value).slice(11, 13)),
  tostartofday: (value = null) => `${day(value)} 00:00:00`,
  tostartofhour: (value = null) => `${moment(value).slice(0, 13)}:00:00`,
  tostartofmonth: (value = null) => `${day(value).slice(0, 7)}-01`,
  tomonday: (value = null) => {
    const at = new Date(`${day(value)}T00:00:00Z`)
    at.setUTCDate(at.getUTCDate() - ((at.getUTCDay() + 6) % 7))
    return at.toISOString().slice(0, 10)
  },
  tounixtimestamp: (value = null) => Date.parse(`${moment(value).replace(' ', 'T')}Z`) / 1000,
  now: () => new Date().toISOString().slice(0, 19).replace('T', ' '),
  today: () => new Date().toISOString().slice(0, 10),
  length: (value = null) => (Array.isArray(value) ? value.length : textOf(value).length),
  empty: (value = null) => textOf(value).length === 0,
  notempty: (value = null) => textOf(value).length > 0,
  lower: (value = null) => textOf(value).toLowerCase(),
  upper: (value = null) => textOf(value).toUpperCase(),
  concat: (...values) => values.map(textOf).join(''),
  substring: (value = null, from = 1, count = Infinity) => textOf(value).substr(Number(from) - 1, Number(count)),
  hex: (value = null) => Buffer.from(textOf(value), 'latin1').toString('hex').toUpperCase(),
  unhex: (value = null) => Buffer.from(textOf(value), 'hex').toString('latin1'),
  base64encode: (value = null) => Buffer.from(textOf(value), 'latin1').toString('base64'),
  base64decode: (value = null) => Buffer.from(textOf(value), 'base64').toString('latin1'),
  startswith: (value = null, start = '') => textOf(value).startsWith(textOf(start)),
  position: (value = null, part = '') => textOf(value).indexOf(textOf(part)) + 1,
  if: (condition = null, yes = null, no = null) => (isTrue(condition) ? yes : no),
  ifnull: (value = null, other = null) => value ?? other,
  coalesce: (...values) => values.find((value) => value !== null) ?? null,
  isnull: (value = null) => value === null,
  isnotnull: (value = null) => value !== null,
  isnan: (value = null) => Number.isNaN(value),
  assumenotnull: (value = null) => value ?? '',
  splitbychar: (separator = '', value = '') => textOf(value).split(textOf(separator)),
  throwif: (value = null, message = 'Value passed to throwIf is non-zero') => {
    if (isTrue(value)) throw new SqlError(395, textOf(message))
    return 0
  },
  not: (value = null) => !isTrue(value),
  negate: (value = null) => -Number(value),
  modulo: (one = null, other = null) => Number(one) % Number(other),
  intdiv: (one = null, other = null) => Math.trunc(Number(one) / Number(other)),
  cityhash64: (...values) =>
    [...values.map(textOf).join('\0')].reduce((sum, each) => (sum * 31 + each.charCodeAt(0)) % 2 ** 32, 7),
  cast: (value = null, type = 'String') => castTo(value, textOf(type)),
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
const oldest = (values: Value[]): Value =>
  values.reduce((best, each) => (compare(each, best) < 0 ? each : best), values[0] ?? 0)
const distinct = (values: Value[]): Value[] => [...new Map(values.map((each) => [textOf(each), each])).values()]
const total = (values: Value[]): Value => values.reduce<number>((sum, each) => sum + Number(each), 0)

const aggregates: Record<string, (values: Value[]) => Value> = {
  count: (values) => values.filter((value) => value !== null).length,
  uniq: (values) => distinct(values).length,
  uniqexact: (values) => distinct(values).length,
  max: newest,
  min: oldest,
  sum: total,
  avg: (values) => (values.length === 0 ? 0 : Number(total(values)) / values.length),
  any: (values) => values[0] ?? null,
  grouparray: (values) => values,
  groupuniqarray: distinct,
}

export const isAggregate = (name: string): boolean => Object.hasOwn(aggregates, name.toLowerCase())

export function callAggregate(name: string, values: Value[], isDistinct: boolean): Value {
  return aggregates[name.toLowerCase()]!(isDistinct ? distinct(values) : values)
}
