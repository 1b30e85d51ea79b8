// Sends one request with credentials, retries and a timeout. Independent of operations; runs in every runtime with fetch,
// without Node APIs.
import { PenstockError } from './error.ts'

export interface Connection extends TransportOptions {
  keyId: string
  keySecret: string
}

export interface TransportOptions {
  /** URL of Penstock, such as `https://penstock.example.com`. */
  url: string
  /** Replaces the runtime's fetch. */
  fetch?: typeof globalThis.fetch | undefined
  /** Maximum number of retries; default: 3. */
  retries?: number | undefined
  /** Time limit of a call including retries and back-off; default: 60,000. */
  timeoutMs?: number | undefined
  /** Recorded with every change; some runtimes do not allow setting it. */
  userAgent?: string | undefined
}

export type Values = Readonly<Record<string, unknown>>

export interface Call {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Contains `{names}` of parameters. All other parameters go into the query. */
  path: string
  params: Values
  /** JSON text. */
  body?: string | undefined
  ifMatch?: string | undefined
  idempotencyKey?: string | undefined
  signal?: AbortSignal | undefined
}

/** A response with any status. */
export interface Received {
  status: number
  headers: Headers
  text: string
}

/** Retryable statuses. With 429 and 503 nothing was done; with 502 and 504 a proxy may have lost the response. */
const passingStatuses = [429, 503, 502, 504]
const firstWaitMs = 250

export class Transport {
  readonly url: string
  // Private, so that printing the client shows no credentials.
  readonly #authorize: () => Record<string, string>
  readonly #fetch: typeof globalThis.fetch
  readonly #retries: number
  readonly #timeoutMs: number
  readonly #userAgent: string

  /** `authorize` returns the authentication headers. */
  constructor(options: TransportOptions, authorize: () => Record<string, string>) {
    this.url = baseUrl(options.url)
    this.#authorize = authorize
    this.#fetch = options.fetch ?? globalThis.fetch
    this.#retries = options.retries ?? 3
    this.#timeoutMs = options.timeoutMs ?? 60_000
    this.#userAgent = options.userAgent ?? 'penstock-client'
  }

  /** Returns the last response, whatever its status; throws a PenstockError only without a response. */
  async send(call: Call): Promise<Received> {
    const url = this.url + pathOf(call)
    const headers = this.#headers(call)
    const deadline = performance.now() + this.#timeoutMs
    for (let attempt = 0; ; attempt += 1) {
      const outcome = await this.#attempt(call, url, headers, deadline)
      const waitMs = attempt < this.#retries ? waitBeforeRetry(outcome, attempt) : undefined
      if (waitMs === undefined || performance.now() + waitMs >= deadline) {
        if (outcome instanceof PenstockError) throw outcome
        return outcome
      }
      await sleep(waitMs, call.signal)
    }
  }

  #headers({ method, body, ifMatch, idempotencyKey }: Call): Headers {
    try {
      const headers = new Headers({
        ...this.#authorize(),
        // Requests detailed errors; successful responses are the same.
        accept: 'application/json, application/problem+json',
        'user-agent': this.#userAgent,
      })
      if (body !== undefined) headers.set('content-type', 'application/json')
      if (ifMatch !== undefined) headers.set('if-match', ifMatch)
      // One key for all attempts, so that a retry after a lost response is not applied again.
      if (method !== 'GET') headers.set('idempotency-key', idempotencyKey ?? newIdempotencyKey())
      return headers
    } catch {
      throw invalidRequest('ifMatch and idempotencyKey must be text that fits into a header')
    }
  }

  async #attempt(call: Call, url: string, headers: Headers, deadline: number): Promise<Received | PenstockError> {
    call.signal?.throwIfAborted()
    const remainingMs = Math.max(1, deadline - performance.now())
    // Leaves time for one more attempt after one that hangs.
    const limit = AbortSignal.timeout(Math.ceil(Math.min(remainingMs, (this.#timeoutMs * 2) / 3)))
    // Called without `this`: browsers refuse fetch as a method of another object.
    const send = this.#fetch
    try {
      const response = await send(url, {
        method: call.method,
        headers,
        ...(call.body === undefined ? {} : { body: call.body }),
        signal: call.signal ? AbortSignal.any([call.signal, limit]) : limit,
        // A redirect would turn a write into a read.
        redirect: 'manual',
      })
      return { status: response.status, headers: response.headers, text: await response.text() }
    } catch (cause) {
      call.signal?.throwIfAborted()
      const reason = limit.aborted ? 'no answer came in time' : reasonOf(cause)
      return new PenstockError(`Penstock at ${this.url} cannot be reached: ${reason}`, {
        status: 0,
        code: 'no_answer',
        cause,
      })
    }
  }
}

/** Browsers have randomUUID only on pages from https or localhost. */
export function newIdempotencyKey(): string {
  if (typeof crypto.randomUUID === 'function') return crypto.randomUUID()
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** The error in a response, in either format of Penstock; otherwise `invalid_answer`. */
export function errorOf(received: Received): PenstockError {
  const { status, headers } = received
  const body = parseObject(received.text)
  const facts = {
    status,
    requestId: headers.get('x-request-id') ?? undefined,
    retryAfterSeconds: secondsOf(headers.get('retry-after')),
  }
  if (typeof body?.detail === 'string' && typeof body.code === 'string') {
    const errors = Array.isArray(body.errors) ? body.errors.filter(isFieldError) : []
    return new PenstockError(body.detail, { ...facts, code: body.code, errors })
  }
  if (typeof body?.error === 'string') {
    const [, code, sentence] = /^([A-Z_]+): (.*)$/s.exec(body.error) ?? []
    return new PenstockError(sentence ?? body.error, { ...facts, code: code?.toLowerCase() ?? 'unknown' })
  }
  return invalidAnswer(received)
}

/** The envelope of a success. */
export function envelopeOf(received: Received): { requestId: string; result: unknown; status: number } {
  const body = parseObject(received.text)
  if (typeof body?.requestId !== 'string') throw invalidAnswer(received)
  return { requestId: body.requestId, result: body.result ?? null, status: received.status }
}

export function isSuccess({ status }: Received): boolean {
  return status >= 200 && status < 300
}

/** The text of a `Warning` header. */
export function warningOf({ headers }: Received): string | undefined {
  const text = /^\d{3} \S+ "((?:[^"\\]|\\.)*)"/.exec(headers.get('warning') ?? '')?.[1]
  return text?.replaceAll(/\\(.)/g, '$1')
}

