// Puts what comes from a broker together to answers, each without its length. Where a socket lets us say where to read to, all but
// the beginning of an answer is read to where it stays; otherwise each piece is copied when it comes, and once.
import type { OnReadOpts } from 'node:net'

export interface FrameTaker {
  take(answer: Buffer): void
  /** Of the next answer. */
  mostBytes(): number
  allocate(sizeBytes: number): Buffer
  garbled(): void
}

export interface Frames {
  /** For a socket that is yet to be made. */
  onread: OnReadOpts
  /** For pieces of a socket that was made without it. */
  feed(piece: Buffer): void
  /** From now on; nothing may have come before. */
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
