// Layer between the egress socket and `pg`: the SSLRequest, and a stream that passes only complete, valid messages. The server is not
// trusted: on invalid messages, `pg` throws into the event loop or never returns.
import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'

/** The server does not speak the PostgreSQL protocol. */
export class NotPostgres extends Error {
  constructor() {
    super('not PostgreSQL')
    this.name = 'NotPostgres'
  }
}

/** The server sends more than a probe can have requested. */
export class TooMuch extends Error {
  constructor() {
    super('too many or too long answers')
    this.name = 'TooMuch'
  }
}

/** The server requires an authentication method other than a password. */
export class OtherSignIn extends Error {
  constructor() {
    super('another way to sign in')
    this.name = 'OtherSignIn'
  }
}

/** The server asks for a password in a form that reveals it, and the password was sent for another server. */
export class PasswordKept extends Error {
  constructor() {
    super('the password was not sent')
    this.name = 'PasswordKept'
  }
}

/** The server answers the SSLRequest with an error. */
export class ErrorAtStart extends Error {
  constructor() {
    super('an error in place of an answer')
    this.name = 'ErrorAtStart'
  }
}

const sslRequest = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f])

/** Sends the SSLRequest; resolves to whether the server offers TLS. */
export async function offersTls(socket: Socket): Promise<boolean> {
  const answer = firstAnswer(socket)
  socket.write(sslRequest)
  const bytes = await answer
  const letter = bytes?.toString('latin1')
  if (letter === 'S' || letter === 'N') return letter === 'S'
  // More than one letter is not PostgreSQL, or was injected before TLS.
  throw letter?.startsWith('E\0') ? new ErrorAtStart() : new NotPostgres()
}

function firstAnswer(socket: Socket): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const done = (bytes?: Buffer): void => {
      socket.off('data', done)
      socket.off('close', closed)
      socket.pause()
      resolve(bytes)
    }
    const closed = (): void => done()
    socket.on('data', done)
    socket.on('close', closed)
  })
}

const headerBytes = 5
/** Limit of one session. The samples of postgres-sample.ts are at most half of it. */
const maxReceivedBytes = 32 * 1024 * 1024
/** Enough for a thousand tables with their columns. Each message costs memory, however short it is. */
const maxMessages = 200_000
/** Limit of all rows. Catalog rows have about ten values. */
const maxValues = 1_500_000

/** The part of a socket that `pg` uses. It is connected already, so `connect` only emits the event. */
export class MessageStream extends EventEmitter {
  readonly #socket: Socket
  readonly #keepsPassword: boolean
  #pending: Buffer[] = []
  #pendingBytes = 0
  #neededBytes = headerBytes
  #receivedBytes = 0
  #messages = 0
  #values = 0
  #columns = 0
  #hasSignedIn = false
  #signInStep = 0

