// What a request with a session must prove beside having its cookie, because a browser sends cookies along whoever wrote the
// page: that it comes from a page of ours, and, when it changes something, that this page could read our answers.
import { timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { Problem } from '../lib/problem.ts'
import { OwnCookie } from './cookie.ts'

/** The longest that browsers keep a cookie. */
const deviceSeconds = 400 * 86_400

export class SessionGuard {
  readonly #publicOrigin: string
  readonly #isOnlyOrigin: boolean
  readonly #cookie: OwnCookie
  readonly #deviceCookie: OwnCookie
  readonly #lifetimeSeconds: number

  /** `isOnlyOrigin`: whatever name the request was sent to, only pages under the public address are ours. */
  constructor({
    publicUrl,
    isOnlyOrigin,
    lifetimeSeconds,
  }: {
    publicUrl: string
    isOnlyOrigin: boolean
    lifetimeSeconds: number
  }) {
    this.#publicOrigin = new URL(publicUrl).origin
    this.#isOnlyOrigin = isOnlyOrigin
    this.#cookie = new OwnCookie('penstock-session', publicUrl, 'Strict')
    this.#deviceCookie = new OwnCookie('penstock-device', publicUrl, 'Strict')
    this.#lifetimeSeconds = lifetimeSeconds
  }

  readToken({ cookie }: IncomingHttpHeaders): string | undefined {
    return this.#cookie.read(cookie)
  }

  readDeviceToken({ cookie }: IncomingHttpHeaders): string | undefined {
    return this.#deviceCookie.read(cookie)
  }

  /** For `Set-Cookie`; null takes the cookie of the session away. That of the device outlives sessions: its purpose is the next sign-in. */
  cookies({ sessionToken, deviceToken }: { sessionToken?: string | null; deviceToken?: string }): string[] {
    const cookies: string[] = []
    if (sessionToken !== undefined) cookies.push(this.#cookie.set(sessionToken, this.#lifetimeSeconds))
    if (deviceToken !== undefined) cookies.push(this.#deviceCookie.set(deviceToken, deviceSeconds))
    return cookies
  }

  /** Throws unless the browser says that a page of ours sends this. Reading is also for who types the address. */
  requireSameOrigin(method: string, headers: IncomingHttpHeaders): void {
    const site = headers['sec-fetch-site']
    const isRead = method === 'GET'
    if (site !== undefined && site !== 'same-origin' && !(isRead && site === 'none')) throw crossOrigin()
    if (!isRead && !this.#isOurs(headers)) throw crossOrigin()
  }

  #isOurs({ origin, host }: IncomingHttpHeaders): boolean {
    if (origin === undefined || !URL.canParse(origin)) return false
    if (origin === this.#publicOrigin) return true
    if (this.#isOnlyOrigin) return false
    const { protocol, host: originHost } = new URL(origin)
    if (protocol !== 'http:' && protocol !== 'https:') return false
    // Through URL, which leaves out the port that the scheme has anyway.
    const own = `${protocol}//${host ?? ''}`
    return URL.canParse(own) && new URL(own).host === originHost
  }

  /** Throws unless the request brings the CSRF token of its session. */
  requireCsrfToken(method: string, headers: IncomingHttpHeaders, expected: string): void {
    if (method === 'GET') return
    const sent = Buffer.from(String(headers['x-csrf-token'] ?? ''))
    const wanted = Buffer.from(expected)
    if (sent.length === wanted.length && timingSafeEqual(sent, wanted)) return
    throw new Problem(
      'csrf_token_mismatch',
      'the header x-csrf-token is not the token of this session; load the page again',
    )
  }
}

function crossOrigin(): Problem {
  return new Problem(
    'cross_origin',
    'a request with a session must come from a page of this Penstock, and the headers Origin and Sec-Fetch-Site do not say so; PENSTOCK_PUBLIC_URL must be the address in the browser',
  )
}
