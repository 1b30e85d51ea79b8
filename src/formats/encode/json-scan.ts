// Finds values in JSON text without making anything of them: only where they begin and end. It does not judge whether the text
// is valid, which the engine does, but never goes beyond its end.
import type { Buffer } from 'node:buffer'

/** From `start` up to and without `end`. */
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

/** Where the text that is not space ends. */
export function trimEnd(bytes: Uint8Array, start: number, end: number): number {
  let at = end
  while (at > start && isSpace(bytes[at - 1])) at--
  return at
}

/** Behind the closing quote of the text that begins at `start`; undefined when there is none. */
function endOfText(bytes: Uint8Array, start: number, end: number): number | undefined {
  for (let at = start + 1; at < end; at++) {
    const byte = bytes[at]
    if (byte === code.backslash) at++
    else if (byte === code.quote) return at + 1
  }
  return undefined
}

/** Behind the value that begins at `start`; undefined when it does not end. */
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
  /** Names as they are written, with their quotes, and values, in order. */
  list: { name: TextRange; value: TextRange }[]
  end: number
}

/** Of the object that begins at `start`; undefined when it is none. */
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

/** A name without its quotes and escapes. */
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
 * The objects in a text that holds any number of them, one after the other, with or without commas and a list around them.
 * Undefined when something else is among them, or when one does not end.
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

function skipSeparators(bytes: Uint8Array, start: number, end: number): number {
  let at = start
  while (at < end && (bytes[at] === code.comma || isSpace(bytes[at]))) at++
  return at
}