  /** `keepsPassword`: only SCRAM is answered, which does not reveal the password. */
  constructor(socket: Socket, { keepsPassword = false } = {}) {
    super()
    this.#socket = socket
    this.#keepsPassword = keepsPassword
    socket.on('data', this.#onData)
    socket.on('close', this.#onClose)
    socket.resume()
  }

  readonly #onData = (bytes: Buffer): void => this.#receive(bytes)
  readonly #onClose = (): void => void this.emit('close')

  /** Detaches from the socket, which is paused. Returns received bytes that were not passed on. */
  release(): Buffer {
    this.#socket.off('data', this.#onData)
    this.#socket.off('close', this.#onClose)
    this.#socket.pause()
    return Buffer.concat(this.#pending)
  }

  /** `pg` expects a Duplex but uses only this part of it. */
  asDuplex(): Duplex {
    return this as unknown as Duplex
  }

  get writable(): boolean {
    return this.#socket.writable
  }

  setNoDelay(): void {
    this.#socket.setNoDelay(true)
  }

  connect(): void {
    queueMicrotask(() => this.emit('connect'))
  }

  write(bytes: Uint8Array, written?: () => void): boolean {
    return this.#socket.write(bytes, written)
  }

  end(): void {
    this.#socket.destroySoon()
  }

  destroy(): void {
    this.#socket.destroy()
  }

  #receive(bytes: Buffer): void {
    this.#receivedBytes += bytes.length
    this.#pending.push(bytes)
    this.#pendingBytes += bytes.length
    try {
      if (this.#receivedBytes > maxReceivedBytes) throw new TooMuch()
      this.#deliver()
    } catch (error) {
      this.#pending = []
      const isOurs = error instanceof OtherSignIn || error instanceof PasswordKept || error instanceof TooMuch
      this.emit('error', isOurs ? error : new NotPostgres())
      this.#socket.destroy()
    }
  }

  #deliver(): void {
    if (this.#pendingBytes < this.#neededBytes) return
    let rest = Buffer.concat(this.#pending)
    for (;;) {
      this.#neededBytes = rest.length < headerBytes ? headerBytes : rest.readUInt32BE(1) + 1
      if (this.#neededBytes < headerBytes || this.#neededBytes > maxReceivedBytes) throw new NotPostgres()
      if (rest.length < this.#neededBytes) break
      const message = rest.subarray(0, this.#neededBytes)
      rest = rest.subarray(this.#neededBytes)
      this.#check(message)
      this.emit('data', message)
    }
    this.#pending = [rest]
    this.#pendingBytes = rest.length
  }

  #check(message: Buffer): void {
    const letter = String.fromCharCode(message[0]!)
    const body = message.subarray(headerBytes)
    if (letter === 'T') this.#columns = body.readUInt16BE(0)
    if (letter === 'D') this.#countValues(body.readUInt16BE(0))
    if (++this.#messages > maxMessages || this.#values > maxValues) throw new TooMuch()
    if (letter === 'R') this.#checkSignIn(body.readInt32BE(0), body.subarray(4))
    if (letter === 'Z') this.#hasSignedIn = true
    // Errors and notices: zero-terminated fields, ended by a zero byte.
    if ((letter === 'E' || letter === 'N') && !endsFields(body)) throw new NotPostgres()
  }

  #countValues(count: number): void {
    if (count !== this.#columns) throw new NotPostgres()
    this.#values += count
  }

  #checkSignIn(step: number, data: Buffer): void {
    if (this.#hasSignedIn) throw new NotPostgres()
    if (!passwordSteps.includes(step)) throw new OtherSignIn()
    if (this.#keepsPassword && revealsPassword(step, data)) throw new PasswordKept()
    // SASLContinue and SASLFinal must follow the step before them.
    const isInOrder = (step !== 11 && step !== 12) || this.#signInStep === step - 1
    if (!isInOrder) throw new NotPostgres()
    this.#signInStep = step
  }
}

/** AuthenticationOk, cleartext password, MD5 password, and the three steps of SASL. */
const passwordSteps = [0, 3, 5, 10, 11, 12]

/** With fewer iterations, passwords can be guessed quickly from the SCRAM answer. */
const leastIterations = 4096
/** PostgreSQL's exact format, so that `pg` cannot read another number of iterations from the message. */
const firstMessage = /^r=[\x21-\x2b\x2d-\x7e]+,s=[A-Za-z0-9+/=]+,i=(\d{1,9})$/

function revealsPassword(step: number, data: Buffer): boolean {
  if (step === 3 || step === 5) return true
  if (step !== 11) return false
  const iterations = firstMessage.exec(data.toString('latin1'))?.[1]
  return iterations === undefined || Number(iterations) < leastIterations
}

function endsFields(body: Buffer): boolean {
  let field = 0
  while (field < body.length && body[field] !== 0) {
    const end = body.indexOf(0, field + 1)
    if (end < 0) return false
    field = end + 1
  }
  return field < body.length
}
