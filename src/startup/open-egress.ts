// Egress to hosts that users name, limited by the operator's settings; never to Penstock's own database.
import type { Config } from '../config.ts'
import { Egress } from '../lib/egress.ts'
import { hostOfUrl } from '../lib/host.ts'

export function openEgress(config: Pick<Config, 'allowLoopback' | 'allowPlaintext' | 'databaseUrl'>): Egress {
  const { allowLoopback, allowPlaintext, databaseUrl } = config
  return new Egress({
    allowLoopback,
    allowPlaintext,
    deniedAddresses: databaseUrl ? [databaseAddress(databaseUrl)] : [],
  })
}

/** Address of Penstock's own database; for a Unix socket, its TCP port on this machine. */
function databaseAddress(databaseUrl: string): { host: string; port: number } {
  // Parsed like the driver, which tolerates characters that should be percent-encoded.
  const url = new URL(URL.canParse(databaseUrl) ? databaseUrl : encodeURI(databaseUrl))
  const host = url.searchParams.get('host') || hostOfUrl(decodeURIComponent(url.hostname))
  const port = Number(url.searchParams.get('port') || url.port || 5432)
  return { host: host === '' || host.startsWith('/') ? 'localhost' : host, port }
}
