// Splits, reads and builds messages of the PostgreSQL protocol. The server is not trusted: every length is checked, and invalid
// messages throw NotConnected.
import { NotConnected } from '../source.ts'

/** An error of the server, without its message. */
export class PostgresError extends Error {
  /** SQLSTATE. */
  readonly code: string

  constructor(code: string) {
    super(`PostgreSQL answers with the error ${code}`)
    this.name = 'PostgresError'
    this.code = code
  }
}

/** SQLSTATE program_limit_exceeded, which PostgreSQL reports for a row that is too long. */
export const tooLong = '54000'

/** First byte of a message of the server. */
export const letters = {
  commandComplete: 0x43,
  copyBoth: 0x57,
  copyData: 0x64,
  copyDone: 0x63,
  copyOut: 0x48,
  dataRow: 0x44,
  emptyQuery: 0x49,
  error: 0x45,
  notice: 0x4e,
  notification: 0x41,
  parameter: 0x53,
  ready: 0x5a,
  rowDescription: 0x54,
} as const

/** Handles the messages of the server. */
export interface Conversation {
  /** `start` to `end` is a message without its header. The bytes must be copied to be kept. Throws for an unexpected message. */
  receive(letter: number, bytes: Buffer, start: number, end: number): void
  /** Called for long messages before they are received. Throws when the message is too long. */
  admit(letter: number, sizeBytes: number): void
}

const headerBytes = 5
/** Longer messages must be admitted. Notices and errors are shorter. */
const longBytes = 1024 * 1024
/** A larger buffer is not reused. */
const maxKeptBytes = 4 * 1024 * 1024

/** Splits the bytes of a socket into messages. A message within one piece is not copied. */
export class MessageCutter {
  readonly #conversation: Conversation
  /** The received part of an incomplete message. */
  #begun: Buffer = Buffer.alloc(0)
  #begunBytes = 0

  constructor(conversation: Conversation) {
    this.#conversation = conversation
  }

  push(piece: Buffer): void {
    let at = this.#begunBytes > 0 ? this.#complete(piece) : 0
    const { length } = piece
    while (length - at >= headerBytes) {
      const end = at + this.#sizeAt(piece, at)
      if (end > length) break
      this.#conversation.receive(piece[at]!, piece, at + headerBytes, end)
      at = end
    }
    if (at < length) this.#keep(piece, at, length)
  }

  /** Adds the piece to the incomplete message. Returns the offset in the piece of the next message. */
  #complete(piece: Buffer): number {
    const at = Math.min(piece.length, Math.max(0, headerBytes - this.#begunBytes))
    this.#keep(piece, 0, at)
    if (this.#begunBytes < headerBytes) return at
    const sizeBytes = this.#sizeAt(this.#begun, 0)
    const end = Math.min(piece.length, at + sizeBytes - this.#begunBytes)
    this.#keep(piece, at, end)
    if (this.#begunBytes < sizeBytes) return end
    const whole = this.#begun
    this.#begunBytes = 0
    if (whole.length > maxKeptBytes) this.#begun = Buffer.alloc(0)
    this.#conversation.receive(whole[0]!, whole, headerBytes, sizeBytes)
    return end
  }

  /** Size of a message with its header. */
  #sizeAt(bytes: Buffer, at: number): number {
    const sizeBytes = uint32At(bytes, at + 1) + 1
    if (sizeBytes < headerBytes) throw new NotConnected()
    if (sizeBytes > longBytes) this.#conversation.admit(bytes[at]!, sizeBytes)
    return sizeBytes
  }

  #keep(piece: Buffer, from: number, to: number): void {
    const neededBytes = this.#begunBytes + to - from
    // Memory grows with the received bytes, not with the announced length.
    if (neededBytes > this.#begun.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(neededBytes, 2 * this.#begun.length, 16 * 1024))
      this.#begun.copy(larger, 0, 0, this.#begunBytes)
      this.#begun = larger
    }
    piece.copy(this.#begun, this.#begunBytes, from, to)
    this.#begunBytes = neededBytes
  }
}

/** Up to this size, a loop is faster than Buffer.copy. */
const fewBytes = 48

/** Optimized for many short rows. */
export function copyBytes(from: Buffer, start: number, end: number, to: Buffer, at: number): void {
  if (end - start > fewBytes) {
    from.copy(to, at, start, end)
    return
  }
  for (let next = start, target = at; next < end; next++, target++) to[target] = from[next]!
}

/** The caller must check that four bytes are available. */
export function uint32At(bytes: Buffer, at: number): number {
  return ((bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!) >>> 0
}

/** Reads the SQLSTATE of an ErrorResponse: fields of a letter and a zero-terminated text, ended by a zero byte. */
export function errorIn(bytes: Buffer, start: number, end: number): PostgresError {
  let code = ''
  let field = start
  while (field < end && bytes[field] !== 0) {
    const fieldEnd = bytes.indexOf(0, field + 1)
    if (fieldEnd < 0 || fieldEnd >= end) throw new NotConnected()
    if (bytes[field] === 0x43) code = bytes.toString('latin1', field + 1, fieldEnd)
    field = fieldEnd + 1
  }
  if (field >= end || !/^[0-9A-Z]{5}$/.test(code)) throw new NotConnected()
  return new PostgresError(code)
}

/** For a RowDescription or DataRow. */
export function columnCountIn(bytes: Buffer, start: number, end: number): number {
  if (end - start < 2) throw new NotConnected()
  return bytes.readUInt16BE(start)
}

export function rowIn(bytes: Buffer, start: number, end: number, columnCount: number): (string | null)[] {
  if (columnCountIn(bytes, start, end) !== columnCount) throw new NotConnected()
  const row: (string | null)[] = []
  let at = start + 2
  for (let column = 0; column < columnCount; column++) {
    if (end - at < 4) throw new NotConnected()
    const lengthBytes = bytes.readInt32BE(at)
    at += 4
    if (lengthBytes < -1 || lengthBytes > end - at) throw new NotConnected()
    row.push(lengthBytes < 0 ? null : bytes.toString('utf8', at, at + lengthBytes))
    at += Math.max(0, lengthBytes)
  }
  if (at !== end) throw new NotConnected()
  return row
}

export function queryMessage(text: string): Buffer {
  return messageOf('Q', Buffer.from(`${text}\0`))
}

export function copyDataMessage(payload: Buffer): Buffer {
  return messageOf('d', payload)
}

/** Terminate: the server ends the session in order. */
export const farewell = messageOf('X', Buffer.alloc(0))

function messageOf(letter: string, body: Buffer): Buffer {
  const message = Buffer.allocUnsafe(headerBytes + body.length)
  message.write(letter, 'latin1')
  message.writeUInt32BE(body.length + 4, 1)
  body.copy(message, headerBytes)
  return message
}
