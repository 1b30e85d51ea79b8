// Reads numbers and text from untrusted bytes, for Avro and Protobuf. Never reads past the end; invalid bytes throw a Misfit.
import { quote } from '../../lib/shape-rules.ts'

/** The bytes do not match the schema. `detail` is a part of a sentence, and `path` the names of the enclosing fields. */
export class Misfit extends Error {
  readonly detail: string
  readonly path: string[] = []

  constructor(detail: string) {
    super(detail)
    this.name = 'Misfit'
    this.detail = detail
  }

  /** `at "address.street" it ends too early` */
  get located(): string {
    return this.path.length === 0 ? this.detail : `at ${quote(this.path.join('.'))} ${this.detail}`
  }
}

/** There are fewer bytes than the schema requires. */
export class TooShort extends Misfit {
  constructor() {
    super('it ends too early')
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** A number if it is exact, otherwise a bigint. */
export function exactNumber(value: bigint): number | bigint {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}

export class ByteReader {
  readonly #bytes: Uint8Array
  readonly #view: DataView
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  get at(): number {
    return this.#at
  }

  get left(): number {
    return this.#bytes.length - this.#at
  }

  byte(): number {
    const byte = this.#bytes[this.#at]
    if (byte === undefined) throw new TooShort()
    this.#at++
    return byte
  }

  /** A view of the next bytes, not a copy. */
  bytes(count: number | bigint): Uint8Array {
    const start = this.#advance(count)
    return this.#bytes.subarray(start, this.#at)
  }

  /** A view of bytes that were already read. */
  between(start: number, end: number): Uint8Array {
    return this.#bytes.subarray(start, end)
  }

  text(sizeBytes: number | bigint): string {
    const bytes = this.bytes(sizeBytes)
    try {
      return utf8.decode(bytes)
    } catch {
      throw new Misfit('it has text that is not UTF-8')
    }
  }

  float(): number {
    return this.#view.getFloat32(this.#advance(4), true)
  }

  double(): number {
    return this.#view.getFloat64(this.#advance(8), true)
  }

  fixed32(): number {
    return this.#view.getUint32(this.#advance(4), true)
  }

  fixed64(): bigint {
    return this.#view.getBigUint64(this.#advance(8), true)
  }

  /** Seven bits per byte, the lowest first; 64 bits unsigned. */
  varint(): number | bigint {
    let low = 0
    // Seven bytes have 49 bits, which a number represents exactly.
    for (let scale = 1; scale < 2 ** 49; scale *= 128) {
      const byte = this.byte()
      low += (byte & 127) * scale
      if (byte < 128) return low
    }
    let value = BigInt(low)
    for (let shift = 49n; shift < 70n; shift += 7n) {
      const byte = this.byte()
      value |= BigInt(byte & 127) << shift
      if (byte >= 128) continue
      if (value >= 2n ** 64n) break
      return exactNumber(value)
    }
    throw new Misfit('it has a number of more than 64 bits')
  }

  /** A varint whose lowest bit is the sign. */
  zigzag(): number | bigint {
    const value = this.varint()
    if (typeof value === 'number') return value % 2 === 0 ? value / 2 : -(value + 1) / 2
    return exactNumber(value & 1n ? -(value >> 1n) - 1n : value >> 1n)
  }

  #advance(count: number | bigint): number {
    if (count < 0) throw new Misfit('it has a length below zero')
    if (count > this.left) throw new TooShort()
    const start = this.#at
    this.#at += Number(count)
    return start
  }
}
