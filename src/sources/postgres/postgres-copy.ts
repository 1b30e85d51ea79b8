// COPY … TO STDOUT: gathers rows into pieces of whole lines. The socket is paused while pieces wait (backpressure).
import { NotConnected } from '../../source-shapes/source-failure.ts'
import { type Channel, type ChannelConversation, type LinkError, protocolViolation } from './postgres-channel.ts'
import { copyBytes, errorIn, letters, PostgresError, queryMessage, tooLong } from './postgres-messages.ts'

const pieceBytes = 256 * 1024
const maxLineBytes = 256 * 1024 * 1024
/** With the message header. */
const maxMessageBytes = maxLineBytes + 5
const mostWaitingPieces = 4
const lineEnd = 0x0a

/** Pieces end at line ends. The channel ends when the caller stops before the last one. */
export async function* copyOut(channel: Channel, text: string): AsyncGenerator<Buffer, void> {
  const copy = new Copy(channel)
  channel.converse(copy, queryMessage(text))
  try {
    for (;;) {
      const piece = await copy.take()
      if (!piece) return
      yield piece
    }
  } finally {
    if (!copy.isOver) channel.end(new NotConnected())
  }
}

type State = 'asked' | 'copying' | 'copied' | 'complete' | 'failed'

class Copy implements ChannelConversation {
  readonly #channel: Channel
  #state: State = 'asked'
  #pieces: Buffer[] = []
  #filling: Buffer = Buffer.alloc(0)
  #filledBytes = 0
  #error: LinkError | undefined
  isOver = false
  #wake: (() => void) | undefined

  constructor(channel: Channel) {
    this.#channel = channel
  }

  /** Undefined after the last one. */
  async take(): Promise<Buffer | undefined> {
    for (;;) {
      if (this.isOver && this.#error) throw this.#error
      const piece = this.#pieces.shift()
      if (piece && this.#pieces.length < mostWaitingPieces / 2) this.#channel.resume()
      if (piece || this.isOver) return piece
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  receive(letter: number, bytes: Buffer, start: number, end: number): void {
    if (letter === letters.copyData) {
      if (this.#state !== 'copying') protocolViolation()
      if (this.#filledBytes + end - start > this.#filling.length) this.#makeRoom(end - start)
      copyBytes(bytes, start, end, this.#filling, this.#filledBytes)
      this.#filledBytes += end - start
      return
    }
    if (letter === letters.error && this.#state !== 'failed') {
      this.#error = errorIn(bytes, start, end)
      this.#state = 'failed'
      return
    }
    this.#go(letter)
  }

  #go(letter: number): void {
    if (letter === letters.copyOut && this.#state === 'asked') this.#state = 'copying'
    else if (letter === letters.copyDone && this.#state === 'copying') this.#state = 'copied'
    else if (letter === letters.commandComplete && this.#state === 'copied') this.#state = 'complete'
    else if (letter === letters.ready && (this.#state === 'complete' || this.#state === 'failed')) this.#finish()
    else protocolViolation()
  }

  admit(letter: number, sizeBytes: number): void {
    if (letter !== letters.copyData || this.#state !== 'copying') protocolViolation()
    if (sizeBytes > maxMessageBytes) throw new PostgresError(tooLong)
  }

  end(error: LinkError): void {
    // An error that the server sent before it closed the connection has more detail.
    this.#error ??= error
    this.isOver = true
    this.#pieces = []
    this.#wake?.()
  }

  #finish(): void {
    if (this.#filledBytes > 0) this.#give(this.#filledBytes)
    this.isOver = true
    this.#channel.endConversation()
    this.#wake?.()
  }

  #makeRoom(neededBytes: number): void {
    const filled = this.#filling.subarray(0, this.#filledBytes)
    // PostgreSQL sends one line per message, so this is usually everything.
    const wholeBytes = filled.lastIndexOf(lineEnd) + 1
    if (wholeBytes > 0) this.#give(wholeBytes)
    const begun = filled.subarray(wholeBytes)
    const lineBytes = begun.length + neededBytes
    if (lineBytes > maxLineBytes) throw new PostgresError(tooLong)
    this.#filling = Buffer.allocUnsafeSlow(Math.max(pieceBytes, lineBytes, begun.length > 0 ? 2 * begun.length : 0))
    begun.copy(this.#filling)
    this.#filledBytes = begun.length
  }

  #give(sizeBytes: number): void {
    this.#pieces.push(this.#filling.subarray(0, sizeBytes))
    if (this.#pieces.length >= mostWaitingPieces) this.#channel.pause()
    this.#wake?.()
  }
}
