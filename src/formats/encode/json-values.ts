// Writes record values as the JSON that a column type accepts, without losing a digit of a number or a byte of a text.
import { Buffer, isUtf8 } from 'node:buffer'
import { countOf, daysOf, dayText, secondsOf, timestampText } from '../timestamps.ts'
import { ByteOutput } from './byte-output.ts'
import { type EngineType, parseType } from './engine-type.ts'

/** Writes a value that is not absent. */
export type WriteValue = (value: unknown, out: ByteOutput) => void

export interface ColumnWriter {
  /** Whether null can be written. Otherwise the field is omitted, and ClickHouse uses the default. */
  mayBeNull: boolean
  write: WriteValue
}

/** What a Date value stands for: a day in Avro, a timestamp in metadata of the transport. */
export type DateMeaning = 'day' | 'timestamp'

export function makeColumnWriter(type: string, dates: DateMeaning): ColumnWriter {
  const parsed = parseType(type)
  return { mayBeNull: parsed.isNullable, write: writerOf(parsed, dates) }
}

function writerOf(type: EngineType, dates: DateMeaning): WriteValue {
  const write = writers.find(({ names }) => names.test(type.name))?.make(type, dates) ?? plainWriter(dates)
  const absent = absentText(type)
  return (value, out) => {
    if (value === null || value === undefined) out.text(absent)
    else write(value, out)
  }
}

const writers: { names: RegExp; make: (type: EngineType, dates: DateMeaning) => WriteValue }[] = [
  { names: /^(?:String|FixedString)$/, make: (_type, dates) => textWriter(dates) },
  { names: /^(?:U?Int\d+|Float\d+|BFloat16|Decimal\d*)$/, make: numberWriter },
  { names: /^Bool$/, make: (_type, dates) => boolWriter(dates) },
  { names: /^Date(?:32)?$/, make: (_type, dates) => dateWriter(dates) },
  { names: /^DateTime(?:32|64)?$/, make: timestampWriter },
  { names: /^Array$/, make: listWriter },
  { names: /^Map$/, make: mapWriter },
  { names: /^Tuple$/, make: tupleWriter },
]

/** Replaces null in lists and maps, where ClickHouse does not use the default. */
function absentText({ name, isNullable }: EngineType): string {
  if (isNullable) return 'null'
  if (/^(?:String|FixedString)$/.test(name)) return '""'
  if (/^(?:U?Int|Float|BFloat|Decimal|DateTime)/.test(name)) return '0'
  if (name === 'Date' || name === 'Date32') return '"1970-01-01"'
  return { Bool: 'false', Array: '[]', Map: '{}' }[name] ?? 'null'
}

const dateAsText = (date: Date, dates: DateMeaning): string => {
  if (Number.isNaN(date.getTime())) return ''
  return dates === 'day' ? dayText(date) : timestampText(date)
}

/** Limit for an object or list written to a String column. */
const maxNestedBytes = 64 * 1024 * 1024

function textWriter(dates: DateMeaning): WriteValue {
  const writePlain = plainWriter(dates)
  let inner: ByteOutput | undefined
  return (value, out) => {
    if (typeof value === 'string') out.text(JSON.stringify(value))
    else if (value instanceof Uint8Array) out.quotedBytes(value)
    else if (value instanceof Date) out.text(JSON.stringify(dateAsText(value, dates)))
    else if (typeof value !== 'object') out.text(`"${String(value)}"`)
    else {
      inner ??= new ByteOutput({ expectedBytes: 4096, maxBytes: maxNestedBytes })
      inner.backTo(0)
      writePlain(value, inner)
      out.quotedBytes(inner.written())
    }
  }
}

const plainNumber = /^-?\d+(?:\.\d+)?$/

function numberWriter(type: EngineType, dates: DateMeaning): WriteValue {
  const writePlain = plainWriter(dates)
  return (value, out) => {
    if (typeof value === 'number') out.text(numberText(value))
    else if (typeof value === 'boolean') out.text(value ? '1' : '0')
    // Older ClickHouse does not read a quoted Decimal.
    else if (typeof value === 'string' && plainNumber.test(value)) out.text(value)
    else if (value instanceof Date) out.text(String(dates === 'day' ? daysOf(value) : countOf(value, type)))
    else writePlain(value, out)
  }
}

/** ClickHouse reads NaN and infinities only in quotes. */
function numberText(value: number): string {
  if (Number.isFinite(value)) return String(value)
  if (Number.isNaN(value)) return '"nan"'
  return value > 0 ? '"inf"' : '"-inf"'
}

