// Values of the paper engine by type, validated as strictly as tests need: values that a real engine rejects are rejected here.
// Texts are byte strings, integers are numbers while exact and otherwise bigints, timestamps are texts.
import { SqlError } from './tokens.ts'

export type Value = null | boolean | number | bigint | string | Value[] | { [name: string]: Value }
export type Row = Record<string, Value>

export interface TypeParts {
  name: string
  parameters: string[]
}

export function partsOfType(type: string): TypeParts {
  const match = /^\s*(\w+)\s*(?:\(([\s\S]*)\))?\s*$/.exec(type)
  if (!match) throw new SqlError(50, `Unknown data type family: ${type}`)
  return { name: match[1]!, parameters: match[2] === undefined ? [] : splitParameters(match[2]) }
}

function splitParameters(text: string): string[] {
  const parts: string[] = []
  let [depth, from, isText] = [0, 0, false]
  for (const [index, character] of [...text].entries()) {
    if (character === "'" && text[index - 1] !== '\\') isText = !isText
    if (isText) continue
    if (character === '(') depth++
    else if (character === ')') depth--
    else if (character === ',' && depth === 0) {
      parts.push(text.slice(from, index).trim())
      from = index + 1
    }
  }
  return [...parts, text.slice(from).trim()]
}

export function defaultOf(type: string): Value {
  const { name, parameters } = partsOfType(type)
  if (name === 'Nullable') return null
  if (name === 'LowCardinality') return defaultOf(parameters[0]!)
  if (name === 'Array') return []
  if (name === 'Map' || name === 'JSON') return {}
  if (name === 'Bool') return false
  if (/^(?:U?Int\d+|Float\d+|Decimal\d*)$/.test(name)) return 0
  if (name.startsWith('DateTime')) return '1970-01-01 00:00:00'
  if (name.startsWith('Date')) return '1970-01-01'
  if (name === 'UUID') return '00000000-0000-0000-0000-000000000000'
  if (name.startsWith('Enum')) return enumNames(parameters)[0] ?? ''
  return name === 'Tuple' ? parameters.map(defaultOf) : ''
}

const enumNames = (parameters: string[]): string[] =>
  parameters.map((each) => /'((?:[^'\\]|\\.)*)'/.exec(each)?.[1] ?? '')

export interface Reading {
  bestEffortDates: boolean
  /** Accepts any JSON value as text. */
  anyAsText: boolean
}

const cannotParse = (value: unknown, type: string): SqlError =>
  new SqlError(27, `Cannot parse input: expected ${type} before: ${JSON.stringify(value, asJson) ?? value}`)

export function asJson(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? Number(value) : value
}

/** The stored value. `value` comes from JSON, or is text from a delimited format or SQL. */
export function readValue(value: unknown, type: string, reading: Reading): Value {
  const { name, parameters } = partsOfType(type)
  if (name === 'LowCardinality') return readValue(value, parameters[0]!, reading)
  if (name === 'Nullable') return value === null ? null : readValue(value, parameters[0]!, reading)
  if (value === null || value === undefined) {
    throw new SqlError(26, `Cannot parse NULL as value of type ${type}`)
  }
  if (/^U?Int\d+$/.test(name)) return readInteger(value, type)
  if (/^(?:Float\d+|Decimal\d*)$/.test(name)) return readNumber(value, type)
  if (name === 'String' || name === 'FixedString') return readText(value, type, reading)
  if (name === 'Bool') return readBool(value, type)
  if (name.startsWith('DateTime')) return readMoment(value, type, reading)
  if (name.startsWith('Date')) return readDay(value, type)
  if (name === 'UUID' && !/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(String(value))) {
    throw new SqlError(376, `Cannot parse uuid ${value}`)
  }
  if (name.startsWith('Enum') && !enumNames(parameters).includes(String(value))) {
    throw new SqlError(49, `Unknown element '${value}' for type ${type}`)
  }
  if (name === 'Array') {
    const list = typeof value === 'string' ? listOf(value, type) : value
    if (!Array.isArray(list)) throw cannotParse(value, type)
    return list.map((each) => readValue(each, parameters[0]!, reading))
  }
  return value as Value
}

function listOf(text: string, type: string): unknown {
  try {
    return JSON.parse(text.replaceAll("'", '"'))
  } catch {
    throw cannotParse(text, type)
  }
}

function readInteger(value: unknown, type: string): Value {
  if (typeof value === 'boolean') return value ? 1 : 0
  if (typeof value === 'bigint') return exact(value)
  const text = String(value)
  if (typeof value === 'object' || !/^[+-]?\d+$/.test(text)) throw cannotParse(value, type)
  return typeof value === 'number' ? value : exact(BigInt(text.replace('+', '')))
}

function exact(value: bigint): Value {
  return BigInt(Number(value)) === value && Number.isSafeInteger(Number(value)) ? Number(value) : value
}

function readNumber(value: unknown, type: string): Value {
  if (typeof value === 'object' || typeof value === 'boolean') throw cannotParse(value, type)
  const number = Number(value)
  if (String(value).trim() === '' || (Number.isNaN(number) && !/^[+-]?nan$/i.test(String(value)))) {
    throw cannotParse(value, type)
  }
  return number
}

function readText(value: unknown, type: string, { anyAsText }: Reading): Value {
  if (typeof value === 'string') return value
  if (anyAsText) return JSON.stringify(value, asJson)
  throw new SqlError(26, `Cannot parse quoted string for ${type}`)
}

function readBool(value: unknown, type: string): Value {
  if (typeof value === 'boolean') return value
  if (/^(?:true|1|yes|on)$/i.test(String(value))) return true
  if (/^(?:false|0|no|off)$/i.test(String(value))) return false
  throw new SqlError(467, `Cannot parse ${value} as ${type}`)
}

const seconds = (whole: number): string => new Date(whole * 1000).toISOString().slice(0, 19).replace('T', ' ')

function readMoment(value: unknown, type: string, { bestEffortDates }: Reading): Value {
  if (typeof value === 'number') return seconds(value)
  const text = String(value)
  if (/^\d{10}(?:\.\d+)?$/.test(text)) return seconds(Number(text))
  if (/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(text)) return text
  if (type.startsWith('DateTime64') && /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+$/.test(text)) return text
  const millis = /^\d{4}-\d\d-\d\d/.test(text)
    ? Date.parse(text.endsWith('Z') || /[+-]\d\d:?\d\d$/.test(text) ? text : `${text}Z`)
    : Number.NaN
  if (!bestEffortDates || Number.isNaN(millis)) throw new SqlError(41, `Cannot parse datetime ${text}`)
  const iso = new Date(millis).toISOString().replace('T', ' ').slice(0, -1)
  return type.startsWith('DateTime64') ? iso : iso.slice(0, 19)
}

function readDay(value: unknown, type: string): Value {
  const text = String(value)
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) throw new SqlError(38, `Cannot parse ${type}: ${text}`)
  return text
}
