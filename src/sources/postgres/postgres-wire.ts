// Between the socket of the egress and `pg`: the question for TLS, and a stream that lets only whole messages through that `pg`
// can read. A server is whatever a user names: `pg` throws into the event loop, or never returns, on messages that PostgreSQL
// would not send.
import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'

/** What answers does not speak as PostgreSQL does. */
export class NotPostgres extends Error {
  constructor() {
    super('not PostgreSQL')
    this.name = 'NotPostgres'
  }
}

/** The server says more than a probe can have asked for. */
export class TooMuch extends Error {
  constructor() {
    super('too many or too long answers')
    this.name = 'TooMuch'
  }
}

/** The server wants something else than a password. */
export class OtherSignIn extends Error {
  constructor() {
    super('another way to sign in')
    this.name = 'OtherSignIn'
  }
}

/** The server wants the password in a way that would reveal it, and the password is not for this server. */
export class PasswordKept extends Error {
  constructor() {
    super('the password was not sent')
    this.name = 'PasswordKept'
  }
}

/** The server reports an error in place of an answer, before anything was agreed. */
export class ErrorAtStart extends Error {
  constructor() {
    super('an error in place of an answer')
    this.name = 'ErrorAtStart'
  }
}

const tlsQuestion = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f])

/** Whether the server is ready to begin TLS. */
export async function offersTls(socket: Socket): Promise<boolean> {
  const answer = firstAnswer(socket)
  socket.write(tlsQuestion)
  const bytes = await answer
  const letter = bytes?.toString('latin1')
  if (letter === 'S' || letter === 'N') return letter === 'S'
  // More than the one letter is not of this server, or was put there by somebody in between.
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
/** Of all answers of one session. The samples of postgres-sample.ts are at most half of it. */
const maxReceivedBytes = 32 * 1024 * 1024
/** A thousand tables with their columns are less. Each message costs memory, however short it is. */
const maxMessages = 200_000
/** Of all rows. Those of a catalogue have ten at most. */
const maxValues = 1_500_000

/** What `pg` uses of a socket. It is connected already: `connect` does nothing but say so. */
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

  /** `keepsPassword`: only SCRAM is answered, which shows that the password is known and does not reveal it. */
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

  /** Leaves the socket, paused, to whoever goes on with it, and gives what has come and has not been passed on. */
  release(): Buffer {
    this.#socket.off('data', this.#onData)
    this.#socket.off('close', this.#onClose)
    this.#socket.pause()
    return Buffer.concat(this.#pending)
  }

  /** `pg` asks for a Duplex, of which it uses what is here. */
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
    // Errors and notices: fields that each end with a zero, and a zero in place of the next field.
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
    // Each of these goes on with the one before.
    const isInOrder = (step !== 11 && step !== 12) || this.#signInStep === step - 1
    if (!isInOrder) throw new NotPostgres()
    this.#signInStep = step
  }
}

/** Done, a password in the clear, one with MD5, and the three of SCRAM. */
const passwordSteps = [0, 3, 5, 10, 11, 12]

/** With few iterations, whoever has the answer of SCRAM can try out passwords quickly. */
const leastIterations = 4096
/** As PostgreSQL sends it. In any other message, the driver might find other iterations than we do. */
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