function boolWriter(dates: DateMeaning): WriteValue {
  const writePlain = plainWriter(dates)
  return (value, out) => {
    const word = typeof value === 'string' ? value : ''
    if (/^(?:true|t|yes|y|on|enabled?|1)$/i.test(word)) out.text('true')
    else if (/^(?:false|f|no|n|off|disabled?|0)$/i.test(word)) out.text('false')
    else writePlain(value, out)
  }
}

function dateWriter(dates: DateMeaning): WriteValue {
  const writePlain = plainWriter(dates)
  return (value, out) => {
    if (value instanceof Date) out.text(`"${dateAsText(value, 'day')}"`)
    // ClickHouse rejects a time of day in a Date.
    else if (typeof value === 'string' && /^\d{4}-\d{2}-\d{2}[T ]/.test(value)) out.text(`"${value.slice(0, 10)}"`)
    else writePlain(value, out)
  }
}

function timestampWriter(type: EngineType, dates: DateMeaning): WriteValue {
  const writePlain = plainWriter(dates)
  const hasFraction = type.name === 'DateTime64'
  return (value, out) => {
    if (value instanceof Date) out.text(hasFraction ? JSON.stringify(value) : String(secondsOf(value)))
    else if (typeof value === 'string' && !hasFraction) out.text(JSON.stringify(withoutFraction(value)))
    else writePlain(value, out)
  }
}

const withoutFraction = (text: string): string => text.replace(/^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})\.\d+/, '$1')

function listWriter({ elements: [element] }: EngineType, dates: DateMeaning): WriteValue {
  const writePlain = plainWriter(dates)
  const writeElement = element ? writerOf(element, dates) : writePlain
  return (value, out) => {
    if (!Array.isArray(value)) return writePlain(value, out)
    out.text('[')
    for (let index = 0; index < value.length; index++) {
      if (index > 0) out.text(',')
      writeElement(value[index], out)
    }
    out.text(']')
  }
}

function mapWriter({ elements: [, held] }: EngineType, dates: DateMeaning): WriteValue {
  const writePlain = plainWriter(dates)
  const writeHeld = held ? writerOf(held, dates) : writePlain
  return (value, out) => (isPlainObject(value) ? writeMembers(value, out, () => writeHeld) : writePlain(value, out))
}

function tupleWriter({ elements, elementNames }: EngineType, dates: DateMeaning): WriteValue {
  const writePlain = plainWriter(dates)
  const writeElements = elements.map((element) => writerOf(element, dates))
  return (value, out) => {
    if (isPlainObject(value)) {
      writeMembers(value, out, (name) => writeElements[elementNames.indexOf(name)] ?? writePlain)
    } else if (Array.isArray(value)) {
      value.forEach((element, index) => {
        out.text(index === 0 ? '[' : ',')
        const write = writeElements[index] ?? writePlain
        write(element, out)
      })
      out.text(value.length === 0 ? '[]' : ']')
    } else writePlain(value, out)
  }
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof Date) &&
    !(value instanceof Uint8Array)
  )
}

function writeMembers(value: Record<string, unknown>, out: ByteOutput, writerFor: (name: string) => WriteValue): void {
  let before = '{'
  for (const name of Object.keys(value)) {
    out.text(`${before}${JSON.stringify(name)}:`)
    const write = writerFor(name)
    write(value[name], out)
    before = ','
  }
  out.text(before === '{' ? '{}' : '}')
}

/** Plain JSON, for types that do not describe their content. */
function plainWriter(dates: DateMeaning): WriteValue {
  const write: WriteValue = (value, out) => {
    if (value === null || value === undefined) out.text('null')
    else if (typeof value === 'string') out.text(JSON.stringify(value))
    else if (typeof value === 'number') out.text(Number.isFinite(value) ? String(value) : 'null')
    else if (typeof value !== 'object') out.text(String(value))
    else if (value instanceof Date) out.text(JSON.stringify(dateAsText(value, dates)))
    else if (value instanceof Uint8Array) writeBytes(value, out)
    else if (Array.isArray(value)) {
      out.text('[')
      for (let index = 0; index < value.length; index++) {
        if (index > 0) out.text(',')
        write(value[index], out)
      }
      out.text(']')
    } else writeMembers(value as Record<string, unknown>, out, () => write)
  }
  return write
}

function writeBytes(value: Uint8Array, out: ByteOutput): void {
  if (isUtf8(value)) out.text(JSON.stringify(Buffer.from(value).toString('utf8')))
  else out.quotedBytes(value)
}
