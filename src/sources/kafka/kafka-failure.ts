// Maps error codes of Kafka and broken connections to ProbeFailures that users can act on.
import { EgressError } from '../../lib/egress.ts'
import { tlsFailureOf } from '../../lib/egress-tls.ts'
import { isHost } from '../../lib/host.ts'
import type { ProbeStep } from '../../source-shapes/probe.ts'
import type { FailureDetails } from '../../source-shapes/source-failure.ts'
import { NotConnected, ProbeFailure } from '../../source-shapes/source-failure.ts'
import { egressFailure, failureTable } from '../failure.ts'
import { WireError } from './kafka-wire.ts'

/** Error codes of the protocol. */
export const kafkaErrors = {
  offsetOutOfRange: 1,
  corruptMessage: 2,
  unknownTopicOrPartition: 3,
  leaderNotAvailable: 5,
  coordinatorLoading: 14,
  coordinatorNotAvailable: 15,
  notCoordinator: 16,
  invalidTopic: 17,
  topicAuthorizationFailed: 29,
  groupAuthorizationFailed: 30,
  clusterAuthorizationFailed: 31,
  unsupportedSaslMechanism: 33,
  saslAuthenticationFailed: 58,
  unsupportedCompression: 76,
} as const

/** Retriable errors while the brokers elect a leader, such as 6: NOT_LEADER_OR_FOLLOWER. */
export const retriableErrors: readonly number[] = [3, 5, 6, 7, 8, 9, 13, 56, 74, 75, 78, 100, 103]

/** Host and port of a broker. */
export interface BrokerAddress {
  host: string
  port: number
  /** From broker metadata, not from the user. */
  isAdvertised: boolean
}

export function addressText({ host, port, isAdvertised }: BrokerAddress): string {
  // A broker can advertise any text.
  if (!isHost(host)) return 'what the brokers advertise as their host'
  const hostAndPort = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
  return isAdvertised ? `${hostAndPort} (advertised by the brokers)` : hostAndPort
}

/** Keeps the cause: it decides whether the failure is temporary. */
export function failureFrom(cause: unknown, details: FailureDetails): ProbeFailure {
  return Object.assign(new ProbeFailure(details), { cause })
}

const brokerFailure = failureTable('{step}', 'brokers', {
  notKafka: [
    'protocol_mismatch',
    'what answers at {address} is not Kafka',
    'check that this is the port of a Kafka broker',
  ],
  'timed out': [
    'timed_out',
    '{address} did not answer in time',
    'check that the brokers are reachable and not overloaded',
  ],
  broken: [
    'source_failed',
    'a broker broke the connection off, or answered with something that cannot be read',
    'look at the logs of the brokers, and try again',
  ],
})

const loginFailure = failureTable('authenticate', 'credentials', {
  certificateRefused: [
    'credentials_refused',
    '{address} refused the client certificate',
    'send a certificate and its key that an authority trusted by the brokers has signed',
  ],
  certificateMissing: [
    'credentials_refused',
    '{address} asks for a client certificate',
    'set authentication to MUTUAL_TLS, or use the port that takes a user name and a password',
    'authentication',
  ],
  handshakeClosed: [
    'not_set_up',
    '{address} ended the connection when it was asked for a login',
    'use the port of the brokers that asks for a login',
    'authentication',
  ],
  loginClosed: [
    'credentials_refused',
    '{address} ended the connection when it was given the credentials',
    'check the user name, the password and the authentication that the broker expects',
  ],
  garbled: [
    'protocol_mismatch',
    '{address} answered the login with something that cannot be read',
    'check that this is the port of a Kafka broker, and look at its log',
    'brokers',
  ],
})

export const kafkaFailure = failureTable('{step}', 'topics', {
  missing: ['not_found', 'there is no topic "{topic}"', 'check the spelling, or create the topic'],
  denied: [
    'permission_missing',
    'the user may not {step} the topic "{topic}"',
    'give the user the operations Describe and Read on the topic',
  ],
  compressed: [
    'not_set_up',
    'the topic "{topic}" is compressed with a codec that its broker does not send to this client',
    'use a broker of version 2.3 or later, or another compression',
  ],
  failed: [
    'source_failed',
    'the brokers answered error {errorCode} for the topic "{topic}"',
    'look at the state of the topic and at the logs of the brokers, and try again',
  ],
  leaderless: [
    'source_failed',
    'partition {partition} of the topic "{topic}" has no leader',
    'check that all brokers of the cluster are running',
  ],
  unreadable: [
    'undecodable',
    'the records from offset {offset} on in partition {partition} of the topic "{topic}" are damaged, of a format from before Kafka 0.11, too large when decompressed, or have more than 10,000 headers each',
    'delete these records, or produce them again in smaller batches and with fewer headers',
  ],
  groupDenied: [
    'permission_missing',
    'the user may not use the consumer group "{group}"',
    'give the user the operations Describe and Read on the group, or name another consumerGroup',
    'consumerGroup',
  ],
})

