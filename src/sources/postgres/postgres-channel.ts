// A connection to PostgreSQL with one conversation at a time. Invalid messages of the server only end the channel: with a SessionError,
// or with the last error that the server sent.
import type { Socket } from 'node:net'
import { NotConnected } from '../../source-shapes/source-failure.ts'
import {
  type Conversation,
  columnCountIn,
  errorIn,
  farewell,
  letters,
  MessageCutter,
  PostgresError,
  SessionError,
  sqlStateIn,
} from './postgres-messages.ts'

export type LinkError = NotConnected | PostgresError

export interface ChannelConversation extends Conversation {
  /** The channel has ended; no more messages follow. */
  end(error: LinkError): void
}

/** Time for an orderly end of the session. */
const farewellTimeoutMs = 1_000
/** TCP keepalive delay. */
const aliveCheckMs = 30_000
/** When more is unsent, further messages are dropped. */
const maxUnsentBytes = 64 * 1024

/** Limit of a probe. The samples of postgres-sample.ts are at most half of it. */
const maxReceivedBytes = 32 * 1024 * 1024
/** Enough for a thousand tables with their columns. Each message costs memory, however short it is. */
const maxMessages = 200_000
/** Limit of all rows. Catalog rows have about ten values. */
const maxValues = 1_500_000

/** Idle: an error means that the server ends the session; any other message is a protocol violation. */
const silence: ChannelConversation = {
  receive: (letter, bytes, start, end) => {
    if (letter === letters.error) throw errorIn(bytes, start, end)
    protocolViolation()
  },
  admit: () => protocolViolation(),
  end: () => undefined,
}

export function protocolViolation(): never {
  throw new SessionError('not postgres')
}

export class Channel {
  readonly #socket: Socket
  readonly #cutter: MessageCutter
  #conversation: ChannelConversation = silence
  #error: LinkError | undefined
  #isLimited = true
  #receivedBytes = 0
  #messages = 0
  #values = 0
  #heardAtMs = performance.now()
  /** Resolves when the socket is closed, possibly long after the channel has ended. */
  readonly closed: Promise<void>

  constructor(socket: Socket) {
    this.#socket = socket
    this.#cutter = new MessageCutter({
      receive: (letter, bytes, start, end) => {
        if (this.#isLimited) this.#count(letter, bytes, start, end)
        if (letter !== letters.copyData && isIgnored(letter)) {
          if (letter === letters.notice) sqlStateIn(bytes, start, end)
          return
        }
        this.#conversation.receive(letter, bytes, start, end)
      },
      admit: (letter, sizeBytes) => this.#conversation.admit(letter, sizeBytes),
    })
    this.closed = new Promise((resolve) => {
      if (socket.closed) return resolve()
      socket.once('close', resolve)
    })
    void this.closed.then(() => this.end(new SessionError('broken')))
    socket.on('data', (piece: Buffer) => this.#receive(piece))
    socket.setNoDelay(true)
    socket.setKeepAlive(true, aliveCheckMs)
    socket.resume()
  }

  get hasEnded(): boolean {
    return this.#error !== undefined
  }

  /** Why the channel has ended. */
  get error(): LinkError | undefined {
    return this.#error
  }

  /** Removes the limits of sign-in and probes. */
  removeLimits(): void {
    this.#isLimited = false
  }

  get isSilent(): boolean {
    return this.#conversation === silence
  }

  get isPaused(): boolean {
    return this.#socket.isPaused()
  }

  /** Time since the last byte was received, of a channel that is not paused. */
  get silentMs(): number {
    return performance.now() - this.#heardAtMs
  }

  /** Begins a conversation by sending a message. */
  converse(conversation: ChannelConversation, first: Buffer): void {
    if (this.#error) throw new NotConnected()
    if (!this.isSilent) throw new Error('the link is busy')
    this.#conversation = conversation
    this.#socket.write(first)
  }

  /** Afterwards the next conversation can begin. */
  endConversation(): void {
    this.#conversation = silence
    this.resume()
  }

  send(bytes: Buffer): void {
    if (this.#error || this.#socket.writableLength > maxUnsentBytes) return
    this.#socket.write(bytes)
  }

  pause(): void {
    if (!this.isPaused) this.#socket.pause()
  }

  resume(): void {
    if (this.#error || !this.isPaused) return
    this.#heardAtMs = performance.now()
    this.#socket.resume()
  }

  /** Closes the socket immediately; idempotent. */
  end(error: LinkError): void {
    if (!this.#leave(error)) return
    this.#socket.destroy()
  }

  /** Ends the session in order; resolves when the server has released its resources, such as the slot. */
  async close(): Promise<void> {
    if (this.#leave(new NotConnected())) {
      const limit = setTimeout(() => this.#socket.destroy(), farewellTimeoutMs)
      void this.closed.then(() => clearTimeout(limit))
      this.#socket.end(farewell)
      // Reads and ignores remaining data; otherwise the socket does not report its end.
      this.#socket.resume()
    }
    await this.closed
  }

  #leave(error: LinkError): boolean {
    if (this.#error) return false
    this.#error = error
    this.#conversation.end(error)
    this.#conversation = silence
    return true
  }

  #receive(piece: Buffer): void {
    if (this.#error) return
    this.#heardAtMs = performance.now()
    this.#receivedBytes += piece.length
    try {
      if (this.#isLimited && this.#receivedBytes > maxReceivedBytes) throw new SessionError('too much')
      this.#cutter.push(piece)
    } catch (error) {
      const isKnown = error instanceof PostgresError || error instanceof NotConnected
      this.end(isKnown ? error : new SessionError('not postgres'))
    }
  }

  #count(letter: number, bytes: Buffer, start: number, end: number): void {
    if (letter === letters.dataRow) this.#values += columnCountIn(bytes, start, end)
    if (++this.#messages > maxMessages || this.#values > maxValues) throw new SessionError('too much')
  }
}

/** Messages that servers may send at any time. */
function isIgnored(letter: number): boolean {
  return letter === letters.notice || letter === letters.parameter || letter === letters.notification
}
