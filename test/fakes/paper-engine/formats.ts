// Input and output formats that Penstock and its tests use. Texts are byte strings.
import { isUtf8 } from 'node:buffer'
import { textOf } from './functions.ts'
import { SqlError } from './tokens.ts'
import { asJson, type Row, type Value } from './values.ts'

export interface Field {
  name: string
  type: string
}

/** Missing values are absent: their columns get the default. */
export type RawRow = Record<string, unknown>

export interface BodyOptions {
  fields: Field[]
  delimiter: string
  skipUnknown: boolean
  /** The body was interrupted: data after the last complete row is ignored. */
  isCut: boolean
}

export function readBody(format: string, data: string, options: BodyOptions): RawRow[] {
  switch (format) {
    case 'JSONEachRow':
      return readJson(data, options)
    case 'CSV':
      return readDelimited(data, options, (text) => readCsvLine(text, options.delimiter))
    case 'TabSeparated':
    case 'TSV':
      return readDelimited(data, options, readTsvLine)
    default:
      throw new SqlError(73, `Unknown format ${format}`)
  }
}

function readJson(data: string, { fields, skipUnknown, isCut }: BodyOptions): RawRow[] {
  const known = new Set(fields.map(({ name }) => name))
  const rows: RawRow[] = []
  let at = 0
  for (;;) {
    while (/[\s,]/.test(data[at] ?? '')) at++
    if (at >= data.length) return rows
    if (data[at] !== '{')
      throw new SqlError(27, `Cannot parse input: expected '{' before: '${data.slice(at, at + 20)}'`)
    const end = endOfObject(data, at)
    if (end === undefined) {
      if (isCut) return rows
      throw new SqlError(33, 'Cannot read all data: unexpected end of an object')
    }
    const row = parseJson(data.slice(at, end))
    const unknown = skipUnknown ? undefined : Object.keys(row).find((name) => !known.has(name))
    if (unknown !== undefined)
      throw new SqlError(117, `Unknown field found while parsing JSONEachRow format: ${unknown}`)
    rows.push(Object.fromEntries(Object.entries(row).filter(([name]) => known.has(name))))
    at = end
  }
}

function endOfObject(data: string, from: number): number | undefined {
  let [depth, isText] = [0, false]
  for (let at = from; at < data.length; at++) {
    const character = data[at]
    if (isText) {
      if (character === '\\') at++
      else if (character === '"') isText = false
    } else if (character === '"') isText = true
    else if (character === '{' || character === '[') depth++
    else if ((character === '}' || character === ']') && --depth === 0) return at + 1
  }
  return undefined
}

function parseJson(text: string): RawRow {
  const bytes = Buffer.from(text, 'latin1')
  try {
    return asBytes(JSON.parse(isUtf8(bytes) ? bytes.toString('utf8') : text)) as RawRow
  } catch {
    throw new SqlError(27, `Cannot parse input: not JSON: ${text.slice(0, 60)}`)
  }
}

/** Names too. */
function asBytes(value: unknown): unknown {
  if (typeof value === 'string') return Buffer.from(value, 'utf8').toString('latin1')
  if (Array.isArray(value)) return value.map(asBytes)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [asBytes(name), asBytes(each)]))
}

/** The values of the line, and the position after it; undefined without a line end. */
type ReadLine = (text: string, at: number) => { values: unknown[]; next: number } | undefined
type StartLine = (text: string) => ReadLine

function readDelimited(data: string, { fields, isCut }: BodyOptions, start: StartLine): RawRow[] {
  const readLine = start(data)
  const rows: RawRow[] = []
  for (let at = 0; at < data.length; ) {
    const line = readLine(data, at)
    if (!line) throw new SqlError(27, 'Cannot parse input: a quote does not end')
    if (isCut && line.next >= data.length && data[data.length - 1] !== '\n') return rows
    if (line.values.length !== fields.length) {
      throw new SqlError(27, `Cannot parse input: ${line.values.length} values for ${fields.length} columns`)
    }
    rows.push(Object.fromEntries(fields.map(({ name }, index) => [name, line.values[index]])))
    at = line.next
  }
  return rows
}

function readCsvLine(_text: string, delimiter: string): ReadLine {
  return (text, from) => {
    const values: unknown[] = []
    let at = from
    for (;;) {
      if (text[at] === '"') {
        const end = endOfQuoted(text, at)
        if (end === undefined) return undefined
        values.push(text.slice(at + 1, end - 1).replaceAll('""', '"'))
        at = end
      } else {
        const begin = at
        while (at < text.length && text[at] !== delimiter && text[at] !== '\n' && text[at] !== '\r') at++
        const value = text.slice(begin, at)
        // An empty value means the default.
        values.push(value === '\\N' ? null : value === '' ? undefined : value)
      }
      if (text[at] === delimiter) at++
      else {
        if (text[at] === '\r') at++
        return { values, next: at + 1 }
      }
    }
  }
}

function endOfQuoted(text: string, from: number): number | undefined {
  for (let at = from + 1; at < text.length; at++) {
    if (text[at] !== '"') continue
    if (text[at + 1] !== '"') return at + 1
    at++
  }
  return undefined
}

const unescapes: Record<string, string> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', '0': '\0' }

const readTsvLine: StartLine = () => (text, from) => {
  const newline = text.indexOf('\n', from)
  const end = newline === -1 ? text.length : newline
  const values = text
    .slice(from, end)
    .split('\t')
    .map((each) =>
      each === '\\N' ? null : each.replaceAll(/\\([\s\S])/g, (_, next: string) => unescapes[next] ?? next),
    )
  return { values, next: end + 1 }
}

const escapeTsv = (text: string): string =>
  text
    .replaceAll('\\', '\\\\')
    .replaceAll('\n', '\\n')
    .replaceAll('\t', '\\t')
    .replaceAll('\r', '\\r')
    .replaceAll('\0', '\\0')

const cell = (value: Value): string => (value === null ? '\\N' : escapeTsv(shown(value)))

function shown(value: Value): string {
  if (!Array.isArray(value)) return textOf(value)
  return `[${value.map((each) => (typeof each === 'string' ? `'${each}'` : textOf(each))).join(',')}]`
}

/** Converts byte strings to text, so that JSON has characters. */
function asText(value: Value): unknown {
  if (typeof value === 'string') {
    const bytes = Buffer.from(value, 'latin1')
    return isUtf8(bytes) ? bytes.toString('utf8') : value
  }
  if (Array.isArray(value)) return value.map(asText)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [String(asText(name)), asText(each)]))
}

export const shownRow = (row: Row): Record<string, unknown> => asText(row) as Record<string, unknown>

export function writeRows(format: string, names: string[], rows: Value[][]): Buffer {
  switch (format) {
    case 'TabSeparated':
    case 'TSV':
      return Buffer.from(rows.map((values) => `${values.map(cell).join('\t')}\n`).join(''), 'latin1')
    case 'JSONEachRow': {
      const objects = rows.map((values) =>
        asText(Object.fromEntries(names.map((name, index) => [name, values[index] ?? null]))),
      )
      return Buffer.from(objects.map((row) => `${JSON.stringify(row, asJson)}\n`).join(''))
    }
    default:
      throw new SqlError(73, `Unknown format ${format}`)
  }
}
