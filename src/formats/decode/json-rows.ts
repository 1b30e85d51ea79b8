// JSON objects in the forms that JSONEachRow accepts: one per record, one per line, or in sequence, with or without commas and
// enclosing list. Integers keep all digits.
import { type Buffer, isUtf8 } from 'node:buffer'
import { asBuffer } from '../../lib/as-buffer.ts'
import type { Row } from '../../source-shapes/probe.ts'
import { byteOrderMarkLength, code, endOfText, skipSeparators, skipSpace } from '../json-scan.ts'
import { excerptOf, Undecodable } from '../undecodable.ts'
import type { Decoded, ObjectStart } from './decoding.ts'
import { noteFractions } from './infer-fields.ts'
import type { SampleBudget } from './sample-budget.ts'

const newline = 0x0a

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
    if (parseRows(asBuffer(bytes), options, rows) === 'enough') break
  }
  return { rows }
}

export function decodeJsonLines({ bytes, isWhole }: ObjectStart, maxRows: number): Decoded {
  if (!isUtf8(bytes)) refuseBrokenText(bytes, isWhole)
  const rows: Row[] = []
  const describePosition = (at: number): string => `line ${lineAt(bytes, at)}`
  parseRows(asBuffer(bytes), { describePosition, mayBeCut: !isWhole, maxRows, budget: newJsonBudget() }, rows)
  if (rows.length === 0 && !isWhole && maxRows > 0) {
    throw new Undecodable(`the first JSON object is longer than the ${bytes.length} bytes that are read of an object`)
  }
  return { rows }
}

/** The cut may be inside a character of the last line. */
function refuseBrokenText(bytes: Uint8Array, isWhole: boolean): void {
  let line = 1
  for (let start = 0; start < bytes.length; line++) {
    const lineEnd = bytes.indexOf(newline, start)
    if (lineEnd === -1 && !isWhole) return
    const end = lineEnd === -1 ? bytes.length : lineEnd + 1
    if (!isUtf8(bytes.subarray(start, end))) throw new Undecodable(`line ${line} is not UTF-8 text`)
    start = end
  }
}

function lineAt(bytes: Uint8Array, at: number): number {
  let line = 1
  for (let end = bytes.indexOf(newline); end !== -1 && end < at; end = bytes.indexOf(newline, end + 1)) line++
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

/** Adds all rows of the bytes, or as many as a sample may have. */
function parseRows(bytes: Buffer, options: ParseOptions, rows: Row[]): 'all' | 'enough' {
  const { describePosition, mayBeCut, maxRows, budget } = options
  let at = skipSpace(bytes, byteOrderMarkLength(bytes))
  if (bytes[at] === code.openList) at++
  for (at = skipSeparators(bytes, at); at < bytes.length && rows.length < maxRows; at = skipSeparators(bytes, at)) {
    if (bytes[at] !== code.openObject) {
      const isEndOfList = bytes[at] === code.closeList && skipSeparators(bytes, at + 1) === bytes.length
      if (isEndOfList) return 'all'
      throw new Undecodable(`${describePosition(at)} is not a JSON object: it begins with ${excerptAt(bytes, at)}`)
    }
    const end = endOfObject(bytes, at, budget)
    if (end === 'too much') {
      if (rows.length > 0) return 'enough'
      throw new Undecodable(`${describePosition(at)} holds more values than a sample may have`)
    }
    if (end === 'too deep') throw new Undecodable(`${describePosition(at)} is nested deeper than ${maxDepth} levels`)
    if (end === undefined) {
      if (mayBeCut && !isFollowedByObject(bytes, at, budget)) return 'all'
      throw new Undecodable(
        `${describePosition(at)} is a JSON object without its end: it begins with ${excerptAt(bytes, at)}`,
      )
    }
    const row = parseRow(bytes.toString('utf8', at, end))
    if (!row) throw new Undecodable(`${describePosition(at)} is not valid JSON: it begins with ${excerptAt(bytes, at)}`)
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

function excerptAt(bytes: Buffer, at: number): string {
  return excerptOf(bytes.toString('utf8', at, at + 100).split('\n', 1)[0] ?? '')
}

/**
 * End of the object at `start`; undefined when the bytes end before. Spends the budget before values are created; encoders have a
 * scanner without limits, which is faster.
 */
function endOfObject(bytes: Buffer, start: number, budget: SampleBudget): number | 'too deep' | 'too much' | undefined {
  let depth = 0
  for (let at = start; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === code.quote) {
      const textEnd = endOfText(bytes, at, bytes.length)
      if (textEnd === undefined) return undefined
      at = textEnd - 1
    } else if (byte === code.comma) {
      if (--budget.values < 0) return 'too much'
    } else if (byte === code.openObject || byte === code.openList) {
      if (++depth > maxDepth) return 'too deep'
      if (--budget.values < 0) return 'too much'
    } else if (byte === code.closeObject || byte === code.closeList) {
      if (--depth === 0) return at + 1
    }
  }
  return undefined
}

/** Whether the next line is a complete object: then the one at `start` is invalid, not cut. */
function isFollowedByObject(bytes: Buffer, start: number, budget: SampleBudget): boolean {
  const lineEnd = bytes.indexOf(newline, start)
  if (lineEnd === -1 || /[[{:,]\s*$/.test(bytes.toString('utf8', Math.max(start, lineEnd - 10), lineEnd))) return false
  const next = skipSpace(bytes, lineEnd)
  const end = bytes[next] === code.openObject ? endOfObject(bytes, next, budget) : undefined
  return typeof end === 'number' && (bytes[end] === newline || bytes[end] === 0x0d)
}
