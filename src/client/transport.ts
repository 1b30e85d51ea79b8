// One request, sent until an answer is there: credentials, retries, time. Knows no operation. Uses what every runtime with
// fetch has, and nothing of Node.
import { PenstockError } from './error.ts'

export interface Connection extends TransportOptions {
  keyId: string
  keySecret: string
}

export interface TransportOptions {
  /** Where Penstock is, such as `https://penstock.example.com`. */
  url: string
  /** Used instead of the runtime's own. */
  fetch?: typeof globalThis.fetch | undefined
  /** How many times a request is sent again, at the most; 3 unless told. */
  retries?: number | undefined
  /** The most that one call takes, with all retries and all waiting; 60,000 unless told. */
  timeoutMs?: number | undefined
  /** Recorded with every change that is made; not every runtime lets it be set. */
  userAgent?: string | undefined
}

export type Values = Readonly<Record<string, unknown>>

export interface Call {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** With `{names}` of parameters in it. Parameters that it does not name go into the query. */
  path: string
  params: Values
  /** JSON text. */
  body?: string | undefined
  ifMatch?: string | undefined
  idempotencyKey?: string | undefined
  signal?: AbortSignal | undefined
}

/** An answer of any status, as it came. */
export interface Received {
  status: number
  headers: Headers
  text: string
}

/** Statuses that say: not now. With the first two, nothing was done; with the others a proxy may have lost an answer. */
const passingStatuses = [429, 503, 502, 504]
const firstWaitMs = 250

export class Transport {
  readonly url: string
  // Private, so that neither a log line nor an error of somebody who prints the client has it.
  readonly #authorize: () => Record<string, string>
  readonly #fetch: typeof globalThis.fetch
  readonly #retries: number
  readonly #timeoutMs: number
  readonly #userAgent: string

  /** `authorize` makes the headers that say who is asking. */
  constructor(options: TransportOptions, authorize: () => Record<string, string>) {
    this.url = baseUrl(options.url)
    this.#authorize = authorize
    this.#fetch = options.fetch ?? globalThis.fetch
    this.#retries = options.retries ?? 3
    this.#timeoutMs = options.timeoutMs ?? 60_000
    this.#userAgent = options.userAgent ?? 'penstock-client'
  }

  /** The last answer, whatever its status; throws a PenstockError only when there is none. */
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
        // Tells errors in full; a success is the same with and without it.
        accept: 'application/json, application/problem+json',
        'user-agent': this.#userAgent,
      })
      if (body !== undefined) headers.set('content-type', 'application/json')
      if (ifMatch !== undefined) headers.set('if-match', ifMatch)
      // One key for all attempts of a call: a repeat whose first answer was lost is not applied again.
      if (method !== 'GET') headers.set('idempotency-key', idempotencyKey ?? newIdempotencyKey())
      return headers
    } catch {
      throw invalidRequest('ifMatch and idempotencyKey must be text that fits into a header')
    }
  }

  async #attempt(call: Call, url: string, headers: Headers, deadline: number): Promise<Received | PenstockError> {
    call.signal?.throwIfAborted()
    const remainingMs = Math.max(1, deadline - performance.now())
    // Not all of the time, so that one more attempt is possible after one that hangs.
    const limit = AbortSignal.timeout(Math.ceil(Math.min(remainingMs, (this.#timeoutMs * 2) / 3)))
    // Called as a function: browsers refuse a fetch that is called as a method of something else.
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

/** Browsers have randomUUID only on pages that came by https, or from this machine. */
export function newIdempotencyKey(): string {
  if (typeof crypto.randomUUID === 'function') return crypto.randomUUID()
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** The error that an answer tells. Understands both forms of Penstock's errors, and says so when it is neither. */
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
 * The cursor of the next page, from the `Link` header. Only the cursor: the rest of the address is what the server believes
 * it is called, and credentials go nowhere but where they belong.
 */
export function nextCursorOf({ headers }: Received): string | undefined {
  const target = /<([^<>]*)>\s*;[^,<]*\brel="?next\b/.exec(headers.get('link') ?? '')?.[1]
  if (target === undefined) return undefined
  return new URLSearchParams(target.split('?')[1]?.split('#')[0]).get('cursor') ?? undefined
}

function invalidAnswer({ status, headers }: Received): PenstockError {
  const type = headers.get('content-type')?.split(';')[0]?.slice(0, 64) ?? 'no content type'
  const target = status >= 300 && status < 400 ? headers.get('location') : null
  // A query may hold what is nobody's business.
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

/** The path with its parameters, and the query. */
export function pathOf({ path, params }: Pick<Call, 'path' | 'params'>): string {
  const inPath = new Set<string>()
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    inPath.add(name)
    const value = params[name]
    // An empty segment, `.` and `..` would lead to another path, and so to another operation.
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

/** Undefined: no retry would help. */
function waitBeforeRetry(outcome: Received | PenstockError, attempt: number): number | undefined {
  // Some chance in it: many clients that failed together must not come back together.
  const waitMs = firstWaitMs * 2 ** attempt * (0.5 + Math.random() / 2)
  if (outcome instanceof PenstockError) return waitMs
  // While the first attempt of a write, whose answer was lost, is still running.
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
    // Not quoted: what is mistaken for a URL may be a secret.
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

/** Who an API key says is asking. */
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

/** What a runtime says of a connection that failed; Node hides it one level down. */
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
