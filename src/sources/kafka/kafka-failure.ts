// Maps error codes of Kafka and broken connections to ProbeFailures that users can act on.
import { EgressError } from '../../lib/egress.ts'
import { tlsFailureOf } from '../../lib/egress-tls.ts'
import { isHost } from '../../lib/host.ts'
import type { ProbeStep } from '../../source-shapes/probe.ts'
import { egressFailure } from '../failure.ts'
import { type FailureDetails, NotConnected, ProbeFailure } from '../source.ts'
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

/** The broker could not be reached. */
export function connectFailure(error: EgressError, address: BrokerAddress, hasCertificate: boolean): ProbeFailure {
  const { step, code, reason, remedy } = egressFailure(error, addressText(address), 'brokers')
  if (error.tls === 'client refused') return clientRefused(error, address, hasCertificate)
  const field = error.tls === 'untrusted' ? 'caCertificate' : 'brokers'
  if (error.tls || !address.isAdvertised) return failureFrom(error, { step, code, reason, remedy, field })
  const allow = error.denial === 'loopback' ? `, or ${remedy}` : ''
  const advertise = `let advertised.listeners of the brokers name addresses that Penstock can reach${allow}`
  return failureFrom(error, { step, code, reason, remedy: advertise, field })
}

function clientRefused(cause: Error, address: BrokerAddress, hasCertificate: boolean): ProbeFailure {
  if (hasCertificate) {
    return failureFrom(cause, {
      step: 'authenticate',
      code: 'credentials_refused',
      reason: `${addressText(address)} refused the client certificate`,
      remedy: 'send a certificate and its key that an authority trusted by the brokers has signed',
      field: 'credentials',
    })
  }
  return failureFrom(cause, {
    step: 'authenticate',
    code: 'credentials_refused',
    reason: `${addressText(address)} asks for a client certificate`,
    remedy: 'set authentication to MUTUAL_TLS, or use the port that takes a user name and a password',
    field: 'authentication',
  })
}

function isRefusal({ code }: WireError): boolean {
  return tlsFailureOf(code) === 'client refused'
}

/** The ApiVersions request failed. */
export function apiVersionsFailure(error: WireError, address: BrokerAddress, hasCertificate: boolean): ProbeFailure {
  const { failure } = error
  // With TLS 1.3 the broker rejects our certificate only after the handshake.
  if (isRefusal(error) || (hasCertificate && failure === 'closed')) return clientRefused(error, address, hasCertificate)
  if (failure === 'timed out') return timedOut(error, address, 'connect')
  return failureFrom(error, {
    step: 'connect',
    code: 'protocol_mismatch',
    reason: `what answers at ${addressText(address)} is not Kafka`,
    remedy: 'check that this is the port of a Kafka broker',
    field: 'brokers',
  })
}

function timedOut(cause: Error, address: BrokerAddress, step: ProbeStep): ProbeFailure {
  return failureFrom(cause, {
    step,
    code: 'timed_out',
    reason: `${addressText(address)} did not answer in time`,
    remedy: 'check that the brokers are reachable and not overloaded',
    field: 'brokers',
  })
}

/** The connection broke during SaslHandshake. */
export function handshakeBroken(error: WireError, address: BrokerAddress): ProbeFailure {
  if (error.failure !== 'closed') return loginUnanswered(error, address)
  return failureFrom(error, {
    step: 'authenticate',
    code: 'not_set_up',
    reason: `${addressText(address)} ended the connection when it was asked for a login`,
    remedy: 'use the port of the brokers that asks for a login',
    field: 'authentication',
  })
}

/** The connection broke during SaslAuthenticate. */
export function loginBroken(error: WireError, address: BrokerAddress): ProbeFailure {
  if (error.failure !== 'closed') return loginUnanswered(error, address)
  return failureFrom(error, {
    step: 'authenticate',
    code: 'credentials_refused',
    reason: `${addressText(address)} ended the connection when it was given the credentials`,
    remedy: 'check the user name, the password and the authentication that the broker expects',
    field: 'credentials',
  })
}

function loginUnanswered(error: WireError, address: BrokerAddress): ProbeFailure {
  if (error.failure === 'timed out') return timedOut(error, address, 'authenticate')
  return failureFrom(error, {
    step: 'authenticate',
    code: 'protocol_mismatch',
    reason: `${addressText(address)} answered the login with something that cannot be read`,
    remedy: 'check that this is the port of a Kafka broker, and look at its log',
    field: 'brokers',
  })
}

/** The connection broke after the login. */
export function brokenFailure(error: WireError, step: ProbeStep): ProbeFailure {
  if (error.failure === 'timed out') {
    return failureFrom(error, {
      step,
      code: 'timed_out',
      reason: 'the brokers did not answer in time',
      remedy: 'check that the brokers are reachable and not overloaded',
      field: 'brokers',
    })
  }
  return failureFrom(error, {
    step,
    code: 'source_failed',
    reason: 'a broker broke the connection off, or answered with something that cannot be read',
    remedy: 'look at the logs of the brokers, and try again',
    field: 'brokers',
  })
}

export function topicFailure(code: number, topic: string, step: 'describe' | 'read'): ProbeFailure {
  const field = 'topics'
  switch (code) {
    case kafkaErrors.unknownTopicOrPartition:
    case kafkaErrors.invalidTopic:
      return new ProbeFailure({
        step,
        code: 'not_found',
        reason: `there is no topic "${topic}"`,
        remedy: 'check the spelling, or create the topic',
        field,
      })
    case kafkaErrors.topicAuthorizationFailed:
    case kafkaErrors.clusterAuthorizationFailed:
      return new ProbeFailure({
        step,
        code: 'permission_missing',
        reason: `the user may not ${step} the topic "${topic}"`,
        remedy: 'give the user the operations Describe and Read on the topic',
        field,
      })
    case kafkaErrors.unsupportedCompression:
      return new ProbeFailure({
        step,
        code: 'not_set_up',
        reason: `the topic "${topic}" is compressed in a way that its broker does not hand out to us`,
        remedy: 'use a broker of version 2.3 or later, or another compression',
        field,
      })
    default:
      return new ProbeFailure({
        step,
        code: 'source_failed',
        reason: `the brokers answered error ${code} for the topic "${topic}"`,
        remedy: 'look at the state of the topic and at the logs of the brokers, and try again',
        field,
      })
  }
}

export function unreadableFailure(topic: string, partition: number, offset: bigint): ProbeFailure {
  return new ProbeFailure({
    step: 'read',
    code: 'undecodable',
    reason: `the records from offset ${offset} on in partition ${partition} of the topic "${topic}" are damaged, of a format from before Kafka 0.11, too large when decompressed, or have more than 10,000 headers each`,
    remedy: 'delete these records, or produce them again in smaller batches and with fewer headers',
    field: 'topics',
  })
}

export function noLeader(topic: string, partition: number): ProbeFailure {
  return new ProbeFailure({
    step: 'describe',
    code: 'source_failed',
    reason: `partition ${partition} of the topic "${topic}" has no leader`,
    remedy: 'check that all brokers of the cluster are running',
    field: 'topics',
  })
}

export function groupDenied(group: string): ProbeFailure {
  return new ProbeFailure({
    step: 'describe',
    code: 'permission_missing',
    reason: `the user may not use the consumer group "${group}"`,
    remedy: 'give the user the operations Describe and Read on the group, or name another consumerGroup',
    field: 'consumerGroup',
  })
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
