// COPY … TO STDOUT: rows of a few bytes each, gathered in pieces of whole lines. Whoever takes the pieces sets the pace.
import { NotConnected } from '../source.ts'
import { type Channel, type ChannelConversation, type LinkError, refuse } from './postgres-channel.ts'
import { copyBytes, errorIn, letters, PostgresError, queryMessage, tooLong } from './postgres-messages.ts'

const pieceBytes = 256 * 1024
const maxLineBytes = 256 * 1024 * 1024
/** The header of the message around it comes on top. */
const maxMessageBytes = maxLineBytes + 5
const mostWaitingPieces = 4
const lineEnd = 0x0a

/** Pieces end where lines end. Whoever stops before the last one ends the channel. */
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

type State = 'asked' | 'copying' | 'copied' | 'complete' | 'refused'

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
      if (this.#state !== 'copying') refuse()
      if (this.#filledBytes + end - start > this.#filling.length) this.#makeRoom(end - start)
      copyBytes(bytes, start, end, this.#filling, this.#filledBytes)
      this.#filledBytes += end - start
      return
    }
    if (letter === letters.error && this.#state !== 'refused') {
      this.#error = errorIn(bytes, start, end)
      this.#state = 'refused'
      return
    }
    this.#go(letter)
  }

  #go(letter: number): void {
    if (letter === letters.copyOut && this.#state === 'asked') this.#state = 'copying'
    else if (letter === letters.copyDone && this.#state === 'copying') this.#state = 'copied'
    else if (letter === letters.commandComplete && this.#state === 'copied') this.#state = 'complete'
    else if (letter === letters.ready && (this.#state === 'complete' || this.#state === 'refused')) this.#finish()
    else refuse()
  }

  admit(letter: number, sizeBytes: number): void {
    if (letter !== letters.copyData || this.#state !== 'copying') refuse()
    if (sizeBytes > maxMessageBytes) throw new PostgresError(tooLong)
  }

  end(error: LinkError): void {
    // What the server has said before it hung up tells more.
    this.#error ??= error
    this.isOver = true
    this.#pieces = []
    this.#wake?.()
  }

  #finish(): void {
    if (this.#filledBytes > 0) this.#give(this.#filledBytes)
    this.isOver = true
    this.#channel.rest()
    this.#wake?.()
  }

  #makeRoom(neededBytes: number): void {
    const filled = this.#filling.subarray(0, this.#filledBytes)
    // Of a server that sends each line as a message, as PostgreSQL does, this is all of it.
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
