// Failures of sources and of their decoders.
import type { ProbeStep } from './probe.ts'

/** Why a step failed. Each code has a different fix. */
export type FailureCode =
  /** Denied by the egress policy of the operator, or not a valid host. */
  | 'address_denied'
  | 'host_unknown'
  | 'connection_refused'
  | 'host_unreachable'
  | 'timed_out'
  /** The server does not support TLS, or rejects the handshake. */
  | 'tls_refused'
  | 'certificate_untrusted'
  | 'certificate_expired'
  | 'certificate_of_other_host'
  /** The server answers, but does not use the expected protocol. */
  | 'protocol_mismatch'
  | 'credentials_refused'
  | 'permission_missing'
  /** The topic, stream, bucket, object, database, table or schema does not exist. */
  | 'not_found'
  | 'wrong_region'
  /** Access works, but the configuration is not sufficient, such as a wal_level that is too low. */
  | 'not_set_up'
  /** The source answers with an internal error or limits the rate. */
  | 'source_failed'
  /** The records do not match `format` and `compression`. */
  | 'undecodable'
  /** The records do not match the columns and mappings of the destination. */
  | 'misfit'

export interface FailureDetails {
  step: ProbeStep
  code: FailureCode
  /** The cause, as the middle of a sentence. May have hosts, names and numbers of the user; never a secret or a message of a server. */
  reason: string
  /** How to fix it, as the middle of a sentence. */
  remedy: string
  /** The field of the source that is the cause, such as `credentials` or `tableMappings[2].sourceTable`. */
  field?: string
  /** Indexes of the table mappings that it concerns. */
  mappings?: number[]
}

/** A step of a probe that failed. */
export class ProbeFailure extends Error implements FailureDetails {
  readonly step: ProbeStep
  readonly code: FailureCode
  readonly reason: string
  readonly remedy: string
  readonly field?: string
  readonly mappings?: number[]

  constructor({ step, code, reason, remedy, field, mappings }: FailureDetails) {
    super(`${step}: ${code}`)
    this.name = 'ProbeFailure'
    this.step = step
    this.code = code
    this.reason = reason
    this.remedy = remedy
    if (field !== undefined) this.field = field
    if (mappings !== undefined) this.mappings = mappings
  }
}

/** Failures that a running worker retries; the user must fix all others. */
export const transientFailures: readonly FailureCode[] = [
  'host_unknown',
  'connection_refused',
  'host_unreachable',
  'timed_out',
  'protocol_mismatch',
  'source_failed',
]

/** The connection was lost or not established: close the reader, back off, and open another one at the last durable positions. */
export class NotConnected extends Error {
  /** What cannot be reached, if it is not the source itself, such as `the schema registry`. */
  readonly unreachable?: string

  /** `cause`: the failure, if known. */
  constructor(place?: string, cause?: ProbeFailure) {
    super('the source is not connected', { cause })
    this.name = 'NotConnected'
    if (place !== undefined) this.unreachable = place
  }
}
