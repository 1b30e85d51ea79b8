// One HTTP exchange over an egress connection.
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import type { Duplex } from 'node:stream'
import type { TlsOptions } from './egress-tls.ts'
import { hostInUrl } from './host.ts'

export interface EgressLimits {
  /** For everything: resolving, connecting, and what follows. */
  timeoutMs: number
  signal?: AbortSignal | undefined
}

export interface EgressRequest extends EgressLimits {
  protocol: 'http' | 'https'
  host: string
  port: number
  tls?: TlsOptions
  method: 'GET' | 'POST'
  path: string
  headers: Record<string, string>
  /** Longer answers are rejected. */
  maxAnswerBytes: number
}

export interface EgressAnswer {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
}

export class BrokenExchange extends Error {
  constructor() {
    super('the other side does not speak HTTP, or not to the end')
    this.name = 'BrokenExchange'
  }
}

/** Rejects with a BrokenExchange. */
export function exchange(socket: Duplex, request: EgressRequest): Promise<EgressAnswer> {
  const { host, port, method, path, headers, maxAnswerBytes } = request
  return new Promise<EgressAnswer>((resolve, reject) => {
    const broken = (): void => reject(new BrokenExchange())
    const sent = httpRequest(
      {
        createConnection: () => socket,
        method,
        path,
        headers: { ...headers, host: `${hostInUrl(host)}:${port}`, connection: 'close' },
      },
      (response) => {
        const chunks: Buffer[] = []
        let size = 0
        response.on('data', (chunk: Buffer) => {
          size += chunk.length
          if (size > maxAnswerBytes) broken()
          else chunks.push(chunk)
        })
        response.on('end', () => {
          resolve({ status: response.statusCode!, headers: response.headers, body: Buffer.concat(chunks) })
        })
        response.on('error', broken)
        response.on('close', broken)
      },
    )
    sent.on('error', broken)
    sent.end()
  })
}
