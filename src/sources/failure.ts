// Failures that every kind of source has, in our own words.
import { denialReasons, EgressError, howToAllowLoopback, type TlsFailure } from '../lib/egress.ts'
import { type FailureCode, ProbeFailure, type ProbeStep } from './source.ts'

/** Failures that pass by themselves while something runs: the rest is for the user to mend. */
export const passingFailures: readonly FailureCode[] = [
  'host_unknown',
  'connection_refused',
  'host_unreachable',
  'timed_out',
  'protocol_mismatch',
  'source_failed',
]

const tlsFailures: Record<TlsFailure, { code: FailureCode; reason: string; remedy: string }> = {
  expired: {
    code: 'certificate_expired',
    reason: 'shows a certificate that is not valid at this time',
    remedy: 'renew the certificate of the server, or check the clock of this machine',
  },
  untrusted: {
    code: 'certificate_untrusted',
    reason: 'shows a certificate that no trusted authority has signed',
    remedy:
      'send the certificate of the authority that signed it as caCertificate, or use a certificate that everyone trusts',
  },
  'other host': {
    code: 'certificate_of_other_host',
    reason: 'shows a certificate for another host',
    remedy: 'use the name that stands in the certificate of the server',
  },
  'client refused': {
    code: 'credentials_refused',
    reason: 'refused our certificate, or asks for one that it was not given',
    remedy: 'check the client certificate and its key',
  },
  silent: {
    code: 'timed_out',
    reason: 'accepts the connection, and does not answer to TLS in time',
    remedy: 'check the port, and whether the server expects TLS there',
  },
  'no tls': {
    code: 'tls_refused',
    reason: 'does not speak TLS in a way that we can',
    remedy: 'check the port, and whether the server expects TLS there',
  },
}

/** What went wrong on the way to `place`, which is a host and port that the user gave or the source named. */
export function egressFailure(error: EgressError, place: string, field: string): ProbeFailure {
  const step: ProbeStep = error.failure === 'tls' ? 'tls' : 'connect'
  const failed = (code: FailureCode, reason: string, remedy: string): ProbeFailure =>
    new ProbeFailure({ step, code, reason, remedy, field })
  switch (error.failure) {
    case 'denied': {
      const remedy = error.denial === 'loopback' ? howToAllowLoopback : 'use the address of the source'
      return failed('address_denied', `${place} ${denialReasons[error.denial!]}`, remedy)
    }
    case 'unresolved':
      return failed('host_unknown', `the host name of ${place} does not resolve`, 'check its spelling')
    case 'refused':
      return failed('connection_refused', `nothing accepts connections at ${place}`, 'check host and port')
    case 'timed out':
      return failed('timed_out', `${place} did not answer in time`, 'check host, port and firewalls')
    case 'tls': {
      const { code, reason, remedy } = tlsFailures[error.tls ?? 'no tls']
      return failed(code, `${place} ${reason}`, remedy)
    }
    case 'broken':
      return failed('protocol_mismatch', `${place} broke the connection off`, 'check that this is the right port')
    default:
      return failed('host_unreachable', `there is no way to ${place}`, 'check host, network and firewalls')
  }
}

/** The ProbeFailure that the error is, or that an EgressError in it (or in one of its causes) stands for; otherwise undefined. */
export function knownFailure(error: unknown, place: string, field: string): ProbeFailure | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof ProbeFailure) return cause
    if (cause instanceof EgressError) return egressFailure(cause, place, field)
  }
  return undefined
}
