// A connection to PostgreSQL after the sign-in: one conversation at a time, until something ends it. Whatever a server sends,
// it ends the channel at worst: with NotConnected, or with the error that the server told last.
import type { Socket } from 'node:net'
import { NotConnected } from '../source.ts'
import { type Conversation, farewell, letters, MessageCutter, PostgresError } from './postgres-messages.ts'

export type LinkError = NotConnected | PostgresError

export interface ChannelConversation extends Conversation {
  /** The channel has ended, and nothing more comes. */
  end(error: LinkError): void
}

/** How long a server may take to end a session in order. */
const farewellTimeoutMs = 1_000
/** After this time without a sign of life, the system asks the other machine for one. */
const aliveCheckMs = 30_000
/** A server that does not take what we say does not get more of it. */
const maxUnsentBytes = 64 * 1024

/** Nothing was asked: an error tells that the server ends the session, and anything else is none of PostgreSQL's. */
const silence: ChannelConversation = {
  receive: () => refuse(),
  admit: () => refuse(),
  end: () => undefined,
}

export function refuse(): never {
  throw new NotConnected()
}

export class Channel {
  readonly #socket: Socket
  readonly #cutter: MessageCutter
  #conversation: ChannelConversation = silence
  #hasEnded = false
  #heardAtMs = performance.now()
  /** Kept when the socket is closed, which the channel may have ended long before. */
  readonly closed: Promise<void>

  /** `unread` is what has come on the socket already. */
  constructor(socket: Socket, unread: Buffer) {
    this.#socket = socket
    this.#cutter = new MessageCutter({
      receive: (letter, bytes, start, end) => {
        if (letter !== letters.copyData && isPassedOver(letter)) return
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

  /** How long nothing has come, of a channel that is not paused. */
  get silentMs(): number {
    return performance.now() - this.#heardAtMs
  }

  /** Begins a conversation with a message of ours. */
  converse(conversation: ChannelConversation, first: Buffer): void {
    if (this.#hasEnded) throw new NotConnected()
    if (!this.isSilent) throw new Error('the link is busy')
    this.#conversation = conversation
    this.#socket.write(first)
  }

  /** The conversation is over, and the next one can begin. */
  rest(): void {
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

  /** At once; does nothing when it has ended already. */
  end(error: LinkError): void {
    if (!this.#leave(error)) return
    this.#socket.destroy()
  }

  /** Lets the server end the session in order, so that what it holds for us is free when this is done. */
  async close(): Promise<void> {
    if (this.#leave(new NotConnected())) {
      const limit = setTimeout(() => this.#socket.destroy(), farewellTimeoutMs)
      void this.closed.then(() => clearTimeout(limit))
      this.#socket.end(farewell)
      // Its last words are passed over; while they wait, the end is not seen.
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

/** Servers may say these at any time. */
function isPassedOver(letter: number): boolean {
  return letter === letters.notice || letter === letters.parameter || letter === letters.notification
}
