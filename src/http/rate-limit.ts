// Rate limit of requests by key or person (off by default), and throttle of failed authentications (always on). Both use the
// monotonic clock, so that changing the system time has no effect.
import { Problem } from '../lib/problem.ts'

export interface RateLimit {
  requests: number
  windowSeconds: number
}

interface Window {
  endsAtMs: number
  used: number
}

/** Limit of remembered keys or addresses; the oldest are evicted. */
const maxRemembered = 50_000

/** A fixed window per key or person. */
export class RequestLimiter {
  readonly #limit: RateLimit
  readonly #windows = new Map<string, Window>()

  constructor(limit: RateLimit) {
    this.#limit = limit
  }

  /** Counts a request and returns the rate-limit headers; throws when the limit is exceeded. */
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
 * Token buckets of failed authentications by address, key id or person: 20 at once, then one per second. Secrets of 256 bits are
 * checked first and only failures are counted, so that a valid secret is always accepted. Passwords can be guessed and are slow
 * to check: attempts are counted before the check.
 */
export class FailureThrottle {
  readonly #buckets = new Map<string, Bucket>()

  /** Whether no failures are left for this name. */
  isEmpty(name: string, nowMs = performance.now()): boolean {
    const bucket = this.#buckets.get(name)
    return bucket !== undefined && tokensIn(bucket, nowMs) < 1
  }

  /** Counts a failure. True when none was left for the name. */
  count(name: string, nowMs = performance.now()): boolean {
    const isTooMany = this.isEmpty(name, nowMs)
    this.#change(name, -1, nowMs)
    return isTooMany
  }

  /**
   * Counts an attempt as a failure before its outcome is known, so that concurrent attempts cannot exceed the limit. False, with
   * nothing counted, when none is left. Call `giveBack` when the attempt did not fail.
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
    // A full bucket needs no entry.
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
