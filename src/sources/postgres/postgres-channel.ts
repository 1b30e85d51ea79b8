// An authenticated connection to PostgreSQL with one conversation at a time. Invalid messages of the server only end the channel: with
// NotConnected, or with the last error that the server sent.
import type { Socket } from 'node:net'
import { NotConnected } from '../source.ts'
import { type Conversation, farewell, letters, MessageCutter, PostgresError } from './postgres-messages.ts'

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

/** Idle: an error means that the server ends the session; any other message is a protocol violation. */
const silence: ChannelConversation = {
  receive: () => protocolViolation(),
  admit: () => protocolViolation(),
  end: () => undefined,
}

export function protocolViolation(): never {
  throw new NotConnected()
}

export class Channel {
  readonly #socket: Socket
  readonly #cutter: MessageCutter
  #conversation: ChannelConversation = silence
  #hasEnded = false
  #heardAtMs = performance.now()
  /** Resolves when the socket is closed, possibly long after the channel has ended. */
  readonly closed: Promise<void>

  /** `unread`: bytes already received on the socket. */
  constructor(socket: Socket, unread: Buffer) {
    this.#socket = socket
    this.#cutter = new MessageCutter({
      receive: (letter, bytes, start, end) => {
        if (letter !== letters.copyData && isIgnored(letter)) return
        this.#conversation.receive(letter, bytes, start, end)
      },
      admit: (letter, sizeBytes) => this.#conversation.admit(letter, sizeBytes),
    })
    this.closed = new Promise((resolve) => {
      if (socket.closed) return resolve()
      socket.once('close', resolve)
    })
    void this.closed.then(() => this.end(new NotConnected()))
    socket.on('data', (piece: Buffer) => this.#receive(piece))
    socket.setKeepAlive(true, aliveCheckMs)
    if (unread.length > 0) this.#receive(unread)
    socket.resume()
  }

  get hasEnded(): boolean {
    return this.#hasEnded
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
    if (this.#hasEnded) throw new NotConnected()
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
    if (this.#hasEnded || this.#socket.writableLength > maxUnsentBytes) return
    this.#socket.write(bytes)
  }

  pause(): void {
    if (!this.isPaused) this.#socket.pause()
  }

  resume(): void {
    if (this.#hasEnded || !this.isPaused) return
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
    if (this.#hasEnded) return false
    this.#hasEnded = true
    this.#conversation.end(error)
    this.#conversation = silence
    return true
  }

  #receive(piece: Buffer): void {
    if (this.#hasEnded) return
    this.#heardAtMs = performance.now()
    try {
      this.#cutter.push(piece)
    } catch (error) {
      this.end(error instanceof PostgresError ? error : new NotConnected())
    }
  }
}

/** Messages that servers may send at any time. */
function isIgnored(letter: number): boolean {
  return letter === letters.notice || letter === letters.parameter || letter === letters.notification
}
