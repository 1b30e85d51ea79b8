// HTTP over connections that the egress has made: one exchange, or an agent for clients that speak HTTP themselves.
import { type ClientRequestArgs, Agent as HttpAgent, request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import type { Duplex } from 'node:stream'
import type { Egress, EgressLimits } from './egress.ts'
import type { TlsOptions } from './egress-tls.ts'
import { hostInUrl, hostOfUrl } from './host.ts'

export interface EgressRequest extends EgressLimits {
  protocol: 'http' | 'https'
  host: string
  port: number
  tls?: TlsOptions
  method: 'GET' | 'POST'
  path: string
  headers: Record<string, string>
  /** A longer answer is broken off. */
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

export interface AgentOptions extends EgressLimits {
  tls?: TlsOptions
}

/** As many as one pipe may load objects at once, and some for listing. */
const maxSocketsPerHost = 64

type Connected = (error: Error | null, socket?: Duplex) => void

/**
 * An agent whose every connection goes through the egress, for the clients of clouds. A request that fails on the way rejects
 * with the EgressError, as it is or as a cause. Destroy it when done. Redirects are the client's: it must not follow any.
 */
export function egressAgent(egress: Egress, protocol: 'http' | 'https', options: AgentOptions): HttpAgent {
  const { tls } = options
  const agent = new (protocol === 'https' ? HttpsAgent : HttpAgent)({ keepAlive: true, maxSockets: maxSocketsPerHost })
  const connect = ({ host, port }: ClientRequestArgs): Promise<Duplex> => {
    // As Node gives it: an IPv6 address without its brackets.
    const place = [hostOfUrl(String(host)), Number(port)] as const
    return protocol === 'https'
      ? egress.connectTls(...place, { ...options, ...(tls ? { tls } : {}) })
      : egress.connect(...place, options)
  }
  const createConnection = (request: ClientRequestArgs, connected: Connected): void => {
    connect(request).then(
      (socket) => connected(null, socket),
      (error: Error) => connected(error),
    )
  }
  return Object.assign(agent, { createConnection })
}
