// How many requests are being answered. What comes beyond the limit is refused before anything is done for it: otherwise those who
// send without waiting for answers would have Penstock work for half a minute on what nobody waits for any more. What comes all at
// once is begun a few at a time: between them connections are heard, so that a hang-up is known before work is done for nobody.
import type { Socket } from 'node:net'
import { CallQueue } from '../lib/call-queue.ts'
import { Problem } from '../lib/problem.ts'

const retryAfterSeconds = 1
/** Of those who were told to wait and come again too early. More of them would take the time of what is under way. */
const refusalsPerSecond = 1_000
const longestRestMs = 1_000

export class RequestsUnderWay {
  readonly #most: number
  readonly #deaf = new WeakSet<Socket>()
  /** Heard again, but not yet whether they are still there: that comes behind what they sent before. */
  readonly #doubted = new WeakSet<Socket>()
  readonly #begun = new CallQueue(128)
  /** To refuse takes less time than to do; it must not wait behind what is done. */
  readonly #refused = new CallQueue(256, 2_048)
  /** Connections that were told to wait and have waited; each of them may bring many requests. */
  readonly #unheard: (() => void)[] = []
  /** By then the time that refusals have taken has been given to what is under way. */
  #restedAtMs = 0
  #count = 0

  constructor(most: number) {
    this.#most = most
  }

  /** Also of clients that have hung up since. */
  get count(): number {
    return this.#count
  }

  /** Resolves to false when the client has hung up before anything was begun. */
  async begin(socket: Socket, work: () => Promise<void>): Promise<boolean> {
    if (this.#count >= this.#most) {
      this.#leave(socket)
      const nowMs = performance.now()
      this.#restedAtMs = Math.min(Math.max(nowMs, this.#restedAtMs) + 1_000 / refusalsPerSecond, nowMs + longestRestMs)
      await this.#refused.turn()
      if (socket.destroyed) return false
      throw new Problem('unavailable', 'too many requests are under way; try again in a moment', {
        headers: { 'retry-after': String(retryAfterSeconds) },
        isOverload: true,
      })
    }
    return this.during(async () => {
      if (this.#doubted.has(socket)) {
        await nextPoll()
        this.#doubted.delete(socket)
      }
      await this.#begun.turn()
      if (socket.destroyed) return false
      await work()
      return true
    })
  }

  /** Not for the time in which a body arrives: slow clients must not keep out others. */
  async during<Result>(work: () => Promise<Result>): Promise<Result> {
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
      this.#doubted.add(socket)
      socket.off('resume', stayAway)
      socket.resume()
    }
    const wait = (): void => {
      if (this.#unheard.push(listen) === 1) this.#hear()
    }
    setTimeout(wait, retryAfterSeconds * 1_000).unref()
  }

  /** One after the other, and between them what it brings: those behind it may find that it is too much already. */
  #hear(): void {
    const restMs = this.#restedAtMs - performance.now()
    if (this.#count >= this.#most && restMs > 0) setTimeout(() => this.#hear(), restMs).unref()
    else if (this.#refused.isBusy) setImmediate(() => this.#hear())
    else {
      this.#unheard.shift()?.()
      if (this.#unheard.length > 0) setImmediate(() => this.#hear())
    }
  }
}

/** Resolves when connections have been looked at once more: an immediate comes before that, the next one behind it. */
function nextPoll(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
}
