// A connection to PostgreSQL, or the reason why it failed.
import pg from 'pg'
import { StartError } from '../lib/start-error.ts'

export const connectTimeoutMs = 5_000
/** The modes that the driver supports. */
const sslModes = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify']

pg.types.setTypeParser(pg.types.builtins.INT8, Number)

/** Opens a single connection outside the pool; throws a StartError that explains a failure. */
export async function connectOnce(url: string, options: pg.ClientConfig = {}): Promise<pg.Client> {
  refuseUnknownSslMode(url)
  try {
    const client = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: connectTimeoutMs,
      application_name: 'penstock',
      ...options,
    })
    client.on('error', () => undefined)
    await client.connect()
    return client
  } catch (error) {
    throw new StartError(`PostgreSQL at ${withoutPassword(url)} cannot be used: ${connectFailure(error)}`, {
      cause: error,
    })
  }
}

function withoutPassword(url: string): string {
  try {
    const parsed = new URL(url)
    return `${parsed.hostname}:${parsed.port || '5432'}${parsed.pathname}`
  } catch {
    return 'DATABASE_URL'
  }
}

/** The driver treats unknown modes as a request to verify certificates, which may not be intended. */
function refuseUnknownSslMode(url: string): void {
  const mode = URL.canParse(url) ? new URL(url).searchParams.get('sslmode') : null
  if (mode === null || sslModes.includes(mode)) return
  throw new StartError(
    `DATABASE_URL has sslmode=${JSON.stringify(mode)}, which is unknown: use verify-full, or disable where PostgreSQL has no TLS (known are ${sslModes.join(', ')}).`,
  )
}

function connectFailure(error: unknown): string {
  const { code, path, message, syscall } = error as NodeJS.ErrnoException
  if (syscall === 'open') return `the file ${path}, which DATABASE_URL names, cannot be read (${code}).`
  // The driver sets no code for these errors.
  if (message === 'timeout expired') {
    return `no connection within ${connectTimeoutMs / 1_000} seconds; check host, port and firewall.`
  }
  if (message === 'The server does not support SSL connections') {
    return 'it has no TLS, which DATABASE_URL asks for; turn on ssl in PostgreSQL, or, where nobody can listen in, set sslmode=disable.'
  }
  switch (code) {
    case '28P01':
    case '28000':
      return 'it refused the user name or password in DATABASE_URL.'
    case '3D000':
      return 'the database named in DATABASE_URL does not exist; create it first.'
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'the host name does not resolve.'
    case 'ERR_INVALID_URL':
      return 'it is not a URL; percent-encode special characters in the password.'
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
      return `its certificate is of an authority that is not trusted here (${code}); add &sslrootcert=/path/ca.pem to DATABASE_URL, or set NODE_EXTRA_CA_CERTS=/path/ca.pem.`
    case 'CERT_HAS_EXPIRED':
      return 'its certificate has expired.'
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return 'its certificate is for another host than the one that DATABASE_URL names.'
    case 'ENOENT':
    case 'ECONNREFUSED':
      return 'nothing listens there.'
    case '53300':
      return 'it has no connection left.'
    case '57P03':
      return 'it is still starting.'
    default:
      return `the connection failed${code ? ` (${code})` : ''}; check host, port, TLS and firewall.`
  }
}
