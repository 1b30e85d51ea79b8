// Splits, reads and builds messages of the PostgreSQL protocol. The server is not trusted: every length is checked, and invalid
// messages throw a SessionError.
import { NotConnected } from '../../source-shapes/source-failure.ts'

/** Each has a text in postgres-failure.ts. */
type SessionFailure =
  /** The server closed the connection. */
  | 'broken'
  | 'not postgres'
  /** More than a probe can have requested. */
  | 'too much'
  /** The server requires an authentication method other than a password. */
  | 'other sign-in'
  /** The server violates SCRAM-SHA-256, or does not offer it. */
  | 'other scram'
  /** The server asks for a password in a form that reveals it, and the password was sent for another server. */
  | 'password kept'
  /** The server answers the SSLRequest with an error. */
  | 'error at start'
  /** The server has no TLS and the operator requires it. */
  | 'no tls'
  | 'no login'
  /** The user may not run the SET commands of the session. */
  | 'setting refused'

/** The connection cannot be opened or continued. */
export class SessionError extends NotConnected {
  readonly failure: SessionFailure

  constructor(failure: SessionFailure) {
    super()
    this.failure = failure
  }
}

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
  authentication: 0x52,
  bindComplete: 0x32,
  commandComplete: 0x43,
  copyBoth: 0x57,
  copyData: 0x64,
  copyDone: 0x63,
  copyOut: 0x48,
  dataRow: 0x44,
  emptyQuery: 0x49,
  error: 0x45,
  keyData: 0x4b,
  noData: 0x6e,
  notice: 0x4e,
  notification: 0x41,
  parameter: 0x53,
  parseComplete: 0x31,
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
    if (sizeBytes < headerBytes) throw new SessionError('not postgres')
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

/** The SQLSTATE of an ErrorResponse or a notice: fields of a letter and a zero-terminated text, ended by a zero byte. */
export function sqlStateIn(bytes: Buffer, start: number, end: number): string {
  let code = ''
  let field = start
  while (field < end && bytes[field] !== 0) {
    const fieldEnd = bytes.indexOf(0, field + 1)
    if (fieldEnd < 0 || fieldEnd >= end) throw new SessionError('not postgres')
    if (bytes[field] === 0x43) code = bytes.toString('latin1', field + 1, fieldEnd)
    field = fieldEnd + 1
  }
  if (field >= end) throw new SessionError('not postgres')
  return code
}

export function errorIn(bytes: Buffer, start: number, end: number): PostgresError {
  const code = sqlStateIn(bytes, start, end)
  if (!/^[0-9A-Z]{5}$/.test(code)) throw new SessionError('not postgres')
  return new PostgresError(code)
}

/** For a RowDescription or DataRow. */
export function columnCountIn(bytes: Buffer, start: number, end: number): number {
  if (end - start < 2) throw new SessionError('not postgres')
  return bytes.readUInt16BE(start)
}

export function rowIn(bytes: Buffer, start: number, end: number, columnCount: number): (string | null)[] {
  if (columnCountIn(bytes, start, end) !== columnCount) throw new SessionError('not postgres')
  const row: (string | null)[] = []
  let at = start + 2
  for (let column = 0; column < columnCount; column++) {
    if (end - at < 4) throw new SessionError('not postgres')
    const lengthBytes = bytes.readInt32BE(at)
    at += 4
    if (lengthBytes < -1 || lengthBytes > end - at) throw new SessionError('not postgres')
    row.push(lengthBytes < 0 ? null : bytes.toString('utf8', at, at + lengthBytes))
    at += Math.max(0, lengthBytes)
  }
  if (at !== end) throw new SessionError('not postgres')
  return row
}

export interface Column {
  name: string
  /** OID of its type. */
  typeId: number
}

/** Columns of a RowDescription without its header. */
export function columnsIn(description: Buffer): Column[] {
  const columns: Column[] = []
  let at = 2
  for (let left = columnCountIn(description, 0, description.length); left > 0; left--) {
    const end = description.indexOf(0, at)
    if (end < 0 || description.length - end < 19) throw new SessionError('not postgres')
    columns.push({ name: description.toString('utf8', at, end), typeId: description.readUInt32BE(end + 7) })
    at = end + 19
  }
  return columns
}

/** The first message, with the parameters of the session. */
export function startupMessage(parameters: Record<string, string>): Buffer {
  const texts = Object.entries(parameters).map(([name, value]) => `${name}\0${value}\0`)
  const body = Buffer.from(`\0\x03\0\0${texts.join('')}\0`)
  return Buffer.concat([int32(body.length + 4), body])
}

/** PasswordMessage, SASLInitialResponse or SASLResponse. */
export function passwordMessage(...parts: (string | Buffer)[]): Buffer {
  return messageOf('p', Buffer.concat(parts.map((part) => Buffer.from(part))))
}

export function queryMessage(text: string): Buffer {
  return messageOf('Q', Buffer.from(`${text}\0`))
}

/** Parse, Bind, Describe, Execute and Sync: a statement with parameters in text format. */
export function boundQueryMessages(text: string, values: string[]): Buffer {
  const parameters = values.flatMap((value) => [int32(Buffer.byteLength(value)), Buffer.from(value)])
  const count = int32(values.length).subarray(2)
  return Buffer.concat([
    messageOf('P', Buffer.from(`\0${text}\0\0\0`)),
    messageOf('B', Buffer.concat([Buffer.alloc(4), count, ...parameters, Buffer.alloc(2)])),
    messageOf('D', Buffer.from('P\0')),
    messageOf('E', Buffer.alloc(5)),
    messageOf('S', Buffer.alloc(0)),
  ])
}

export function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
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
