// How many requests are being answered. What comes beyond the limit is refused before anything is done for it: otherwise those who
// send without waiting for answers would have Penstock work for half a minute on what nobody waits for any more.
import type { Socket } from 'node:net'
import { Problem } from '../lib/problem.ts'

const retryAfterSeconds = 1

export class RequestsUnderWay {
  readonly #most: number
  readonly #deaf = new WeakSet<Socket>()
  #count = 0

  constructor(most: number) {
    this.#most = most
  }

  refuseTooMany(socket: Socket): void {
    if (this.#count < this.#most) return
    this.#leave(socket)
    throw new Problem('unavailable', 'too many requests are under way; try again in a moment', {
      headers: { 'retry-after': String(retryAfterSeconds) },
      isOverload: true,
    })
  }

  /** Not for the time in which a body arrives: slow clients must not keep out others. */
  async count<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#count++
    try {
      return await work()
    } finally {
      this.#count--
    }
  }

  /** Whoever is told to wait is not listened to meanwhile: to refuse takes time as well, and what is under way must be finished. */
  #leave(socket: Socket): void {
    if (this.#deaf.has(socket)) return
    this.#deaf.add(socket)
    // The server goes on reading as soon as it has answered.
    const stayAway = (): void => void socket.pause()
    socket.on('resume', stayAway)
    socket.pause()
    const listen = (): void => {
      this.#deaf.delete(socket)
      socket.off('resume', stayAway)
      socket.resume()
    }
    setTimeout(listen, retryAfterSeconds * 1_000).unref()
  }
}
