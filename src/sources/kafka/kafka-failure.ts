// Failures of Kafka in our own words: what its error codes and broken connections mean to whoever set the source up.
import { EgressError } from '../../lib/egress.ts'
import { tlsFailureOf } from '../../lib/egress-tls.ts'
import { isHost } from '../../lib/host.ts'
import { egressFailure } from '../failure.ts'
import { type FailureDetails, NotConnected, ProbeFailure, type ProbeStep } from '../source.ts'
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

/** What ends when the brokers have agreed on who leads a partition, such as 6: not the leader. */
export const passingErrors: readonly number[] = [3, 5, 6, 7, 8, 9, 13, 56, 74, 75, 78, 100, 103]

/** Where a broker is. */
export interface BrokerAddress {
  host: string
  port: number
  /** The brokers named it; the user did not. */
  isAdvertised: boolean
}

export function placeText({ host, port, isAdvertised }: BrokerAddress): string {
  // What a broker says of itself may be any text.
  if (!isHost(host)) return 'what the brokers advertise as their host'
  const place = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
  return isAdvertised ? `${place} (advertised by the brokers)` : place
}

/** A failure that knows what it came from: whether it can pass by itself depends on that. */
export function failureFrom(cause: unknown, details: FailureDetails): ProbeFailure {
  return Object.assign(new ProbeFailure(details), { cause })
}

/** The way to the broker failed. */
export function wayFailure(error: EgressError, place: BrokerAddress, hasCertificate: boolean): ProbeFailure {
  const { step, code, reason, remedy } = egressFailure(error, placeText(place), 'brokers')
  if (error.tls === 'client refused') return clientRefused(error, place, hasCertificate)
  const field = error.tls === 'untrusted' ? 'caCertificate' : 'brokers'
  if (error.tls || !place.isAdvertised) return failureFrom(error, { step, code, reason, remedy, field })
  const allow = error.denial === 'loopback' ? `, or ${remedy}` : ''
  const advertise = `let advertised.listeners of the brokers name addresses that Penstock can reach${allow}`
  return failureFrom(error, { step, code, reason, remedy: advertise, field })
}

function clientRefused(cause: Error, place: BrokerAddress, hasCertificate: boolean): ProbeFailure {
  if (hasCertificate) {
    return failureFrom(cause, {
      step: 'authenticate',
      code: 'credentials_refused',
      reason: `${placeText(place)} refused the client certificate`,
      remedy: 'send a certificate and its key that an authority trusted by the brokers has signed',
      field: 'credentials',
    })
  }
  return failureFrom(cause, {
    step: 'authenticate',
    code: 'credentials_refused',
    reason: `${placeText(place)} asks for a client certificate`,
    remedy: 'set authentication to MUTUAL_TLS, or use the port that takes a user name and a password',
    field: 'authentication',
  })
}

function isRefusal({ code }: WireError): boolean {
  return tlsFailureOf(code) === 'client refused'
}

/** The first answer of a broker did not come, or was none. */
export function helloFailure(error: WireError, place: BrokerAddress, hasCertificate: boolean): ProbeFailure {
  const { failure } = error
  // With TLS 1.3 a broker judges our certificate after the handshake: a refusal is the first that we hear of it.
  if (isRefusal(error) || (hasCertificate && failure === 'closed')) return clientRefused(error, place, hasCertificate)
  if (failure === 'timed out') return timedOut(error, place, 'connect')
  return failureFrom(error, {
    step: 'connect',
    code: 'protocol_mismatch',
    reason: `what answers at ${placeText(place)} is not Kafka`,
    remedy: 'check that this is the port of a Kafka broker',
    field: 'brokers',
  })
}

function timedOut(cause: Error, place: BrokerAddress, step: ProbeStep): ProbeFailure {
  return failureFrom(cause, {
    step,
    code: 'timed_out',
    reason: `${placeText(place)} did not answer in time`,
    remedy: 'check that the brokers are reachable and not overloaded',
    field: 'brokers',
  })
}

/** The connection broke when the broker was asked for a login. */
export function handshakeBroken(error: WireError, place: BrokerAddress): ProbeFailure {
  if (error.failure !== 'closed') return loginUnanswered(error, place)
  return failureFrom(error, {
    step: 'authenticate',
    code: 'not_set_up',
    reason: `${placeText(place)} ended the connection when it was asked for a login`,
    remedy: 'use the port of the brokers that asks for a login',
    field: 'authentication',
  })
}

/** The connection broke while the broker was to check who we are. */
export function loginBroken(error: WireError, place: BrokerAddress): ProbeFailure {
  if (error.failure !== 'closed') return loginUnanswered(error, place)
  return failureFrom(error, {
    step: 'authenticate',
    code: 'credentials_refused',
    reason: `${placeText(place)} ended the connection when it was given the credentials`,
    remedy: 'check the user name, the password and the authentication that the broker expects',
    field: 'credentials',
  })
}

function loginUnanswered(error: WireError, place: BrokerAddress): ProbeFailure {
  if (error.failure === 'timed out') return timedOut(error, place, 'authenticate')
  return failureFrom(error, {
    step: 'authenticate',
    code: 'protocol_mismatch',
    reason: `${placeText(place)} answered the login with something that cannot be read`,
    remedy: 'check that this is the port of a Kafka broker, and look at its log',
    field: 'brokers',
  })
}

/** The connection broke after the broker had let us in. */
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
    remedy: 'delete these records, or write them anew in smaller batches and with fewer headers',
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

/** For a reader: whoever reads on waits and opens again unless only the user can mend it. */
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
