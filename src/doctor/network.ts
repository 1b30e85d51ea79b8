// Checks of the listen address, the egress rules and the OpenID provider.
import { lookup } from 'node:dns/promises'
import { OidcFlow, type OidcSettings } from '../accounts/oidc.ts'
import type { Config } from '../config.ts'
import { type Egress, EgressError } from '../lib/egress.ts'
import { Log } from '../lib/log.ts'
import { newMasterKeys, Vault } from '../lib/vault.ts'
import { type Finding, type Issue, problem, toFinding, warning } from './finding.ts'

const answerWithinMs = 5_000

/** Address of Penstock's own database. */
export interface DatabaseAddress {
  host: string
  port: number
}

export function checkListening(config: Config): Finding {
  const { host, port, tlsInFront, hasPublicUrl, operations } = config
  const address = `${host.includes(':') ? `[${host}]` : host}:${port}`
  const isLoopback = /^(?:127\.\d+\.\d+\.\d+|::1|localhost)$/.test(host)
  const issues: Issue[] = []
  if (!isLoopback && !tlsInFront) {
    const remedy =
      'put a proxy with TLS in front and set PENSTOCK_TLS_IN_FRONT=true, PENSTOCK_PUBLIC_URL and PENSTOCK_TRUSTED_PROXIES, or set PENSTOCK_HOST=127.0.0.1'
    issues.push(problem(`${address} can be reached from other machines without TLS; Penstock does not start`, remedy))
  }
  const reach = tlsInFront ? 'behind a proxy with TLS' : 'for this machine only'
  const publicUrl = hasPublicUrl ? `, as ${operations.publicUrl}` : ''
  return toFinding('listening', `${address}, ${reach}${publicUrl}`, issues)
}

/** `own` is undefined with SQLite. */
export async function checkEgress(config: Config, egress: Egress, own: DatabaseAddress | undefined): Promise<Finding> {
  const issues: Issue[] = []
  if (config.allowLoopback) {
    const found = 'users of the API can make Penstock connect to programs on its own machine'
    issues.push(warning(found, 'set PENSTOCK_ALLOW_LOOPBACK=false, unless engines or sources are on this machine'))
  }
  if (config.allowPlaintext) {
    const found = 'engines and sources may be used without TLS: passwords and rows cross the network in the clear'
    issues.push(warning(found, 'set PENSTOCK_ALLOW_PLAINTEXT=false, unless an engine or a source has no TLS'))
  }
  if (own && !(await isDenied(egress, own))) {
    const found =
      'users of the API may make Penstock connect to its own database: its name does not always mean the same'
    issues.push(problem(found, 'name the database by its address in DATABASE_URL'))
  }
  const database = own ? ' nor to the database of Penstock' : ''
  return toFinding(
    'egress',
    `not to this machine${database}; to engines with passwords and to sources only with TLS`,
    issues,
  )
}

/** Whether every address of the host name is denied. */
async function isDenied(egress: Egress, { host, port }: DatabaseAddress): Promise<boolean> {
  const addresses = await lookup(host, { all: true }).catch(() => [])
  for (const { address } of addresses) {
    try {
      await egress.addressesOf(address.split('%')[0]!, port, { timeoutMs: answerWithinMs })
      return false
    } catch (error) {
      if (!(error instanceof EgressError)) throw error
      if (error.failure !== 'denied') return false
    }
  }
  return true
}

export async function checkSignInProvider(settings: OidcSettings | undefined, publicUrl: string): Promise<Finding> {
  if (!settings) return toFinding('sign-in provider', 'none is set; people sign in with passwords and links', [])
  // Starting a sign-in fetches the provider's metadata. No browser is redirected.
  const flow = new OidcFlow({
    settings,
    publicUrl,
    vault: new Vault(newMasterKeys()),
    signIn: () => Promise.reject(new Error('nobody comes back')),
    log: new Log('silent'),
  })
  try {
    await flow.begin(undefined)
    return toFinding('sign-in provider', `${settings.issuer} answers and names itself so`, [])
  } catch {
    const found = `${settings.issuer} does not answer, or does not say what it should`
    const remedy = `correct PENSTOCK_OIDC_ISSUER, or let this machine reach it: ${settings.issuer.replace(/\/$/, '')}/.well-known/openid-configuration must name the same issuer`
    return toFinding('sign-in provider', '', [problem(found, remedy)])
  }
}
