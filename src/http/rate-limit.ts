// Two throttles: requests of a key or a person (off unless the operator turns it on), and failed authentications (always on).
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
  take(id: string, who: string, nowMs = Date.now()): Record<string, string> {
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

/** What failures are counted for: an address, a key id, an email that passwords are guessed for. */
export interface Guarded {
  name: string
  /** How many may fail at once; 20 unless told. */
  burst?: number
  /** How many more are forgiven each second; one unless told. */
  perSecond?: number
}

interface Bucket {
  burst: number
  perSecond: number
  tokens: number
  filledAtMs: number
}

/**
 * Failed authentications: 20 at once, then one per second, unless told. An address whose bucket is empty is turned away before
 * any work is done for it. A key id is never locked: whoever has the right secret gets in, however many others guess at it.
 */
export class FailureThrottle {
  readonly #buckets = new Map<string, Bucket>()

  /** Whether nothing is left for this address or key id. */
  isEmpty(name: string, nowMs = Date.now()): boolean {
    const bucket = this.#buckets.get(name)
    return bucket !== undefined && tokensIn(bucket, nowMs) < 1
  }

  /** A failure that has happened. */
  count(guarded: Guarded, nowMs = Date.now()): void {
    this.#change(guarded, -1, nowMs)
  }

  /**
   * Counts a guess as a failure before it is known to be one: of many that are under way at once no more are looked at than
   * may fail. False, with nothing counted, when one of the buckets is empty. What was no failure is given back.
   */
  take(guarded: Guarded[], nowMs = Date.now()): boolean {
    if (guarded.some(({ name }) => this.isEmpty(name, nowMs))) return false
    for (const each of guarded) this.#change(each, -1, nowMs)
    return true
  }

  giveBack(guarded: Guarded[], nowMs = Date.now()): void {
    for (const each of guarded) this.#change(each, 1, nowMs)
  }

  #change({ name, burst = 20, perSecond = 1 }: Guarded, more: number, nowMs: number): void {
    const bucket = this.#buckets.get(name) ?? { burst, perSecond, tokens: burst, filledAtMs: nowMs }
    bucket.tokens = Math.min(burst, Math.max(0, tokensIn(bucket, nowMs) + more))
    bucket.filledAtMs = nowMs
    this.#buckets.delete(name)
    // A full one tells nothing: whoever does not fail leaves nothing behind.
    if (bucket.tokens < burst) remember(this.#buckets, name, bucket)
  }
}

/** Whoever has one IPv6 address usually has the 2^64 around it: they count as one. */
export function throttleName(address: string): string {
  if (!address.includes(':')) return address
  const [head = '', tail] = address.split('::')
  const groups = head.split(':')
  const omitted = tail === undefined ? 0 : 8 - groups.length - tail.split(':').length
  return [...groups, ...Array<string>(Math.max(0, omitted)).fill('0')].slice(0, 4).join(':')
}

export function tooManyFailures(): Problem {
  return new Problem('too_many_failed_authentications', 'too many failed authentications; try again in a second', {
    headers: { 'retry-after': '1' },
  })
}

function tokensIn(bucket: Bucket, nowMs: number): number {
  return Math.min(bucket.burst, bucket.tokens + ((nowMs - bucket.filledAtMs) / 1000) * bucket.perSecond)
}

function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.set(key, value)
  if (map.size > maxRemembered) map.delete(map.keys().next().value!)
}
