// Where the rows of an object end, in a part of its bytes that begins with a row.
import type { Buffer } from 'node:buffer'
import { code, endOfValue, isSpace, skipSpace } from './json-scan.ts'
import type { YieldToLoop } from './yield-to-loop.ts'

/** How the bytes end: anywhere, behind a row, or with the object. */
export type Ending = 'anywhere' | 'row' | 'object'

export interface RowEnds {
  /**
   * The ends of all rows that are whole, in order; each begins where the one before ends. They lie in an empty list, of whoever gives
   * one.
   */
  find(bytes: Buffer, ending: Ending, list?: EndList): Uint32Array
  /** Whether a piece may end there. */
  mayCutAt(bytes: Buffer, end: number): boolean
}

const stepBytes = 1024 * 1024

/** What `find` gives, in steps: it does not matter how large they are. */
export async function findEnds(
  rowEnds: RowEnds,
  bytes: Buffer,
  { ending, rest, firstStepBytes = stepBytes }: { ending: Ending; rest: YieldToLoop; firstStepBytes?: number },
): Promise<Uint32Array> {
  let ends = new EndList()
  // What one step has found is copied before the next: to throw away lists by megabytes has all memory searched for what is left.
  const list = new EndList()
  for (let sizeBytes = firstStepBytes; ; ) {
    const start = ends.last
    const isLast = bytes.length - start <= sizeBytes
    const step = isLast ? bytes.subarray(start) : bytes.subarray(start, start + sizeBytes)
    list.clear()
    const found = rowEnds.find(step, isLast ? ending : 'anywhere', list)
    // What follows an end may decide whether there is one, as it does for a piece.
    const isSure = (end: number): boolean => rowEnds.mayCutAt(bytes, start + end)
    const count = isLast ? found.length : found.findLastIndex(isSure) + 1
    // The others have about as many.
    if (start === 0) ends = new EndList((count * bytes.length * 1.1) / step.length)
    for (let index = 0; index < count; index++) ends.push(start + found[index]!)
    if (isLast) return ends.all()
    sizeBytes = count === 0 ? sizeBytes * 2 : firstStepBytes
    await rest()
  }
}

/** Numbers of 32 bits: an object has a million rows, and a list of numbers takes twice the memory. */
export class EndList {
  #ends: Uint32Array
  #count = 0

  constructor(expected = 0) {
    this.#ends = new Uint32Array(Math.max(1024, Math.ceil(expected)))
  }

  /** Of the last row, or 0. */
  get last(): number {
    return this.#count === 0 ? 0 : this.#ends[this.#count - 1]!
  }

  push(end: number): void {
    if (this.#count === this.#ends.length) {
      const larger = new Uint32Array(this.#count * 2)
      larger.set(this.#ends)
      this.#ends = larger
    }
    this.#ends[this.#count++] = end
  }

  clear(): void {
    this.#count = 0
  }

  all(): Uint32Array {
    return this.#ends.subarray(0, this.#count)
  }
}

/**
 * Objects of JSON that have newlines between them, on one line each or on several. No value has a newline between `}` and what
 * begins another value, and none has one before `{` without a comma, a colon or a bracket before that; so what is broken
 * spoils only its own row.
 */
export const jsonLineEnds: RowEnds = {
  mayCutAt: () => true,
  find(bytes, ending, ends = new EndList()) {
    let first = skipSpace(bytes, 0)
    for (let newline = bytes.indexOf(0x0a, first); newline !== -1; newline = bytes.indexOf(0x0a, first)) {
      first = skipSpace(bytes, newline + 1)
      if (first === bytes.length) break
      if (isBetweenRows(bytes, newline, first)) ends.push(newline + 1)
    }
    const isLeft = skipSpace(bytes, ends.last) < bytes.length
    if (ending !== 'anywhere' && isLeft) ends.push(bytes.length)
    return ends.all()
  },
}

function isBetweenRows(bytes: Buffer, newline: number, next: number): boolean {
  let last = newline - 1
  while (last >= 0 && isSpace(bytes[last])) last--
  const [before, after] = [bytes[last], bytes[next]]
  if (before === undefined) return false
  if (before === code.closeObject) {
    return after !== code.closeObject && after !== code.closeList && after !== code.comma
  }
  return after === code.openObject && before !== code.comma && before !== code.openList && before !== code.colon
}

/** Objects of JSON that have commas between them, with or without a list around them. */
export const jsonListEnds: RowEnds = {
  mayCutAt: () => true,
  find(bytes, ending, ends = new EndList()) {
    for (let at = skipBetween(bytes, 0); at < bytes.length; ) {
      const end = bytes[at] === code.closeObject ? at + 1 : endOfValue(bytes, at, bytes.length)
      const next = end === undefined ? bytes.length : skipBetween(bytes, end)
      // More of a value, or of what follows it, may come.
      if (next === bytes.length && ending === 'anywhere') break
      ends.push(end ?? bytes.length)
      at = next
    }
    return ends.all()
  },
}

/** What stands between the objects of a list, and behind the last one. */
export function skipBetween(bytes: Buffer, start: number, end = bytes.length): number {
  let at = start
  while (at < end && (isSpace(bytes[at]) || bytes[at] === code.comma || bytes[at] === code.closeList)) at++
  return at
}
