// CSRF protection of requests with a session cookie: they must come from one of our pages, and changes must carry the CSRF
// token of the session.
import { timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { Problem } from '../lib/problem.ts'
import { OwnCookie } from './cookie.ts'

/** The longest lifetime that browsers allow. */
const deviceSeconds = 400 * 86_400

export class SessionGuard {
  readonly #publicOrigin: string
  readonly #isOnlyOrigin: boolean
  readonly #cookie: OwnCookie
  readonly #deviceCookie: OwnCookie
  readonly #lifetimeSeconds: number

  /** `isOnlyOrigin`: only the origin of the public URL is ours, whatever the Host header is. */
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

  /** Values for `Set-Cookie`; null deletes the session cookie. The device cookie outlives sessions, because the next sign-in uses it. */
  cookies({ sessionToken, deviceToken }: { sessionToken?: string | null; deviceToken?: string }): string[] {
    const cookies: string[] = []
    if (sessionToken !== undefined) cookies.push(this.#cookie.set(sessionToken, this.#lifetimeSeconds))
    if (deviceToken !== undefined) cookies.push(this.#deviceCookie.set(deviceToken, deviceSeconds))
    return cookies
  }

  /** Throws unless the browser reports that one of our pages sent the request. A GET may also come from the address bar. */
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
    // `URL` removes the default port of the scheme.
    const own = `${protocol}//${host ?? ''}`
    return URL.canParse(own) && new URL(own).host === originHost
  }

  /** Throws unless the request brings the CSRF token of its session. */
  requireCsrfToken(method: string, headers: IncomingHttpHeaders, expected: string): void {
    if (method === 'GET') return
    const sent = Buffer.from(String(headers['x-csrf-token'] ?? ''))
    const token = Buffer.from(expected)
    if (sent.length === token.length && timingSafeEqual(sent, token)) return
    throw new Problem(
      'csrf_token_mismatch',
      'the header x-csrf-token is not the token of this session; reload the page',
    )
  }
}

function crossOrigin(): Problem {
  return new Problem(
    'cross_origin',
    'the request has a session, but its headers Origin and Sec-Fetch-Site are not those of this Penstock; PENSTOCK_PUBLIC_URL must be the address in the browser',
  )
}
