// Starts listening, and explains why it cannot.
import type { FastifyInstance } from 'fastify'
import type { Config } from '../config.ts'
import { StartError } from '../lib/start-error.ts'

/** Returns the base URL. */
export async function listen(server: FastifyInstance, config: Config): Promise<string> {
  const isLoopback = /^(?:127\.\d+\.\d+\.\d+|::1|localhost)$/.test(config.host)
  if (!isLoopback && !config.tlsInFront) {
    throw new StartError(
      `PENSTOCK_HOST=${config.host} can be reached from other machines, and API keys would cross the network in the clear. ` +
        'Put a proxy with TLS in front and set PENSTOCK_TLS_IN_FRONT=true, PENSTOCK_PUBLIC_URL and PENSTOCK_TRUSTED_PROXIES, or listen on 127.0.0.1.',
    )
  }
  try {
    await server.listen({ host: config.host, port: config.port })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const reasons: Record<string, string> = {
      EADDRINUSE: `Port ${config.port} on ${config.host} is taken by another program. Set PENSTOCK_PORT to a free one.`,
      EACCES: `Port ${config.port} may not be used by this user. Set PENSTOCK_PORT to one above 1023.`,
      EADDRNOTAVAIL: `This machine has no address ${config.host}. Set PENSTOCK_HOST to one that it has.`,
      ENOTFOUND: `PENSTOCK_HOST=${config.host} does not resolve.`,
    }
    throw new StartError(reasons[code ?? ''] ?? `Penstock cannot listen on ${config.host}:${config.port} (${code}).`)
  }
  const address = server.server.address()
  const port = typeof address === 'object' && address ? address.port : config.port
  return `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${port}`
}
