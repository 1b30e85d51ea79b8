// Asks over connections of the egress, for answers whose bodies can be read to where they are to stay. They are kept for the next request.
// Only what may be asked twice is asked here.
import { Buffer } from 'node:buffer'
import type { OnReadOpts } from 'node:net'
import type { Egress } from '../../lib/egress.ts'
import type { AgentOptions } from '../../lib/egress-http.ts'
import { type AnswerHead, readHead } from './answer-head.ts'
import { DirectBody } from './direct-body.ts'
import { type DirectConnection, openDirectConnection } from './direct-connection.ts'

export interface DirectRequest {
  method: 'GET' | 'POST'
  protocol: 'http' | 'https'
  /** An IPv6 address without its brackets. */
  host: string
  port: number
  /** With what is asked. */
  path: string
  /** All of them, also `host`, and `content-length` of a body. */
  headers: Record<string, string>
  body?: Uint8Array | undefined
  /** Until the head is there. */
  signal?: AbortSignal | undefined
}

export interface DirectAnswer extends Pick<AnswerHead, 'status' | 'headers'> {
  body: DirectBody
}

export interface DirectClient {
  /**
   * Rejects with an EgressError, an AbortError, or what says of a connection that it ended or was silent. Undefined when this is nothing for a
   * reader of simple answers: to be asked again, by one that knows all of HTTP.
   */
  ask(request: DirectRequest): Promise<DirectAnswer | undefined>
  /** Whatever is under way ends too. */
  close(): void
}

export interface DirectOptions extends AgentOptions {
  /** How long nothing may come of a head. */
  headMs: number
  /** How long nothing may come of a body while it is awaited. */
  stallMs?: number
}

/** A store that gives nothing for this long has stalled. */
export const longestStallMs = 60_000

/** Others close a connection that rests; the one who asks at that moment must ask again. */
const longestRestMs = 3_000

export function makeDirectClient(egress: Egress, options: DirectOptions): DirectClient {
  const { headMs, stallMs = longestStallMs, timeoutMs, signal, tls } = options
  const resting = new Map<string, DirectConnection[]>()
  const open = new Set<DirectConnection>()
  let isClosed = false

  const connect = async ({ protocol, host, port, signal: ofRequest }: DirectRequest): Promise<DirectConnection> => {
    const limits = { timeoutMs, signal: AbortSignal.any([signal, ofRequest].filter((one) => one !== undefined)) }
    const isPlain = protocol === 'http'
    const socketWith = (onread: OnReadOpts) =>
      isPlain
        ? egress.connect(host, port, { ...limits, onread })
        : egress.connectTls(host, port, { ...limits, ...(tls ? { tls } : {}) })
    const connection = await openDirectConnection(socketWith, { isDirect: isPlain })
    open.add(connection)
    void connection.closed.then(() => open.delete(connection))
    if (isClosed) connection.close()
    return connection
  }

  const restingAt = (place: string): DirectConnection | undefined => {
    const there = resting.get(place) ?? []
    for (let one = there.pop(); one; one = there.pop()) {
      if (one.isClosed) continue
      one.wake()
      return one
    }
    return undefined
  }

  const letRest = (place: string, connection: DirectConnection): void => {
    connection.rest(longestRestMs)
    const there = resting.get(place) ?? []
    resting.set(place, [...there.filter((one) => !one.isClosed), connection])
  }

  return {
    async ask(request) {
      const text = textOf(request)
      if (text === undefined) return undefined
      if (request.signal?.aborted) throw abandoned()
      const place = `${request.protocol} ${request.host} ${request.port}`
      const connection = restingAt(place) ?? (await connect(request))
      const giveUp = (): void => connection.close()
      request.signal?.addEventListener('abort', giveUp, { once: true })
      try {
        request.signal?.throwIfAborted()
        connection.setPatience(headMs)
        connection.send(request.body ? Buffer.concat([Buffer.from(text), request.body]) : text)
        const head = await readHead(connection)
        if (!head) {
          connection.close()
          return undefined
        }
        connection.setPatience(stallMs)
        const { status, headers, sizeBytes, isKeptOpen } = head
        const whenWhole = (): void => (isKeptOpen ? letRest(place, connection) : connection.close())
        return { status, headers, body: new DirectBody(connection, sizeBytes, whenWhole) }
      } catch (error) {
        connection.close()
        throw request.signal?.aborted ? abandoned() : error
      } finally {
        request.signal?.removeEventListener('abort', giveUp)
      }
    },
    close() {
      isClosed = true
      for (const connection of open) connection.close()
    },
  }
}

/** By the name that clients know. */
function abandoned(): Error {
  return Object.assign(new Error('the request was given up'), { name: 'AbortError' })
}

/** Undefined of what cannot be said on a line. */
function textOf({ method, path, headers }: DirectRequest): string | undefined {
  const lines = [`${method} ${path} HTTP/1.1`, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)]
  const isSayable = /^\/[\x21-\x7e]*$/.test(path) && lines.every((line) => /^[\t\x20-\x7e]+$/.test(line))
  return isSayable ? `${lines.join('\r\n')}\r\n\r\n` : undefined
}
