// Output buffer for text and raw bytes. A taken buffer is never written to again; a lent one is reused as soon as the generator resumes.
import { Buffer } from 'node:buffer'

const firstBytes = 256 * 1024
/** Upper bound for the buffer allocated after `take`. */
const largestReusedBytes = 1024 * 1024
/** Node's `write` is faster for longer texts, a loop for shorter ones. */
const shortLength = 40

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

export class ByteOutput {
  #buffer: Buffer
  #at = 0
  #limit: number

  constructor({ expectedBytes = firstBytes, maxBytes = Number.POSITIVE_INFINITY } = {}) {
    const spare = expectedBytes === firstBytes ? spares.pop() : undefined
    this.#buffer = spare ?? Buffer.allocUnsafeSlow(expectedBytes)
    this.#limit = maxBytes
  }

  get sizeBytes(): number {
    return this.#at
  }

  /** Writing more than `moreBytes` from here on throws OutputFull. */
  limit(moreBytes: number): void {
    this.#limit = this.#at + moreBytes
  }

  text(text: string): void {
    const { length } = text
    // UTF-8 needs one to three bytes per UTF-16 code unit.
    this.#claim(length)
    this.#reserve(length * 3)
    if (length > shortLength || !this.#writeAscii(text, length)) this.#at += this.#buffer.write(text, this.#at)
    this.#claim(0)
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
    this.#claim(sizeBytes)
    this.#reserve(sizeBytes)
    const isComplete = start === 0 && end === source.length
    // Avoids a subarray object per slice.
    if (!isComplete && Buffer.isBuffer(source)) source.copy(this.#buffer, this.#at, start, end)
    else this.#buffer.set(isComplete ? source : source.subarray(start, end), this.#at)
    this.#at += sizeBytes
  }

  byte(byte: number): void {
    this.#claim(1)
    this.#reserve(1)
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
      this.text(escapes[byte]!)
      from = at + 1
    }
    this.bytes(source, from)
    this.byte(quote)
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
    this.#buffer = Buffer.allocUnsafeSlow(Math.min(this.#buffer.length, largestReusedBytes))
    this.#at = 0
    this.#limit = Number.POSITIVE_INFINITY
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
    this.#buffer = emptyBuffer
    this.#at = 0
  }

  #claim(sizeBytes: number): void {
    if (this.#at + sizeBytes > this.#limit) throw new OutputFull()
  }

  #reserve(sizeBytes: number): void {
    const neededBytes = this.#at + sizeBytes
    if (neededBytes <= this.#buffer.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(neededBytes, this.#buffer.length * 2))
    this.#buffer.copy(larger, 0, 0, this.#at)
    this.#buffer = larger
  }
}

const emptyBuffer = Buffer.alloc(0)
const quote = 0x22
const backslash = 0x5c

const escapes: Record<number, string> = { [quote]: '\\"', [backslash]: '\\\\' }
for (let unit = 0; unit < 0x20; unit++) escapes[unit] = JSON.stringify(String.fromCharCode(unit)).slice(1, -1)
