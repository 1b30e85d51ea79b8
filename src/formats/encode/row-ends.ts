// Finds the ends of rows in a part of an object that begins with a row.
import type { Buffer } from 'node:buffer'
import { code, endOfValue, isSpace, skipSpace } from '../json-scan.ts'
import type { YieldToLoop } from './yield-to-loop.ts'

/** How the bytes end: anywhere, after a row, or with the object. */
export type Ending = 'anywhere' | 'row' | 'object'

export interface RowEnds {
  /**
   * Ends of all complete rows, ascending; each row begins where the previous one ends. They are stored in `list`, which must be empty.
   */
  find(bytes: Buffer, ending: Ending, list?: EndList): Uint32Array
  /** Whether a piece may end at `end`. */
  mayCutAt(bytes: Buffer, end: number): boolean
}

const stepBytes = 1024 * 1024

/** Returns what `find` returns, and yields to the event loop between steps. The size of the steps does not change the result. */
export async function findEnds(
  rowEnds: RowEnds,
  bytes: Buffer,
  {
    ending,
    yieldToLoop,
    firstStepBytes = stepBytes,
  }: { ending: Ending; yieldToLoop: YieldToLoop; firstStepBytes?: number },
): Promise<Uint32Array> {
  let ends = new EndList()
  // One list is reused for all steps: discarding megabytes per step would trigger full garbage collections.
  const list = new EndList()
  for (let sizeBytes = firstStepBytes; ; ) {
    const start = ends.last
    const isLast = bytes.length - start <= sizeBytes
    const step = isLast ? bytes.subarray(start) : bytes.subarray(start, start + sizeBytes)
    list.clear()
    const found = rowEnds.find(step, isLast ? ending : 'anywhere', list)
    // The bytes after an end can decide whether it is one, as for a piece.
    const isSure = (end: number): boolean => rowEnds.mayCutAt(bytes, start + end)
    const count = isLast ? found.length : found.findLastIndex(isSure) + 1
    // Estimated from the first step.
    if (start === 0) ends = new EndList((count * bytes.length * 1.1) / step.length)
    for (let index = 0; index < count; index++) ends.push(start + found[index]!)
    if (isLast) return ends.all()
    sizeBytes = count === 0 ? sizeBytes * 2 : firstStepBytes
    await yieldToLoop()
  }
}

/** List of 32-bit numbers: half the memory of an array for a million rows. */
export class EndList {
  #ends: Uint32Array
  #count = 0

  constructor(expected = 0) {
    this.#ends = new Uint32Array(Math.max(1024, Math.ceil(expected)))
  }

  /** End of the last row, or 0. */
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
 * JSON objects separated by newlines, each on one or more lines. Between `}` and the beginning of another value, and before `{`
 * without a comma, colon or bracket before it, no newline is inside a value. So an invalid row affects no other row.
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

/** JSON objects separated by commas, with or without a list around them. */
export const jsonListEnds: RowEnds = {
  mayCutAt: () => true,
  find(bytes, ending, ends = new EndList()) {
    for (let at = skipBetween(bytes, 0); at < bytes.length; ) {
      const end = bytes[at] === code.closeObject ? at + 1 : endOfValue(bytes, at, bytes.length)
      const next = end === undefined ? bytes.length : skipBetween(bytes, end)
      // More of the value, or of the separator after it, may follow.
      if (next === bytes.length && ending === 'anywhere') break
      ends.push(end ?? bytes.length)
      at = next
    }
    return ends.all()
  },
}

/** Skips separators between the objects of a list, and after the last one. */
export function skipBetween(bytes: Buffer, start: number, end = bytes.length): number {
  let at = start
  while (at < end && (isSpace(bytes[at]) || bytes[at] === code.comma || bytes[at] === code.closeList)) at++
  return at
}
