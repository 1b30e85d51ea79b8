// Agent for HTTP clients that connects through the egress.
import { type ClientRequestArgs, Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import type { Duplex } from 'node:stream'
import type { Egress } from './egress.ts'
import type { EgressLimits } from './egress-http.ts'
import type { TlsOptions } from './egress-tls.ts'
import { hostOfUrl } from './host.ts'

export interface AgentOptions extends EgressLimits {
  tls?: TlsOptions
}

/** Enough for the concurrent object loads of one pipe, and some list requests. */
const maxSocketsPerHost = 64

type Connected = (error: Error | null, socket?: Duplex) => void

/**
 * An agent for cloud clients that connects only through the egress. A request that fails to connect rejects with the EgressError,
 * directly or as a cause. Destroy the agent after use. The client must not follow redirects.
 */
export function egressAgent(egress: Egress, protocol: 'http' | 'https', options: AgentOptions): HttpAgent {
  const { tls } = options
  const agent = new (protocol === 'https' ? HttpsAgent : HttpAgent)({ keepAlive: true, maxSockets: maxSocketsPerHost })
  const connect = ({ host, port }: ClientRequestArgs): Promise<Duplex> => {
    // As Node passes it: an IPv6 address without brackets.
    const address = [hostOfUrl(String(host)), Number(port)] as const
    return protocol === 'https'
      ? egress.connectTls(...address, { ...options, ...(tls ? { tls } : {}) })
      : egress.connect(...address, options)
  }
  const createConnection = (request: ClientRequestArgs, connected: Connected): void => {
    connect(request).then(
      (socket) => connected(null, socket),
      (error: Error) => connected(error),
    )
  }
  return Object.assign(agent, { createConnection })
}
