// Two throttles: requests of a key or a person (off by default), and failed authentications (always on). Both measure time with
// the monotonic clock: setting the clock of the machine neither locks nor frees anybody.
import { Problem } from '../lib/problem.ts'

export interface RateLimit {
  requests: number
  windowSeconds: number
}

interface Window {
  endsAtMs: number
  used: number
}

/** How many keys or addresses are remembered at the most; beyond that the oldest are forgotten. */
const maxRemembered = 50_000

/** A fixed window per key or person. */
export class RequestLimiter {
  readonly #limit: RateLimit
  readonly #windows = new Map<string, Window>()

  constructor(limit: RateLimit) {
    this.#limit = limit
  }

  /** Counts a request and gives the headers that every answer carries; throws when the window is used up. */
  take(id: string, who: string, nowMs = performance.now()): Record<string, string> {
    let window = this.#windows.get(id)
    if (!window || window.endsAtMs <= nowMs) {
      window = { endsAtMs: nowMs + this.#limit.windowSeconds * 1000, used: 0 }
      this.#windows.delete(id)
      remember(this.#windows, id, window)
    }
    window.used++
    const resetSeconds = String(Math.ceil((window.endsAtMs - nowMs) / 1000))
    const headers = {
      'x-ratelimit-limit': String(this.#limit.requests),
      'x-ratelimit-remaining': String(Math.max(0, this.#limit.requests - window.used)),
      'x-ratelimit-reset': resetSeconds,
    }
    if (window.used <= this.#limit.requests) return headers
    throw new Problem(
      'too_many_requests',
      `${who} may make ${this.#limit.requests} requests in ${this.#limit.windowSeconds} s; try again in ${resetSeconds} s`,
      { headers: { ...headers, 'retry-after': resetSeconds } },
    )
  }
}

interface Bucket {
  tokens: number
  filledAtMs: number
}

const burst = 20
const perSecond = 1

/**
 * Failed authentications by the name of what is guessed at or who guesses: 20 at once, then one per second. Secrets of 256 bits
 * are compared first and only their failures counted: whoever has the right one gets in, however many others guess from the
 * same address. Passwords are worth guessing and take long to compare: guesses are counted before.
 */
export class FailureThrottle {
  readonly #buckets = new Map<string, Bucket>()

  /** Whether nothing is left for this name. */
  isEmpty(name: string, nowMs = performance.now()): boolean {
    const bucket = this.#buckets.get(name)
    return bucket !== undefined && tokensIn(bucket, nowMs) < 1
  }

  /** Counts a failure that has happened. True when nothing was left for the name. */
  count(name: string, nowMs = performance.now()): boolean {
    const isTooMany = this.isEmpty(name, nowMs)
    this.#change(name, -1, nowMs)
    return isTooMany
  }

  /**
   * Counts a guess as a failure before it is known to be one: of many that are under way at once no more are looked at than
   * may fail. False, with nothing counted, when nothing is left. What was no failure is given back.
   */
  take(name: string, nowMs = performance.now()): boolean {
    if (this.isEmpty(name, nowMs)) return false
    this.#change(name, -1, nowMs)
    return true
  }

  giveBack(name: string, nowMs = performance.now()): void {
    this.#change(name, 1, nowMs)
  }

  #change(name: string, more: number, nowMs: number): void {
    const bucket = this.#buckets.get(name) ?? { tokens: burst, filledAtMs: nowMs }
    bucket.tokens = Math.min(burst, Math.max(0, tokensIn(bucket, nowMs) + more))
    bucket.filledAtMs = nowMs
    this.#buckets.delete(name)
    // A full one tells nothing: whoever does not fail leaves nothing behind.
    if (bucket.tokens < burst) remember(this.#buckets, name, bucket)
  }
}

export function tooManyFailures(): Problem {
  return new Problem('too_many_failed_authentications', 'too many failed authentications; try again in a second', {
    headers: { 'retry-after': '1' },
  })
}

function tokensIn(bucket: Bucket, nowMs: number): number {
  return Math.min(burst, bucket.tokens + ((nowMs - bucket.filledAtMs) / 1000) * perSecond)
}

function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.set(key, value)
  if (map.size > maxRemembered) map.delete(map.keys().next().value!)
}
