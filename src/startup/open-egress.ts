// The way out to hosts that users name, as the operator has set it; never to our own database.
import type { Config } from '../config.ts'
import { Egress } from '../lib/egress.ts'
import { hostOfUrl } from '../lib/host.ts'

export function openEgress(config: Pick<Config, 'allowLoopback' | 'allowPlaintext' | 'databaseUrl'>): Egress {
  const { allowLoopback, allowPlaintext, databaseUrl } = config
  return new Egress({ allowLoopback, allowPlaintext, deniedAddresses: databaseUrl ? [databasePlace(databaseUrl)] : [] })
}

/** Where our own database listens; a Unix socket has a port on this machine beside it. */
function databasePlace(databaseUrl: string): { host: string; port: number } {
  // As the driver reads it, which forgives characters that should have been encoded.
  const url = new URL(URL.canParse(databaseUrl) ? databaseUrl : encodeURI(databaseUrl))
  const host = url.searchParams.get('host') || hostOfUrl(decodeURIComponent(url.hostname))
  const port = Number(url.searchParams.get('port') || url.port || 5432)
  return { host: host === '' || host.startsWith('/') ? 'localhost' : host, port }
}
