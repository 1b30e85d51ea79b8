// Failure tables, and the failures that every kind of source can have.
import { denialReasons, EgressError, howToAllowLoopback } from '../lib/egress.ts'
import type { ProbeStep } from '../source-shapes/probe.ts'
import { type FailureCode, ProbeFailure } from '../source-shapes/source-failure.ts'

/** A failure as data: code, reason, remedy, and the field and step if they differ from those of the table. */
type FailureRow = readonly [FailureCode, reason: string, remedy: string, field?: string | undefined, step?: ProbeStep]

/** Names in braces, which stand for values. */
type Names<Text> = Text extends `${string}{${infer Name}}${infer More}` ? Name | Names<More> : never
type Values<Text> = Record<Names<Text>, string | number | bigint> & { step?: ProbeStep }

/** Returns a function that makes the failure of a key. The texts can have names in braces; the values are given for each failure. */
export function failureTable<
  const Step extends ProbeStep | '{step}',
  const Field extends string | undefined,
  const Rows extends Record<string, FailureRow>,
>(
  tableStep: Step,
  tableField: Field,
  rows: Rows,
): <Key extends keyof Rows>(key: Key, values: Values<Step | Field | Rows[Key][number]>) => ProbeFailure {
  return (key, values) => {
    const fill = (text: string): string =>
      text.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name as keyof typeof values]))
    const [code, reason, remedy, field = tableField, step = fill(tableStep) as ProbeStep] = rows[key]!
    const filled = { step, code, reason: fill(reason), remedy: fill(remedy) }
    return new ProbeFailure(field === undefined ? filled : { ...filled, field: fill(field) })
  }
}

const connectionFailure = failureTable('{step}', '{field}', {
  denied: ['address_denied', '{target} {denial}', 'use the address of the source'],
  loopback: ['address_denied', '{target} {denial}', howToAllowLoopback],
  unresolved: ['host_unknown', 'the host name of {target} does not resolve', 'check its spelling'],
  refused: ['connection_refused', 'nothing accepts connections at {target}', 'check host and port'],
  unreachable: ['host_unreachable', 'there is no way to {target}', 'check host, network and firewalls'],
  'timed out': ['timed_out', '{target} did not answer in time', 'check host, port and firewalls'],
  broken: ['protocol_mismatch', '{target} broke the connection off', 'check that this is the right port'],
  expired: [
    'certificate_expired',
    '{target} shows a certificate that is not valid at this time',
    'renew the certificate of the server, or check the clock of this machine',
  ],
  untrusted: [
    'certificate_untrusted',
    '{target} shows a certificate that no trusted authority has signed',
    'send the certificate of the authority that signed it as caCertificate, or use a certificate that everyone trusts',
  ],
  'other host': [
    'certificate_of_other_host',
    '{target} shows a certificate for another host',
    'use the name that stands in the certificate of the server',
  ],
  'client refused': [
    'credentials_refused',
    '{target} refused our certificate, or asks for one that it was not given',
    'check the client certificate and its key',
  ],
  silent: [
    'timed_out',
    '{target} accepts the connection, and does not answer to TLS in time',
    'check the port, and whether the server expects TLS there',
  ],
  'no tls': [
    'tls_refused',
    '{target} does not speak TLS in a way that we can',
    'check the port, and whether the server expects TLS there',
  ],
})

/** Failure of a connection to `target`: a host and port of the user or of the source. */
export function egressFailure(error: EgressError, target: string, field: string): ProbeFailure {
  const { failure, denial, tls = 'no tls' } = error
  const key = failure === 'tls' ? tls : denial === 'loopback' ? denial : failure
  const values = { target, field, denial: denial ? denialReasons[denial] : '' }
  return connectionFailure(key, { ...values, step: failure === 'tls' ? 'tls' : 'connect' })
}

/** For a source without a field for a CA certificate. */
export function withoutOwnAuthority(failure: ProbeFailure): ProbeFailure {
  if (failure.code !== 'certificate_untrusted') return failure
  const remedy =
    'use a certificate that everyone trusts, or the operator of Penstock can add the authority that signed it to PENSTOCK_CA_CERTIFICATES'
  return new ProbeFailure({ ...failure, remedy })
}

/** The ProbeFailure for an error or one of its causes, if it is a ProbeFailure or an EgressError; otherwise undefined. */
export function knownFailure(error: unknown, target: string, field: string): ProbeFailure | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof ProbeFailure) return cause
    if (cause instanceof EgressError) return egressFailure(cause, target, field)
  }
  return undefined
}
