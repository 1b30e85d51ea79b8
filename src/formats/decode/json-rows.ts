// JSON objects in the forms that JSONEachRow accepts: one per record, one per line, or in sequence, with or without commas and
// enclosing list. Integers keep all digits.
import { isUtf8 } from 'node:buffer'
import type { Row } from '../../source-shapes/probe.ts'
import { type Decoded, excerptOf, type ObjectStart, Undecodable } from './decode.ts'
import { noteFractions } from './infer-fields.ts'
import type { SampleBudget } from './sample-budget.ts'

/** Limit of the engine. */
const maxDepth = 1000
/** No integer type of the engine has more. */
const maxIntegerDigits = 78

/** Less than for other formats: each value is processed twice to keep the digits of numbers. */
const newJsonBudget = (): SampleBudget => ({ values: 50_000, unpackedBytes: 16 * 1024 * 1024 })

/** A record may have any number of rows. Stops after `maxRows`, and skips records that are too large. */
export function decodeJsonRecords(records: Uint8Array[], maxRows: number): Decoded {
  const rows: Row[] = []
  const budget = newJsonBudget()
  for (const [index, bytes] of records.entries()) {
    const which = `record ${index + 1}`
    if (bytes.length > budget.unpackedBytes) continue
    budget.unpackedBytes -= bytes.length
    if (!isUtf8(bytes)) throw new Undecodable(`${which} is not UTF-8 text`)
    const options = { describePosition: () => which, mayBeCut: false, maxRows, budget }
    if (parseRows(textOf(bytes), options, rows) === 'enough') break
  }
  return { rows }
}

export function decodeJsonLines({ bytes, isWhole }: ObjectStart, maxRows: number): Decoded {
  const text = textOf(bytes)
  if (text.includes('\ufffd')) refuseBrokenText(bytes, isWhole)
  const rows: Row[] = []
  const describePosition = (at: number): string => `line ${lineAt(text, at)}`
  parseRows(text, { describePosition, mayBeCut: !isWhole, maxRows, budget: newJsonBudget() }, rows)
  if (rows.length === 0 && !isWhole && maxRows > 0) {
    throw new Undecodable(`the first JSON object is longer than the ${bytes.length} bytes that are read of an object`)
  }
  return { rows }
}

/** Without byte order mark; invalid UTF-8 becomes a replacement character. */
function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes)
}

/** A replacement character may be part of the text, or result from the cut. */
function refuseBrokenText(bytes: Uint8Array, isWhole: boolean): void {
  let line = 1
  for (let start = 0; start < bytes.length; line++) {
    const newline = bytes.indexOf(0x0a, start)
    if (newline === -1 && !isWhole) return
    const end = newline === -1 ? bytes.length : newline + 1
    if (!isUtf8(bytes.subarray(start, end))) throw new Undecodable(`line ${line} is not UTF-8 text`)
    start = end
  }
}

function lineAt(text: string, at: number): number {
  let line = 1
  for (let newline = text.indexOf('\n'); newline !== -1 && newline < at; newline = text.indexOf('\n', newline + 1))
    line++
  return line
}

interface ParseOptions {
  /** Position in the data, for messages. */
  describePosition(at: number): string
  /** An incomplete object at the end is skipped. */
  mayBeCut: boolean
  maxRows: number
  budget: SampleBudget
}

/** Adds all rows of the text, or as many as a sample may have. */
function parseRows(text: string, options: ParseOptions, rows: Row[]): 'all' | 'enough' {
  const { describePosition, mayBeCut, maxRows, budget } = options
  let at = skip(text, 0, whitespace)
  if (text[at] === '[') at++
  for (at = skip(text, at, between); at < text.length && rows.length < maxRows; at = skip(text, at, between)) {
    if (text[at] !== '{') {
      const isEndOfList = text[at] === ']' && skip(text, at + 1, between) === text.length
      if (isEndOfList) return 'all'
      throw new Undecodable(`${describePosition(at)} is not a JSON object: it begins with ${excerptAt(text, at)}`)
    }
    const end = endOfObject(text, at, budget)
    if (end === 'too much') {
      if (rows.length > 0) return 'enough'
      throw new Undecodable(`${describePosition(at)} holds more values than a sample may have`)
    }
    if (end === 'too deep') throw new Undecodable(`${describePosition(at)} is nested deeper than ${maxDepth} levels`)
    if (end === undefined) {
      if (mayBeCut && !isFollowedByObject(text, at, budget)) return 'all'
      throw new Undecodable(
        `${describePosition(at)} is a JSON object without its end: it begins with ${excerptAt(text, at)}`,
      )
    }
    const row = parseRow(text.slice(at, end))
    if (!row) throw new Undecodable(`${describePosition(at)} is not valid JSON: it begins with ${excerptAt(text, at)}`)
    rows.push(row)
    at = end
  }
  return rows.length < maxRows ? 'all' : 'enough'
}

function parseRow(text: string): Row | undefined {
  const fractionsOf = new WeakMap<object, string[]>()
  function revive(this: object, key: string, value: unknown, context?: { source?: string }): unknown {
    const source = context?.source
    if (typeof value !== 'number' || source === undefined) return value
    if (/^-?\d+$/.test(source)) {
      if (Number.isSafeInteger(value)) return value
      return source.length > maxIntegerDigits ? source : BigInt(source)
    }
    if (!Array.isArray(this)) {
      const keys = fractionsOf.get(this)
      if (keys) keys.push(key)
      else fractionsOf.set(this, [key])
    }
    return value
  }
  try {
    const row: Row = JSON.parse(text, revive)
    const names = fractionsOf.get(row)
    if (names) noteFractions(row, names)
    return row
  } catch {
    return undefined
  }
}

const whitespace = /[ \t\r\n]*/y
const between = /[ \t\r\n,]*/y

function skip(text: string, at: number, what: RegExp): number {
  what.lastIndex = at
  what.test(text)
  return what.lastIndex
}

function excerptAt(text: string, at: number): string {
  return excerptOf(text.slice(at, at + 100).split('\n', 1)[0] ?? '')
}

/** End of the object at `start`; undefined when the text ends before. Spends the budget before values are created. */
function endOfObject(text: string, start: number, budget: SampleBudget): number | 'too deep' | 'too much' | undefined {
  let depth = 0
  for (let at = start; at < text.length; at++) {
    const character = text[at]
    if (character === '"') {
      at = endOfString(text, at)
      if (at === -1) return undefined
    } else if (character === ',') {
      if (--budget.values < 0) return 'too much'
    } else if (character === '{' || character === '[') {
      if (++depth > maxDepth) return 'too deep'
      if (--budget.values < 0) return 'too much'
    } else if (character === '}' || character === ']') {
      if (--depth === 0) return at + 1
    }
  }
  return undefined
}

/** Index of the closing quote, or -1. */
function endOfString(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    let backslashes = 0
    while (text[quote - 1 - backslashes] === '\\') backslashes++
    if (backslashes % 2 === 0) return quote
  }
  return -1
}

/** Whether the next line is a complete object: then the one at `start` is invalid, not cut. */
function isFollowedByObject(text: string, start: number, budget: SampleBudget): boolean {
  const newline = text.indexOf('\n', start)
  if (newline === -1 || /[[{:,]\s*$/.test(text.slice(Math.max(start, newline - 10), newline))) return false
  const next = skip(text, newline, whitespace)
  const end = text[next] === '{' ? endOfObject(text, next, budget) : undefined
  return typeof end === 'number' && (text[end] === '\n' || text[end] === '\r')
}
