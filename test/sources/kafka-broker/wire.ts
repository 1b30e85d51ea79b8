// Primitive types of the Kafka protocol. In flexible versions, lengths are varints and structures end with tagged fields; readers and
// writers handle the difference.

/** The bytes do not match the message format. */
export class MalformedMessage extends Error {}

export class WireReader {
  readonly #bytes: Buffer
  readonly #isFlexible: boolean
  #position = 0

  constructor(bytes: Buffer, isFlexible: boolean) {
    this.#bytes = bytes
    this.#isFlexible = isFlexible
  }

  #take(sizeBytes: number): number {
    const start = this.#position
    if (sizeBytes < 0 || start + sizeBytes > this.#bytes.length) throw new MalformedMessage('a message ends too early')
    this.#position += sizeBytes
    return start
  }

  boolean(): boolean {
    return this.int8() !== 0
  }

  int8(): number {
    return this.#bytes.readInt8(this.#take(1))
  }

  int16(): number {
    return this.#bytes.readInt16BE(this.#take(2))
  }

  int32(): number {
    return this.#bytes.readInt32BE(this.#take(4))
  }

  int64(): bigint {
    return this.#bytes.readBigInt64BE(this.#take(8))
  }

  /** Offsets, timestamps and sizes, which are always safe integers. */
  safeInt64(): number {
    return Number(this.int64())
  }

  uuid(): string {
    const hex = this.raw(16).toString('hex')
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  }

  unsignedVarint(): number {
    return Number(BigInt.asUintN(32, this.#varint(5)))
  }

  /** Zigzag encoding, as in records. */
  varint(): number {
    return Number(this.varlong())
  }

  varlong(): bigint {
    const value = this.#varint(10)
    return (value >> 1n) ^ -(value & 1n)
  }

  #varint(mostBytes: number): bigint {
    let value = 0n
    for (let index = 0; index < mostBytes; index++) {
      const byte = this.#bytes.readUInt8(this.#take(1))
      value |= BigInt(byte & 0x7f) << BigInt(7 * index)
      if (byte < 0x80) return value
    }
    throw new MalformedMessage('a varint without an end')
  }

  raw(sizeBytes: number): Buffer {
    const start = this.#take(sizeBytes)
    return this.#bytes.subarray(start, start + sizeBytes)
  }

  nullableString(): string | null {
    const sizeBytes = this.#isFlexible ? this.unsignedVarint() - 1 : this.int16()
    return sizeBytes < 0 ? null : this.raw(sizeBytes).toString()
  }

  string(): string {
    return present(this.nullableString())
  }

  nullableBytes(): Buffer | null {
    const sizeBytes = this.#isFlexible ? this.unsignedVarint() - 1 : this.int32()
    return sizeBytes < 0 ? null : this.raw(sizeBytes)
  }

  bytes(): Buffer {
    return present(this.nullableBytes())
  }

  nullableArray<T>(readItem: () => T): T[] | null {
    const length = this.#isFlexible ? this.unsignedVarint() - 1 : this.int32()
    if (length < 0) return null
    const items: T[] = []
    while (items.length < length) items.push(readItem())
    return items
  }

  array<T>(readItem: () => T): T[] {
    return present(this.nullableArray(readItem))
  }

  /** An array of structures, each with tagged fields. */
  nullableStructures<T>(readFields: () => T): T[] | null {
    return this.nullableArray(() => {
      const fields = readFields()
      this.tags()
      return fields
    })
  }

  structures<T>(readFields: () => T): T[] {
    return present(this.nullableStructures(readFields))
  }

  /** Skipped: this broker needs no tagged fields. */
  tags(): void {
    if (!this.#isFlexible) return
    for (let left = this.unsignedVarint(); left > 0; left--) {
      this.unsignedVarint()
      this.raw(this.unsignedVarint())
    }
  }

  rest(): Buffer {
    return this.raw(this.#bytes.length - this.#position)
  }

  isAtEnd(): boolean {
    return this.#position === this.#bytes.length
  }
}

function present<T>(value: T | null): T {
  if (value === null) throw new MalformedMessage('null where something must be')
  return value
}

const noUuid = '00000000-0000-0000-0000-000000000000'

export class WireWriter {
  readonly #chunks: Buffer[] = []
  readonly #isFlexible: boolean

  constructor(isFlexible: boolean) {
    this.#isFlexible = isFlexible
  }

  #fixed(sizeBytes: number, write: (bytes: Buffer) => void): this {
    const bytes = Buffer.alloc(sizeBytes)
    write(bytes)
    return this.raw(bytes)
  }

  boolean(value: boolean): this {
    return this.int8(value ? 1 : 0)
  }

  int8(value: number): this {
    return this.#fixed(1, (bytes) => bytes.writeInt8(value))
  }

  int16(value: number): this {
    return this.#fixed(2, (bytes) => bytes.writeInt16BE(value))
  }

  int32(value: number): this {
    return this.#fixed(4, (bytes) => bytes.writeInt32BE(value))
  }

  uint32(value: number): this {
    return this.#fixed(4, (bytes) => bytes.writeUInt32BE(value))
  }

  int64(value: bigint | number): this {
    return this.#fixed(8, (bytes) => bytes.writeBigInt64BE(BigInt(value)))
  }

  uuid(value: string | null): this {
    return this.raw(Buffer.from((value ?? noUuid).replaceAll('-', ''), 'hex'))
  }

  unsignedVarint(value: number): this {
    return this.#varint(BigInt(value))
  }

  /** Zigzag encoding, as in records. */
  varint(value: bigint | number): this {
    const wide = BigInt(value)
    return this.#varint(BigInt.asUintN(64, (wide << 1n) ^ (wide >> 63n)))
  }

  #varint(value: bigint): this {
    const bytes: number[] = []
    let rest = value
    for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80)
    bytes.push(Number(rest))
    return this.raw(Buffer.from(bytes))
  }

  raw(bytes: Buffer): this {
    this.#chunks.push(bytes)
    return this
  }

  string(value: string | null): this {
    const bytes = value === null ? null : Buffer.from(value)
    if (this.#isFlexible) this.unsignedVarint(bytes === null ? 0 : bytes.length + 1)
    else this.int16(bytes?.length ?? -1)
    return bytes === null ? this : this.raw(bytes)
  }

  bytes(value: Buffer | null): this {
    this.#length(value)
    return value === null ? this : this.raw(value)
  }

  array<T>(items: readonly T[] | null, writeItem: (item: T) => void): this {
    this.#length(items)
    for (const item of items ?? []) writeItem(item)
    return this
  }

  /** An array of structures, each with tagged fields. */
  structures<T>(items: readonly T[] | null, writeFields: (item: T) => void): this {
    return this.array(items, (item) => {
      writeFields(item)
      this.tags()
    })
  }

  #length(value: { length: number } | null): this {
    return this.#isFlexible
      ? this.unsignedVarint(value === null ? 0 : value.length + 1)
      : this.int32(value === null ? -1 : value.length)
  }

  tags(): this {
    return this.#isFlexible ? this.unsignedVarint(0) : this
  }

  toBuffer(): Buffer {
    return Buffer.concat(this.#chunks)
  }
}
