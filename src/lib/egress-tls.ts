// TLS over a connection that the egress has made. Why a handshake fails is what a user must know; OpenSSL tells it in codes.
import { isIP, type Socket } from 'node:net'
import { connect, createSecureContext, getCACertificates, type SecureContext, type TLSSocket } from 'node:tls'

export type TlsFailure = 'expired' | 'untrusted' | 'other host' | 'client refused' | 'no tls' | 'silent'

export interface TlsOptions {
  /** PEM; in place of the authorities that everyone trusts. */
  ca?: string
  /** PEM of a certificate of ours, and its key. */
  cert?: string
  key?: string
  /** What to speak, in order of preference; the other side chooses one, or none (`alpnProtocol` of the socket). */
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
        // Also where the environment of the process says otherwise.
        rejectUnauthorized: true,
        ...(options.protocols ? { ALPNProtocols: options.protocols } : {}),
        ...(isIP(host) === 0 ? { servername: host } : {}),
      })
    } catch {
      // A certificate or a key that is no such thing.
      return fail('client refused')
    }
    secured.once('secureConnect', () => resolve(secured!))
    // Also later: an error after this promise has been kept is told by whoever uses the socket.
    secured.on('error', (error: NodeJS.ErrnoException) => fail(tlsFailureOf(error.code)))
    secured.once('close', () => fail('no tls'))
  })
}

/** The authorities that this process trusts anyway, and these. */
export function trustWith(more: string | undefined): { ca?: string } {
  if (more === undefined) return {}
  ownAuthorities ??= getCACertificates('default').join('\n')
  return { ca: `${ownAuthorities}\n${more}` }
}
let ownAuthorities: string | undefined

/** By their authorities. To read hundreds of certificates takes tens of milliseconds, in which nothing else is done. */
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
/** What OpenSSL finds wrong with a certificate has codes of many names; Node's own and those of the system begin like this. */
const notOfCertificate = /^(?:ERR_|E[A-Z]+$)/

/** Also for clients that make TLS connections of their own. */
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
