// Output buffer for TabSeparated fields, with escaping. It is on the path of every value, so it reserves memory per value and not per
// byte. Bytes returned by `take` are never written to again.
import { Buffer } from 'node:buffer'

/** Small, because a batch has one output per table and often few changes of each. */
const firstBytes = 4 * 1024
/** Limit of the size with which the next buffer starts. */
const largestReusedBytes = 1024 * 1024
/** Shorter values are copied faster byte by byte. */
const shortBytes = 64

const backslash = 0x5c

/** By byte: the letter after the backslash; 0: not escaped. The apostrophe quotes texts in an array. */
const letters = new Uint8Array(256)
for (const [byte, letter] of [
  [0x00, '0'],
  [0x08, 'b'],
  [0x09, 't'],
  [0x0a, 'n'],
  [0x0c, 'f'],
  [0x0d, 'r'],
  [0x27, "'"],
  [backslash, '\\'],
] as const) {
  letters[byte] = letter.charCodeAt(0)
}

const nothing = Buffer.alloc(0)

export class FieldOutput {
  #buffer = nothing
  #at = 0
  /** Least size of the next allocation. */
  #nextBytes: number

  constructor(expectedBytes = firstBytes) {
    this.#nextBytes = expectedBytes
  }

  get sizeBytes(): number {
    return this.#at
  }

  byte(byte: number): void {
    if (this.#at === this.#buffer.length) this.#grow(1)
    this.#buffer[this.#at++] = byte
  }

  /** ASCII only. */
  text(text: string): void {
    this.#reserve(text.length)
    for (let index = 0; index < text.length; index++) this.#buffer[this.#at++] = text.charCodeAt(index)
  }

  /** Without escaping. */
  bytes(source: Buffer, start = 0, end = source.length): void {
    this.#reserve(end - start)
    this.#at += source.copy(this.#buffer, this.#at, start, end)
  }

  escapedByte(byte: number): void {
    const letter = letters[byte]!
    if (letter !== 0) this.byte(backslash)
    this.byte(letter === 0 ? byte : letter)
  }

  escaped(source: Buffer, start: number, end: number): void {
    if (end - start > shortBytes) this.#escapedRuns(source, start, end)
    else this.#escapedBytes(source, start, end)
  }

  #escapedBytes(source: Buffer, start: number, end: number): void {
    this.#reserve((end - start) * 2)
    const buffer = this.#buffer
    let to = this.#at
    for (let at = start; at < end; at++) {
      const byte = source[at]!
      const letter = letters[byte]!
      if (letter === 0) buffer[to++] = byte
      else {
        buffer[to++] = backslash
        buffer[to++] = letter
      }
    }
    this.#at = to
  }

  #escapedRuns(source: Buffer, start: number, end: number): void {
    let from = start
    for (let at = start; at < end; at++) {
      const letter = letters[source[at]!]!
      if (letter === 0) continue
      this.bytes(source, from, at)
      this.byte(backslash)
      this.byte(letter)
      from = at + 1
    }
    this.bytes(source, from, end)
  }

  /** Truncates the output to this size. */
  backTo(sizeBytes: number): void {
    this.#at = sizeBytes
  }

  /** A view that later writes may change. */
  written(): Buffer {
    return this.#buffer.subarray(0, this.#at)
  }

  /** Returns what was written and starts with a new buffer. */
  take(): Buffer {
    const taken = this.written()
    this.#nextBytes = Math.min(this.#buffer.length, largestReusedBytes)
    this.#buffer = nothing
    this.#at = 0
    return taken
  }

  #reserve(sizeBytes: number): void {
    if (this.#at + sizeBytes > this.#buffer.length) this.#grow(sizeBytes)
  }

  #grow(sizeBytes: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#at + sizeBytes, this.#buffer.length * 2, this.#nextBytes))
    this.#buffer.copy(larger, 0, 0, this.#at)
    this.#buffer = larger
  }
}
