// Finds the byte ranges of values in JSON text without parsing them. It does not validate the text, which ClickHouse does, but never
// reads beyond its end.
import type { Buffer } from 'node:buffer'

/** From `start` up to, excluding, `end`. */
export interface TextRange {
  start: number
  end: number
}

export const code = {
  quote: 0x22,
  comma: 0x2c,
  colon: 0x3a,
  openList: 0x5b,
  backslash: 0x5c,
  closeList: 0x5d,
  openObject: 0x7b,
  closeObject: 0x7d,
} as const

export const isSpace = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09

export function skipSpace(bytes: Uint8Array, start: number, end = bytes.length): number {
  let at = start
  while (at < end && isSpace(bytes[at])) at++
  return at
}

/** Length of the byte order mark at `start`, if there is one: some producers write it. */
export function byteOrderMarkLength(bytes: Uint8Array, start = 0): number {
  return bytes[start] === 0xef && bytes[start + 1] === 0xbb && bytes[start + 2] === 0xbf ? 3 : 0
}

/** Offset after the last byte that is not white space. */
export function trimEnd(bytes: Uint8Array, start: number, end: number): number {
  let at = end
  while (at > start && isSpace(bytes[at - 1])) at--
  return at
}

/** Offset after the closing quote of the string at `start`; undefined when it is not closed. */
export function endOfText(bytes: Uint8Array, start: number, end: number): number | undefined {
  for (let at = start + 1; at < end; at++) {
    const byte = bytes[at]
    if (byte === code.backslash) at++
    else if (byte === code.quote) return at + 1
  }
  return undefined
}

/** Offset after the value at `start`; undefined when it is incomplete. */
export function endOfValue(bytes: Uint8Array, start: number, end: number): number | undefined {
  const first = bytes[start]
  if (first === code.quote) return endOfText(bytes, start, end)
  if (first === code.openObject || first === code.openList) return endOfNested(bytes, start, end)
  let at = start
  while (at < end && !isEndOfScalar(bytes[at]!)) at++
  return at === start ? undefined : at
}

const isEndOfScalar = (byte: number): boolean =>
  byte === code.comma ||
  byte === code.closeObject ||
  byte === code.closeList ||
  byte === code.openObject ||
  byte === code.openList ||
  isSpace(byte)

function endOfNested(bytes: Uint8Array, start: number, end: number): number | undefined {
  let depth = 0
  let isText = false
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!
    if (isText) {
      if (byte === code.backslash) at++
      else if (byte === code.quote) isText = false
    } else if (byte === code.quote) isText = true
    else if (byte === code.openObject || byte === code.openList) depth++
    else if ((byte === code.closeObject || byte === code.closeList) && --depth === 0) return at + 1
  }
  return undefined
}

export interface Members {
  /** In order; names with their quotes and escapes. */
  list: { name: TextRange; value: TextRange }[]
  end: number
}

/** Members of the object at `start`; undefined when it is not a complete object. */
export function membersOf(bytes: Uint8Array, start: number, end: number): Members | undefined {
  if (bytes[start] !== code.openObject) return undefined
  const list: Members['list'] = []
  let at = skipSpace(bytes, start + 1, end)
  while (at < end && bytes[at] !== code.closeObject) {
    const nameEnd = bytes[at] === code.quote ? endOfText(bytes, at, end) : undefined
    if (nameEnd === undefined) return undefined
    const colonAt = skipSpace(bytes, nameEnd, end)
    if (bytes[colonAt] !== code.colon) return undefined
    const valueStart = skipSpace(bytes, colonAt + 1, end)
    const valueEnd = endOfValue(bytes, valueStart, end)
    if (valueEnd === undefined) return undefined
    list.push({ name: { start: at, end: nameEnd }, value: { start: valueStart, end: valueEnd } })
    at = skipSpace(bytes, valueEnd, end)
    if (bytes[at] === code.comma) at = skipSpace(bytes, at + 1, end)
    else if (bytes[at] !== code.closeObject) return undefined
  }
  return at < end ? { list, end: at + 1 } : undefined
}

/** A member name without its quotes and escapes. */
export function nameIn(bytes: Buffer, { start, end }: TextRange): string {
  const isEscaped = bytes.subarray(start, end).includes(code.backslash)
  if (!isEscaped) return bytes.toString('utf8', start + 1, end - 1)
  try {
    return String(JSON.parse(bytes.toString('utf8', start, end)))
  } catch {
    return bytes.toString('utf8', start + 1, end - 1)
  }
}

/**
 * Objects that follow each other, with or without commas between them and a list around them. Undefined when there is anything else,
 * or an incomplete object.
 */
export function objectsIn(bytes: Uint8Array, start: number, end: number): TextRange[] | undefined {
  const objects: TextRange[] = []
  let at = skipSpace(bytes, start, end)
  const isList = bytes[at] === code.openList
  if (isList) at = skipSeparators(bytes, at + 1, end)
  while (at < end && bytes[at] === code.openObject) {
    const objectEnd = endOfNested(bytes, at, end)
    if (objectEnd === undefined) return undefined
    objects.push({ start: at, end: objectEnd })
    at = skipSeparators(bytes, objectEnd, end)
  }
  if (isList) {
    if (bytes[at] !== code.closeList || at >= end) return undefined
    at = skipSeparators(bytes, at + 1, end)
  }
  return at === end ? objects : undefined
}

/** Skips white space and commas. */
export function skipSeparators(bytes: Uint8Array, start: number, end = bytes.length): number {
  let at = start
  while (at < end && (bytes[at] === code.comma || isSpace(bytes[at]))) at++
  return at
}
