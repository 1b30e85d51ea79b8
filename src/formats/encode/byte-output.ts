// Output buffer for text, raw bytes and escaped bytes. It is on the path of every value: memory is reserved per value, not per byte.
// A taken buffer is never written to again; a lent one is reused as soon as the generator resumes.
import { Buffer } from 'node:buffer'

const firstBytes = 256 * 1024
/** Upper bound for the first buffer after `take`. */
const largestReusedBytes = 1024 * 1024
/** Node's `write` is faster for longer texts, a loop for shorter ones. */
const shortLength = 40
/** Shorter values are escaped faster byte by byte. */
const shortBytes = 64

/** Buffers of closed outputs, for reuse. */
const spares: Buffer[] = []
const mostSpares = 4

/** More was written than the limit allows. */
export class OutputFull extends Error {
  constructor() {
    super('too much was written')
    this.name = 'OutputFull'
  }
}

const emptyBuffer = Buffer.alloc(0)
const quote = 0x22
const backslash = 0x5c

const jsonEscapes: Record<number, string> = { [quote]: '\\"', [backslash]: '\\\\' }
for (let unit = 0; unit < 0x20; unit++) jsonEscapes[unit] = JSON.stringify(String.fromCharCode(unit)).slice(1, -1)

/** By byte: the letter after the backslash in TabSeparated; 0: not escaped. The apostrophe quotes texts in an array. */
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

export class ByteOutput {
  #buffer: Buffer = emptyBuffer
  #at = 0
  /** Writes up to here need no check: end of the buffer, or the limit. */
  #room = 0
  #limit: number
  /** Least size of the next first buffer. */
  #nextBytes: number

  constructor({ expectedBytes = firstBytes, maxBytes = Number.POSITIVE_INFINITY } = {}) {
    this.#nextBytes = expectedBytes
    this.#limit = maxBytes
  }

  get sizeBytes(): number {
    return this.#at
  }

  /** Writing more than `moreBytes` from here on throws OutputFull. */
  limit(moreBytes: number): void {
    this.#limit = this.#at + moreBytes
    this.#room = Math.min(this.#buffer.length, this.#limit)
  }

  text(text: string): void {
    const { length } = text
    // UTF-8 needs one to three bytes per UTF-16 code unit.
    this.#reserve(length, length * 3)
    if (length > shortLength || !this.#writeAscii(text, length)) this.#at += this.#buffer.write(text, this.#at)
    this.#checkLimit()
  }

  #writeAscii(text: string, length: number): boolean {
    const buffer = this.#buffer
    const at = this.#at
    for (let index = 0; index < length; index++) {
      const unit = text.charCodeAt(index)
      if (unit > 127) return false
      buffer[at + index] = unit
    }
    this.#at = at + length
    return true
  }

  bytes(source: Uint8Array, start = 0, end = source.length): void {
    const sizeBytes = end - start
    this.#reserve(sizeBytes)
    const isComplete = start === 0 && end === source.length
    // Avoids a subarray object per slice.
    if (!isComplete && Buffer.isBuffer(source)) source.copy(this.#buffer, this.#at, start, end)
    else this.#buffer.set(isComplete ? source : source.subarray(start, end), this.#at)
    this.#at += sizeBytes
  }

  byte(byte: number): void {
    if (this.#at >= this.#room) this.#grow(1, 1)
    this.#buffer[this.#at++] = byte
  }

  /** Writes a JSON string with its quotes. Bytes are copied unchanged, whatever their encoding. */
  quotedBytes(source: Uint8Array): void {
    this.byte(quote)
    let from = 0
    for (let at = 0; at < source.length; at++) {
      const byte = source[at]!
      if (byte >= 0x20 && byte !== quote && byte !== backslash) continue
      this.bytes(source, from, at)
      this.text(jsonEscapes[byte]!)
      from = at + 1
    }
    this.bytes(source, from)
    this.byte(quote)
  }

  /** As in a TabSeparated field. */
  escapedByte(byte: number): void {
    const letter = letters[byte]!
    if (letter !== 0) this.byte(backslash)
    this.byte(letter === 0 ? byte : letter)
  }

  /** As in a TabSeparated field. */
  escaped(source: Buffer, start: number, end: number): void {
    if (end - start > shortBytes) this.#escapedRuns(source, start, end)
    else this.#escapedBytes(source, start, end)
  }

  #escapedBytes(source: Buffer, start: number, end: number): void {
    const sizeBytes = end - start
    this.#reserve(sizeBytes, sizeBytes * 2)
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
    this.#checkLimit()
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

  /** Truncates the output to `sizeBytes`. */
  backTo(sizeBytes: number): void {
    this.#at = sizeBytes
  }

  /** A view; later writes may change it. */
  written(): Buffer {
    return this.#buffer.subarray(0, this.#at)
  }

  /** Returns the written bytes and continues with a new buffer. */
  take(): Buffer {
    const taken = this.written()
    this.#nextBytes = Math.min(this.#buffer.length || this.#nextBytes, largestReusedBytes)
    this.#limit = Number.POSITIVE_INFINITY
    this.#drop()
    return taken
  }

  /** Yields the written bytes; when resumed, the buffer is reused. */
  *lend(): Generator<Buffer, void> {
    yield this.written()
    this.#at = 0
  }

  /** Returns the buffer for reuse; no lent view may still be in use. Calling it is optional. */
  close(): void {
    if (this.#buffer.length === firstBytes && spares.length < mostSpares) spares.push(this.#buffer)
    this.#drop()
  }

  #drop(): void {
    this.#buffer = emptyBuffer
    this.#at = 0
    this.#room = 0
  }

  /** For `least` to `most` bytes. When fewer than `most` are within the limit, call `#checkLimit` after writing. */
  #reserve(least: number, most = least): void {
    if (this.#at + most > this.#room) this.#grow(least, most)
  }

  #checkLimit(): void {
    if (this.#at > this.#limit) throw new OutputFull()
  }

  #grow(least: number, most: number): void {
    if (this.#at + least > this.#limit) throw new OutputFull()
    const neededBytes = this.#at + most
    const { length } = this.#buffer
    if (neededBytes > length) {
      const largerBytes = Math.max(neededBytes, length * 2, length === 0 ? this.#nextBytes : 0)
      const larger = (largerBytes === firstBytes && spares.pop()) || Buffer.allocUnsafeSlow(largerBytes)
      this.#buffer.copy(larger, 0, 0, this.#at)
      this.#buffer = larger
    }
    this.#room = Math.min(this.#buffer.length, this.#limit)
  }
}
