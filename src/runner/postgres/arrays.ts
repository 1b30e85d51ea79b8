// Converts arrays from PostgreSQL's text output, `{1,NULL,"a b"}`, to a TabSeparated field of ClickHouse, `[1,NULL,'a b']`.
import { Buffer } from 'node:buffer'
import { ByteOutput } from '../../formats/encode/byte-output.ts'
import { Undecodable } from '../../formats/undecodable.ts'
import type { ScalarValues, WriteValue } from './scalar-values.ts'

const code = (letter: string): number => letter.charCodeAt(0)
const [open, close, quote, backslash] = [code('{'), code('}'), code('"'), code('\\')]
const [comma, openList, closeList, apostrophe] = [code(','), code('['), code(']'), code("'")]

export interface Elements
  extends Pick<ScalarValues, 'isQuoted' | 'defaultText' | 'isUnrepresentable' | 'write' | 'writeElement'> {
  /** When false, a NULL element becomes the default value. */
  isNullable: boolean
  /** PostgreSQL prints it between the elements. */
  delimiter: string
}

/** The writer throws Undecodable. */
export function makeArrayWriter(elements: Elements): WriteValue {
  const { isQuoted, isUnrepresentable, writeElement = elements.write } = elements
  const delimiter = code(elements.delimiter)
  const nullText = elements.isNullable ? 'NULL' : elements.defaultText
  const unescaped = new ByteOutput({ expectedBytes: 1024 })

  const writeValue: WriteValue = (bytes, start, end, out) => {
    if (isUnrepresentable?.(bytes, start, end)) return out.text(nullText)
    if (isQuoted) out.byte(apostrophe)
    writeElement(bytes, start, end, out)
    if (isQuoted) out.byte(apostrophe)
  }

  /** Returns the offset after the closing quote. */
  const writeQuoted: WriteElement = (bytes, start, end, out) => {
    const last = findQuote(bytes, start + 1, end)
    if (bytes.subarray(start + 1, last).includes(backslash)) {
      const text = withoutEscapes(bytes, start + 1, last, unescaped)
      writeValue(text, 0, text.length, out)
    } else writeValue(bytes, start + 1, last, out)
    return last + 1
  }

  const writePlain: WriteElement = (bytes, start, end, out) => {
    let last = start
    while (last < end && bytes[last] !== delimiter && bytes[last] !== close) last++
    if (isNull(bytes, start, last)) out.text(nullText)
    else writeValue(bytes, start, last, out)
    return last
  }

  return (bytes, start, end, out) => {
    checkDimensions(bytes, start)
    out.byte(openList)
    let at = start + 1
    while (at < end && bytes[at] !== close) {
      if (at > start + 1) {
        if (bytes[at] !== delimiter) throw notArray()
        out.byte(comma)
        at += 1
      }
      if (bytes[at] === open) throw hasDimensions()
      at = bytes[at] === quote ? writeQuoted(bytes, at, end, out) : writePlain(bytes, at, end, out)
    }
    if (at + 1 !== end) throw notArray()
    out.byte(closeList)
  }
}

type WriteElement = (...value: Parameters<WriteValue>) => number

function checkDimensions(bytes: Buffer, start: number): void {
  if (bytes[start] === open) return
  // `[0:1]={1,2}`
  throw bytes[start] === openList ? new Undecodable('it has an array that does not count from 1') : notArray()
}

const notArray = (): Undecodable => new Undecodable('it has an array that is not printed as one')
const hasDimensions = (): Undecodable => new Undecodable('it has an array of more than one dimension')

const nullBytes = Buffer.from('NULL')

function isNull(bytes: Buffer, start: number, end: number): boolean {
  return end - start === nullBytes.length && bytes.compare(nullBytes, 0, nullBytes.length, start, end) === 0
}

function findQuote(bytes: Buffer, start: number, end: number): number {
  for (let at = start; at < end; at++) {
    if (bytes[at] === backslash) at += 1
    else if (bytes[at] === quote) return at
  }
  throw notArray()
}

function withoutEscapes(bytes: Buffer, start: number, end: number, out: ByteOutput): Buffer {
  out.backTo(0)
  for (let at = start; at < end; at++) {
    if (bytes[at] === backslash) at += 1
    out.byte(bytes[at]!)
  }
  return out.written()
}
