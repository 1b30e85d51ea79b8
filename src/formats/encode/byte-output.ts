// Where rows are written before they are sent: text and raw bytes one after the other. What is given away is never written to
// again; what is lent is, as soon as the borrower asks for more.
import { Buffer } from 'node:buffer'

const firstBytes = 256 * 1024
/** Of what is expected to be needed again. */
const largestReusedBytes = 1024 * 1024
/** A text that is longer is written faster by Node, a shorter one by a loop. */
const shortLength = 40

/** Of outputs that are closed. */
const spares: Buffer[] = []
const mostSpares = 4

/** More was written than may be. */
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

  /** Throws OutputFull when so much more is written. */
  limit(moreBytes: number): void {
    this.#limit = this.#at + moreBytes
  }

  text(text: string): void {
    const { length } = text
    // UTF-8 takes at least one byte and at most three for each unit of the text.
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
    const isWhole = start === 0 && end === source.length
    // Of very many pieces of something large, nothing is made.
    if (!isWhole && Buffer.isBuffer(source)) source.copy(this.#buffer, this.#at, start, end)
    else this.#buffer.set(isWhole ? source : source.subarray(start, end), this.#at)
    this.#at += sizeBytes
  }

  byte(byte: number): void {
    this.#claim(1)
    this.#reserve(1)
    this.#buffer[this.#at++] = byte
  }

  /** A text of JSON with its quotes. The bytes stay as they are, whatever they mean. */
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

  /** Forgets what was written after there were so many bytes. */
  backTo(sizeBytes: number): void {
    this.#at = sizeBytes
  }

  /** A view, which what is written next may change. */
  written(): Buffer {
    return this.#buffer.subarray(0, this.#at)
  }

  /** Gives away what was written, and begins anew. */
  take(): Buffer {
    const taken = this.written()
    this.#buffer = Buffer.allocUnsafeSlow(Math.min(this.#buffer.length, largestReusedBytes))
    this.#at = 0
    this.#limit = Number.POSITIVE_INFINITY
    return taken
  }

  /** Lends what was written until more is asked for, and begins anew. */
  *lend(): Generator<Buffer, void> {
    yield this.written()
    this.#at = 0
  }

  /** Nothing is written any more, and nobody has anything that was lent. Need not be called. */
  close(): void {
    if (this.#buffer.length === firstBytes && spares.length < mostSpares) spares.push(this.#buffer)
    this.#buffer = nothing
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

const nothing = Buffer.alloc(0)
const quote = 0x22
const backslash = 0x5c

const escapes: Record<number, string> = { [quote]: '\\"', [backslash]: '\\\\' }
for (let unit = 0; unit < 0x20; unit++) escapes[unit] = JSON.stringify(String.fromCharCode(unit)).slice(1, -1)
