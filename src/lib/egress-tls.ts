// TLS over a connection that the egress has made. Why a handshake fails is what a user must know; OpenSSL tells it in codes.
import { isIP, type Socket } from 'node:net'
import { connect, type TLSSocket } from 'node:tls'

export type TlsFailure = 'expired' | 'untrusted' | 'other host' | 'client refused' | 'no tls'

export interface TlsOptions {
  /** PEM; in place of the authorities that everyone trusts. */
  ca?: string
  /** PEM of a certificate of ours, and its key. */
  cert?: string
  key?: string
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
      secured = connect({ socket, host, ...options, ...(isIP(host) === 0 ? { servername: host } : {}) })
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

const expired = ['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID']
const untrusted = [
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'CERT_REJECTED',
  'CERT_REVOKED',
  'CERT_CHAIN_TOO_LONG',
  'INVALID_CA',
  'INVALID_PURPOSE',
]

/** Also for clients that make TLS connections of their own. */
export function tlsFailureOf(code: string | undefined): TlsFailure {
  if (code === undefined) return 'no tls'
  if (expired.includes(code)) return 'expired'
  if (untrusted.includes(code)) return 'untrusted'
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return 'other host'
  if (
    /ALERT_(?:BAD_CERTIFICATE|UNKNOWN_CA|CERTIFICATE|UNSUPPORTED_CERTIFICATE|NO_CERTIFICATE|ACCESS_DENIED)/.test(code)
  ) {
    return 'client refused'
  }
  return 'no tls'
}
