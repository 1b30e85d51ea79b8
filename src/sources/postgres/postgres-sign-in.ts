// First messages of a connection: SSLRequest, startup, and authentication with a password.
import { createHash } from 'node:crypto'
import type { Socket } from 'node:net'
import { type Channel, type ChannelConversation, type LinkError, protocolViolation } from './postgres-channel.ts'
import { errorIn, int32, letters, passwordMessage, SessionError, startupMessage } from './postgres-messages.ts'
import { Scram } from './postgres-scram.ts'

const sslRequest = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f])

/** Sends the SSLRequest; resolves to whether the server offers TLS. */
export async function offersTls(socket: Socket): Promise<boolean> {
  const answer = firstAnswer(socket)
  socket.write(sslRequest)
  const bytes = await answer
  const letter = bytes?.toString('latin1')
  if (letter === 'S' || letter === 'N') return letter === 'S'
  // More than one letter is not PostgreSQL, or was injected before TLS.
  throw letter?.startsWith('E\0') ? new SessionError('error at start') : new SessionError('not postgres')
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

export interface SignIn {
  user: string
  password: string
  /** Only SCRAM is answered, which does not reveal the password. */
  keepsPassword: boolean
  /** Startup parameters in addition to `user`. */
  parameters: Record<string, string>
}

/** Rejects with a SessionError or PostgresError; the channel has then ended. */
export async function authenticate(channel: Channel, signIn: SignIn): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const { user, parameters } = signIn
  const startup = startupMessage({ user, ...parameters, client_encoding: 'UTF8' })
  channel.converse(new Authentication(channel, signIn, resolve, reject), startup)
  await promise
}

/** Requests of the server. */
const accepted = 0
const cleartext = 3
const md5 = 5
const sasl = 10
const saslContinue = 11
const saslFinal = 12

class Authentication implements ChannelConversation {
  readonly #channel: Channel
  readonly #signIn: SignIn
  readonly #resolve: () => void
  readonly end: (error: LinkError) => void
  #step = -1
  #scram: Scram | undefined

  constructor(channel: Channel, signIn: SignIn, resolve: () => void, reject: (error: LinkError) => void) {
    this.#channel = channel
    this.#signIn = signIn
    this.#resolve = resolve
    this.end = reject
  }

  receive(letter: number, bytes: Buffer, start: number, end: number): void {
    if (letter === letters.error) throw errorIn(bytes, start, end)
    if (letter === letters.authentication) {
      this.#answer(bytes.subarray(start, end).readInt32BE(0), Buffer.from(bytes.subarray(start + 4, end)))
    } else if (letter === letters.ready && this.#step === accepted) {
      this.#channel.endConversation()
      this.#resolve()
    } else if (letter !== letters.keyData) protocolViolation()
  }

  admit(): void {
    protocolViolation()
  }

  #answer(step: number, data: Buffer): void {
    const { user, password, keepsPassword } = this.#signIn
    if (![accepted, cleartext, md5, sasl, saslContinue, saslFinal].includes(step)) {
      throw new SessionError('other sign-in')
    }
    if (keepsPassword && (step === cleartext || step === md5)) throw new SessionError('password kept')
    // SASLContinue and SASLFinal must follow the step before them.
    const isInOrder = (step !== saslContinue && step !== saslFinal) || this.#step === step - 1
    // SASLFinal has the server's proof. Without it, any server could accept us.
    const isProven = step !== accepted || !this.#scram || this.#step === saslFinal
    if (!isInOrder || !isProven || (step === md5 && data.length !== 4)) protocolViolation()
    this.#step = step
    const send = (...parts: (string | Buffer)[]): void => this.#channel.send(passwordMessage(...parts))
    if (step === cleartext) send(password, '\0')
    if (step === md5) send(`md5${md5Of(md5Of(password + user), data)}\0`)
    if (step === sasl) {
      this.#scram = new Scram(data.toString('utf8').split('\0'))
      const { mechanism, clientFirst } = this.#scram
      send(`${mechanism}\0`, int32(clientFirst.length), clientFirst)
    }
    if (step === saslContinue) {
      this.#scram!.clientFinal(data.toString('utf8'), password, keepsPassword).then(send, (error: LinkError) => {
        this.#channel.end(error)
      })
    }
    if (step === saslFinal) this.#scram!.verify(data.toString('utf8'))
  }
}

function md5Of(text: string, salt: Buffer = Buffer.alloc(0)): string {
  return createHash('md5').update(text).update(salt).digest('hex')
}
