// Splits the byte stream of a broker into responses without their length prefix. With `onread`, all but the start of a response is
// read straight into its buffer; otherwise each chunk is copied once.
import type { OnReadOpts } from 'node:net'

export interface FrameTaker {
  take(answer: Buffer): void
  /** Size limit of the next response. */
  mostBytes(): number
  allocate(sizeBytes: number): Buffer
  garbled(): void
}

export interface Frames {
  /** For a socket that is yet to be opened. */
  onread: OnReadOpts
  /** For chunks of a socket that was opened without `onread`. */
  feed(piece: Buffer): void
  /** Sets the receiver. Anything received before is an error. */
  giveTo(taker: FrameTaker): void
}

const firstPieceBytes = 16 * 1024

export function makeFrames(): Frames {
  const length = Buffer.alloc(4)
  const firstPiece = Buffer.allocUnsafeSlow(firstPieceBytes)
  let taker: FrameTaker | undefined
  let isUnasked = false
  let lengthUsed = 0
  let answer: Buffer | undefined
  let answerUsed = 0

  const advance = (sizeBytes: number): void => {
    answerUsed += sizeBytes
    if (!answer || answerUsed < answer.length) return
    const whole = answer
    answer = undefined
    lengthUsed = 0
    answerUsed = 0
    taker?.take(whole)
  }

  const feed = (piece: Buffer): void => {
    if (!taker) isUnasked = true
    for (let at = 0; taker && at < piece.length; ) {
      if (!answer) {
        const copied = piece.copy(length, lengthUsed, at)
        at += copied
        lengthUsed += copied
        if (lengthUsed < 4) return
        const answerBytes = length.readInt32BE(0)
        if (answerBytes < 4 || answerBytes > taker.mostBytes()) {
          taker.garbled()
          return
        }
        answer = taker.allocate(answerBytes)
      }
      const copied = piece.copy(answer, answerUsed, at)
      at += copied
      advance(copied)
    }
  }

  return {
    onread: {
      buffer: () => answer?.subarray(answerUsed) ?? firstPiece,
      callback(sizeBytes, buffer) {
        if (buffer.buffer === firstPiece.buffer) feed(firstPiece.subarray(0, sizeBytes))
        else advance(sizeBytes)
        return true
      },
    },
    feed,
    giveTo(given) {
      taker = given
      if (isUnasked) given.garbled()
    },
  }
}
