// Limit of concurrent requests. Requests beyond it are refused before any work: otherwise clients that send without waiting for
// responses would cause half a minute of work for nobody. Bursts are started a few per event-loop turn, so that a disconnect is
// noticed before work starts for that client.
import type { Socket } from 'node:net'
import { CallQueue } from '../lib/call-queue.ts'
import { Problem } from '../lib/problem.ts'

const retryAfterSeconds = 1
/** Limit for clients that retry before `Retry-After`. More refusals would slow down the requests in progress. */
const refusalsPerSecond = 1_000
const longestPauseMs = 1_000

export class RequestsUnderWay {
  readonly #most: number
  /** Not read from after a refusal. */
  readonly #paused = new WeakSet<Socket>()
  /** Read from again, but a disconnect is not yet known: it comes behind the data sent before. */
  readonly #unverified = new WeakSet<Socket>()
  readonly #begun = new CallQueue(128)
  /** Refusals are cheap and have their own queue, so that they do not wait behind requests. */
  readonly #refused = new CallQueue(256, 2_048)
  /** Paused connections whose waiting time is over; each may bring many requests. */
  readonly #resumable: (() => void)[] = []
  /** When the requests in progress have regained the time that refusals took. */
  #pauseEndsAtMs = 0
  #count = 0

  constructor(most: number) {
    this.#most = most
  }

  /** Includes requests of clients that have disconnected. */
  get count(): number {
    return this.#count
  }

  /** Resolves to false when the client disconnected before the work started. */
  async begin(socket: Socket, work: () => Promise<void>): Promise<boolean> {
    if (this.#count >= this.#most) {
      this.#pause(socket)
      const nowMs = performance.now()
      this.#pauseEndsAtMs = Math.min(
        Math.max(nowMs, this.#pauseEndsAtMs) + 1_000 / refusalsPerSecond,
        nowMs + longestPauseMs,
      )
      await this.#refused.turn()
      if (socket.destroyed) return false
      throw new Problem('unavailable', 'too many concurrent requests; try again in a second', {
        headers: { 'retry-after': String(retryAfterSeconds) },
        isOverload: true,
      })
    }
    return this.during(async () => {
      if (this.#unverified.has(socket)) {
        await nextPoll()
        this.#unverified.delete(socket)
      }
      await this.#begun.turn()
      if (socket.destroyed) return false
      await work()
      return true
    })
  }

  /** Counts a request while `work` runs. Not while its body arrives: slow clients must not block others. */
  async during<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#count++
    try {
      return await work()
    } finally {
      this.#count--
    }
  }

  /** Stops reading from a refused client for the time of `Retry-After`, because refusals take CPU time from requests in progress. */
  #pause(socket: Socket): void {
    if (this.#paused.has(socket)) return
    this.#paused.add(socket)
    // The server resumes reading after each response.
    const pauseAgain = (): void => void socket.pause()
    socket.on('resume', pauseAgain)
    socket.pause()
    const resume = (): void => {
      this.#paused.delete(socket)
      this.#unverified.add(socket)
      socket.off('resume', pauseAgain)
      socket.resume()
    }
    const wait = (): void => {
      if (this.#resumable.push(resume) === 1) this.#resumeNext()
    }
    setTimeout(wait, retryAfterSeconds * 1_000).unref()
  }

  /** Resumes one connection at a time and handles its requests before the next, which may have to wait again. */
  #resumeNext(): void {
    const pauseMs = this.#pauseEndsAtMs - performance.now()
    if (this.#count >= this.#most && pauseMs > 0) setTimeout(() => this.#resumeNext(), pauseMs).unref()
    else if (this.#refused.isBusy) setImmediate(() => this.#resumeNext())
    else {
      this.#resumable.shift()?.()
      if (this.#resumable.length > 0) setImmediate(() => this.#resumeNext())
    }
  }
}

/** Resolves after the next poll for I/O: the first immediate runs before it, the second after it. */
function nextPoll(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
}