/**
 * The cursor of the next page, from the `Link` header. The rest of that URL is ignored, so that credentials are sent only to
 * the configured server.
 */
export function nextCursorOf({ headers }: Received): string | undefined {
  const target = /<([^<>]*)>\s*;[^,<]*\brel="?next\b/.exec(headers.get('link') ?? '')?.[1]
  if (target === undefined) return undefined
  return new URLSearchParams(target.split('?')[1]?.split('#')[0]).get('cursor') ?? undefined
}

function invalidAnswer({ status, headers }: Received): PenstockError {
  const type = headers.get('content-type')?.split(';')[0]?.slice(0, 64) ?? 'no content type'
  const target = status >= 300 && status < 400 ? headers.get('location') : null
  // Without the query, which may contain secrets.
  const hint = target ? `; it points to ${target.split('?')[0]?.slice(0, 200)}` : ''
  return new PenstockError(`the answer is not one of Penstock (status ${status}, ${type})${hint}; check the URL`, {
    status,
    code: 'invalid_answer',
    requestId: headers.get('x-request-id') ?? undefined,
  })
}

function invalidRequest(message: string): PenstockError {
  return new PenstockError(message, { status: 0, code: 'invalid_request' })
}

/** Path with parameters, and query. */
export function pathOf({ path, params }: Pick<Call, 'path' | 'params'>): string {
  const inPath = new Set<string>()
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    inPath.add(name)
    const value = params[name]
    // An empty segment, `.` or `..` would change the path and so call another operation.
    if (typeof value !== 'string' || /^\.{0,2}$/.test(value)) {
      throw invalidRequest(`${name} must be a text that is not empty, not ${JSON.stringify(value)}`)
    }
    return encodeURIComponent(value)
  })
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(params)) {
    if (!inPath.has(name) && value !== undefined) query.set(name, String(value))
  }
  return query.size > 0 ? `${filled}?${query}` : filled
}

/** Undefined when the outcome is not retryable. */
function waitBeforeRetry(outcome: Received | PenstockError, attempt: number): number | undefined {
  // Jitter, so that clients that failed together do not retry together.
  const waitMs = firstWaitMs * 2 ** attempt * (0.5 + Math.random() / 2)
  if (outcome instanceof PenstockError) return waitMs
  // The first attempt, whose response was lost, is still running.
  const isRunning = outcome.status === 409 && parseObject(outcome.text)?.code === 'idempotency_key_in_use'
  if (!passingStatuses.includes(outcome.status) && !isRunning) return undefined
  const askedSeconds = secondsOf(outcome.headers.get('retry-after'))
  return askedSeconds === undefined ? waitMs : Math.max(waitMs, askedSeconds * 1000)
}

/** `Retry-After` is a number of seconds or a date. */
function secondsOf(header: string | null): number | undefined {
  if (header === null) return undefined
  if (/^\d{1,9}$/.test(header.trim())) return Number(header)
  const at = Date.parse(header)
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - Date.now()) / 1000))
}

function baseUrl(text: string): string {
  let url: URL
  try {
    url = new URL(text)
  } catch {
    // The value is not shown: it may be a secret passed by mistake.
    throw invalidRequest('url must be the address of Penstock, such as https://penstock.example.com')
  }
  if (!/^https?:$/.test(url.protocol)) throw invalidRequest('url must begin with https:// or http://')
  if (url.username || url.password || url.search || url.hash) {
    throw invalidRequest('url must have no user, password, query or fragment')
  }
  let end = url.href.length
  while (url.href[end - 1] === '/') end--
  return url.href.slice(0, end)
}

/** Basic authentication with an API key. */
export function basicAuthorization({ keyId, keySecret }: Connection): () => Record<string, string> {
  const authorization = `Basic ${base64(`${keyId}:${keySecret}`)}`
  return () => ({ authorization })
}

function base64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)))
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

function isFieldError(value: unknown): value is { pointer: string; detail: string } {
  const { pointer, detail } = (value ?? {}) as Record<string, unknown>
  return typeof pointer === 'string' && typeof detail === 'string'
}

/** Reason of a connection failure; Node has it in `cause`. */
function reasonOf(error: unknown): string {
  const { message, cause } = (error ?? {}) as { message?: unknown; cause?: { code?: unknown; message?: unknown } }
  return String(cause?.code ?? cause?.message ?? message ?? error)
}

function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    if (signal?.aborted) stop()
    else signal?.addEventListener('abort', stop, { once: true })
  })
}
