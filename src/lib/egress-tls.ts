// TLS over an egress connection. Users must know why a handshake fails, so OpenSSL's error codes are classified.
import { isIP, type Socket } from 'node:net'
import { connect, createSecureContext, getCACertificates, type SecureContext, type TLSSocket } from 'node:tls'

export type TlsFailure = 'expired' | 'untrusted' | 'other host' | 'client refused' | 'no tls' | 'silent'

export interface TlsOptions {
  /** PEM; replaces the default authorities. */
  ca?: string
  /** PEM of a client certificate and its key. */
  cert?: string
  key?: string
  /** ALPN protocols, in order of preference; the server selects one, or none (`alpnProtocol` of the socket). */
  protocols?: string[]
}

export class TlsError extends Error {
  readonly failure: TlsFailure

  constructor(failure: TlsFailure) {
    super(`tls: ${failure}`)
    this.name = 'TlsError'
    this.failure = failure
  }
}

/** Rejects with a TlsError. */
export function secure(socket: Socket, host: string, options: TlsOptions = {}): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const fail = (failure: TlsFailure): void => {
      secured?.destroy()
      reject(new TlsError(failure))
    }
    let secured: TLSSocket | undefined
    try {
      secured = connect({
        socket,
        host,
        secureContext: contextOf(options),
        // Overrides NODE_TLS_REJECT_UNAUTHORIZED.
        rejectUnauthorized: true,
        ...(options.protocols ? { ALPNProtocols: options.protocols } : {}),
        ...(isIP(host) === 0 ? { servername: host } : {}),
      })
    } catch {
      // The client certificate or key is invalid.
      return fail('client refused')
    }
    secured.once('secureConnect', () => resolve(secured!))
    // Errors after the handshake are reported by the user of the socket; here they only need a listener.
    secured.on('error', (error: NodeJS.ErrnoException) => fail(tlsFailureOf(error.code)))
    secured.once('close', () => fail('no tls'))
  })
}

/** The default authorities plus these. */
export function trustWith(more: string | undefined): { ca?: string } {
  if (more === undefined) return {}
  ownAuthorities ??= getCACertificates('default').join('\n')
  return { ca: `${ownAuthorities}\n${more}` }
}
let ownAuthorities: string | undefined

/** Cached by authorities: parsing hundreds of certificates blocks for tens of milliseconds. */
const contexts = new Map<string, SecureContext>()
const maxContexts = 50

function contextOf(options: TlsOptions): SecureContext {
  const { ca = '', cert, key } = options
  if (cert !== undefined || key !== undefined) return createSecureContext(options)
  const known = contexts.get(ca)
  if (known) return known
  const made = createSecureContext(ca === '' ? {} : { ca })
  const oldest = contexts.keys().next().value
  if (contexts.size >= maxContexts && oldest !== undefined) contexts.delete(oldest)
  contexts.set(ca, made)
  return made
}

const expired = ['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID']
/** Certificate errors of OpenSSL have many code names; Node's own codes and system codes begin like this. */
const notOfCertificate = /^(?:ERR_|E[A-Z]+$)/

/** Classifies an error code; also for clients with their own TLS connections. */
export function tlsFailureOf(code: string | undefined): TlsFailure {
  if (code === undefined) return 'no tls'
  if (expired.includes(code)) return 'expired'
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return 'other host'
  if (!notOfCertificate.test(code)) return 'untrusted'
  if (
    /ALERT_(?:BAD_CERTIFICATE|UNKNOWN_CA|CERTIFICATE|UNSUPPORTED_CERTIFICATE|NO_CERTIFICATE|ACCESS_DENIED)/.test(code)
  ) {
    return 'client refused'
  }
  return 'no tls'
}
