// Strict parsing of requests: limits, headers, query and body. No coercion, and nothing is ignored.
import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { isObject } from '../lib/merge-patch.ts'
import { Problem } from '../lib/problem.ts'
import { parseStrictJson } from '../lib/strict-json.ts'

export const limits = {
  bodyBytes: 1_048_576,
  /** For console actions: enough for an email, a name and two passwords of maximum length, JSON-escaped. */
  actionBodyBytes: 8_192,
  headerBytes: 16_384,
  urlBytes: 2_048,
  requestMs: 30_000,
  headersMs: 10_000,
  keepAliveMs: 65_000,
  requestsUnderWay: 1_024,
} as const

const singletonHeaders = new Set([
  'authorization',
  'content-type',
  'content-encoding',
  'idempotency-key',
  'host',
  'user-agent',
])

/** Refuses duplicate singleton headers and other HTTP versions: a proxy could read such a request differently. */
export function checkHeaders(raw: IncomingMessage): void {
  // Node's parser also accepts HTTP/0.9, which has no headers, and HTTP/2.0, which is binary.
  if (raw.httpVersion !== '1.1' && raw.httpVersion !== '1.0') {
    throw new Problem('invalid_request', `the request is HTTP/${raw.httpVersion}; send HTTP/1.1`, {
      headers: { connection: 'close' },
    })
  }
  if (raw.url!.length > limits.urlBytes) {
    throw new Problem('invalid_request', `the URL is longer than ${limits.urlBytes} bytes`)
  }
  if (raw.httpVersion === '1.1' && raw.headers.host === undefined) {
    throw new Problem('invalid_header', 'the header Host is missing')
  }
  const { rawHeaders } = raw
  let seen: Set<string> | undefined
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!.toLowerCase()
    if (!singletonHeaders.has(name)) continue
    if (seen?.has(name)) throw new Problem('invalid_header', `the header ${name} is sent more than once`)
    seen ??= new Set()
    seen.add(name)
  }
}

export function parseJsonBody(
  request: FastifyRequest,
  body: string | Buffer,
  done: (error: Error | null, value?: unknown) => void,
): void {
  try {
    const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(request.headers['content-type'] ?? '')?.[1]
    if (charset && charset.toLowerCase() !== 'utf-8') {
      throw new Problem('unsupported_media_type', `the body must be UTF-8, not ${charset.slice(0, 32)}`)
    }
    const encoding = request.headers['content-encoding']
    if (encoding && encoding.toLowerCase() !== 'identity') {
      throw new Problem(
        'unsupported_media_type',
        `the body must not be compressed (Content-Encoding: ${encoding.slice(0, 32)})`,
      )
    }
    const bytes = body as Buffer
    // Many clients send a content type with an empty body.
    if (bytes.length === 0) {
      done(null, undefined)
      return
    }
    if (!isUtf8(bytes)) throw new Problem('invalid_json', 'the body is not valid UTF-8')
    done(null, parseStrictJson(bytes.toString('utf8')))
  } catch (error) {
    done(error as Error)
  }
}

/** Also the pattern in the OpenAPI document. */
export const ifMatchHeader = /^(?:\*|(?:W\/)?"[^"]*"(?:\s*,\s*(?:W\/)?"[^"]*")*)$/

/** Entity tags with their quotes, or `*`. Weak tags never match, because the comparison guards a change. */
export function parseIfMatch(header: string): string[] {
  const text = header.trim()
  if (!ifMatchHeader.test(text)) {
    throw new Problem('invalid_header', 'If-Match must be * or entity tags in quotes, as in the ETag header')
  }
  if (text === '*') return ['*']
  return [...text.matchAll(/(W\/)?("[^"]*")/g)].filter((match) => !match[1]).map((match) => match[2]!)
}

/** Also the pattern in the OpenAPI document. */
export const idempotencyKey = /^[!-~](?:[ -~]{0,253}[!-~])?$/

export function parseIdempotencyKey(header: string | string[]): string {
  if (typeof header === 'string' && idempotencyKey.test(header)) return header
  throw new Problem('invalid_header', 'Idempotency-Key must have 1 to 255 printable ASCII characters')
}

/** JSON with sorted field names: equal values give equal text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    isObject(part) ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part,
  )
}

/** Names and values as text; an array for a repeated name. */
export function parseQuery(text: string): Record<string, string | string[]> {
  const query: Record<string, string | string[]> = Object.create(null)
  for (const [name, value] of new URLSearchParams(text)) {
    const present = query[name]
    if (Array.isArray(present)) present.push(value)
    else query[name] = present === undefined ? value : [present, value]
  }
  return query
}

/** Client address; IPv4-mapped IPv6 becomes IPv4. A value from a proxy is used only if it is a valid address. */
export function plainAddress(request: FastifyRequest): string {
  const address = isIP(request.ip) ? request.ip : (request.raw.socket.remoteAddress ?? '')
  return /^::ffff:\d+\.\d+\.\d+\.\d+$/.test(address) ? address.slice(7) : address
}

export function userAgentOf(request: FastifyRequest): string {
  return (request.headers['user-agent'] ?? '').slice(0, 512)
}