/** The broker could not be reached. */
export function connectFailure(error: EgressError, address: BrokerAddress, hasCertificate: boolean): ProbeFailure {
  if (error.tls === 'client refused') return clientRefused(error, address, hasCertificate)
  const failure = egressFailure(error, addressText(address), error.tls === 'untrusted' ? 'caCertificate' : 'brokers')
  if (error.tls || !address.isAdvertised) return failureFrom(error, failure)
  const allow = error.denial === 'loopback' ? `, or ${failure.remedy}` : ''
  const remedy = `let advertised.listeners of the brokers name addresses that Penstock can reach${allow}`
  return failureFrom(error, { ...failure, remedy })
}

function clientRefused(cause: Error, address: BrokerAddress, hasCertificate: boolean): ProbeFailure {
  const key = hasCertificate ? 'certificateRefused' : 'certificateMissing'
  return failureFrom(cause, loginFailure(key, { address: addressText(address) }))
}

function isRefusal({ code }: WireError): boolean {
  return tlsFailureOf(code) === 'client refused'
}

/** The ApiVersions request failed. */
export function apiVersionsFailure(error: WireError, address: BrokerAddress, hasCertificate: boolean): ProbeFailure {
  const { failure } = error
  // With TLS 1.3 the broker rejects our certificate only after the handshake.
  if (isRefusal(error) || (hasCertificate && failure === 'closed')) return clientRefused(error, address, hasCertificate)
  const key = failure === 'timed out' ? failure : 'notKafka'
  return failureFrom(error, brokerFailure(key, { step: 'connect', address: addressText(address) }))
}

/** The connection broke during SaslHandshake or SaslAuthenticate. */
export function loginBroken(
  error: WireError,
  address: BrokerAddress,
  closed: 'handshakeClosed' | 'loginClosed',
): ProbeFailure {
  const values = { step: 'authenticate', address: addressText(address) } as const
  if (error.failure === 'timed out') return failureFrom(error, brokerFailure('timed out', values))
  return failureFrom(error, loginFailure(error.failure === 'closed' ? closed : 'garbled', values))
}

/** The connection broke after the login. */
export function brokenFailure(error: WireError, step: ProbeStep): ProbeFailure {
  const key = error.failure === 'timed out' ? error.failure : 'broken'
  return failureFrom(error, brokerFailure(key, { step, address: 'the brokers' }))
}

const topicErrors: Record<number, 'missing' | 'denied' | 'compressed'> = {
  [kafkaErrors.unknownTopicOrPartition]: 'missing',
  [kafkaErrors.invalidTopic]: 'missing',
  [kafkaErrors.topicAuthorizationFailed]: 'denied',
  [kafkaErrors.clusterAuthorizationFailed]: 'denied',
  [kafkaErrors.unsupportedCompression]: 'compressed',
}

export function topicFailure(errorCode: number, topic: string, step: 'describe' | 'read'): ProbeFailure {
  return kafkaFailure(topicErrors[errorCode] ?? 'failed', { step, topic, errorCode })
}

/** Maps an error for a reader: NotConnected, so that the caller retries, unless only the user can fix it. */
export function readerError(error: unknown): unknown {
  if (error instanceof WireError) return new NotConnected()
  if (!(error instanceof ProbeFailure)) return error
  const { cause, code } = error
  if (cause instanceof WireError) return isRefusal(cause) ? error : new NotConnected(undefined, error)
  if (cause instanceof EgressError) {
    const isLasting =
      cause.failure === 'denied' || (cause.failure === 'tls' && cause.tls !== 'no tls' && cause.tls !== 'silent')
    return isLasting ? error : new NotConnected(undefined, error)
  }
  return code === 'source_failed' ? new NotConnected(undefined, error) : error
}
