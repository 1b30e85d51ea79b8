// HTTP client whose answers are read directly into buffers of the caller. Connections are opened through the egress and reused.
// Only for requests that may be repeated.
import { Buffer } from 'node:buffer'
import type { OnReadOpts } from 'node:net'
import type { Egress } from '../../lib/egress.ts'
import type { AgentOptions } from '../../lib/egress-agent.ts'
import { type AnswerHead, readHead } from './answer-head.ts'
import { DirectBody } from './direct-body.ts'
import { type DirectConnection, openDirectConnection } from './direct-connection.ts'

export interface DirectRequest {
  method: 'GET' | 'POST'
  protocol: 'http' | 'https'
  /** An IPv6 address without its brackets. */
  host: string
  port: number
  /** With the query. */
  path: string
  /** All headers, including `host` and `content-length`. */
  headers: Record<string, string>
  body?: Uint8Array | undefined
  /** Aborts the request until the head has been read. */
  signal?: AbortSignal | undefined
}

export interface DirectAnswer extends Pick<AnswerHead, 'status' | 'headers'> {
  body: DirectBody
}

export interface DirectClient {
  /**
   * Rejects with an EgressError, an AbortError, or the error of a connection that ended or timed out. Undefined when request or
   * answer are not supported: repeat the request with a complete HTTP client.
   */
  ask(request: DirectRequest): Promise<DirectAnswer | undefined>
  /** Also aborts requests and bodies. */
  close(): void
}

export interface DirectOptions extends AgentOptions {
  /** Read timeout of the head. */
  headMs: number
  /** Read timeout of the body. */
  stallMs?: number
}

/** Read timeout of a store. */
export const longestStallMs = 60_000

/** Servers close idle connections; a request at that time fails and must be repeated. */
const maxIdleMs = 3_000

export function makeDirectClient(egress: Egress, options: DirectOptions): DirectClient {
  const { headMs, stallMs = longestStallMs, timeoutMs, signal, tls } = options
  const idle = new Map<string, DirectConnection[]>()
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

  const takeIdle = (address: string): DirectConnection | undefined => {
    const connections = idle.get(address) ?? []
    for (let one = connections.pop(); one; one = connections.pop()) {
      if (one.isClosed) continue
      one.setBusy()
      return one
    }
    return undefined
  }

  const keepIdle = (address: string, connection: DirectConnection): void => {
    connection.setIdle(maxIdleMs)
    const connections = idle.get(address) ?? []
    idle.set(address, [...connections.filter((one) => !one.isClosed), connection])
  }

  return {
    async ask(request) {
      const text = textOf(request)
      if (text === undefined) return undefined
      if (request.signal?.aborted) throw abandoned()
      const address = `${request.protocol} ${request.host} ${request.port}`
      const connection = takeIdle(address) ?? (await connect(request))
      const giveUp = (): void => connection.close()
      request.signal?.addEventListener('abort', giveUp, { once: true })
      try {
        request.signal?.throwIfAborted()
        connection.setReadTimeout(headMs)
        connection.send(request.body ? Buffer.concat([Buffer.from(text), request.body]) : text)
        const head = await readHead(connection)
        if (!head) {
          connection.close()
          return undefined
        }
        connection.setReadTimeout(stallMs)
        const { status, headers, sizeBytes, isKeptOpen } = head
        const onRead = (): void => (isKeptOpen ? keepIdle(address, connection) : connection.close())
        return { status, headers, body: new DirectBody(connection, sizeBytes, onRead) }
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

/** Has the name that HTTP clients expect. */
function abandoned(): Error {
  return Object.assign(new Error('the request was given up'), { name: 'AbortError' })
}

/** Undefined when path or headers have characters that are not allowed. */
function textOf({ method, path, headers }: DirectRequest): string | undefined {
  const lines = [`${method} ${path} HTTP/1.1`, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)]
  const isPrintable = /^\/[\x21-\x7e]*$/.test(path) && lines.every((line) => /^[\t\x20-\x7e]+$/.test(line))
  return isPrintable ? `${lines.join('\r\n')}\r\n\r\n` : undefined
}
