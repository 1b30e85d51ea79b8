// Contract of a source: the interface to Kafka, Kinesis, object storage and PostgreSQL. One file per kind implements it; callers
// implement loops, limits and retries.
//
// Invariants of every source:
// - It uses the network only through the given `Egress`, also for hosts that the source returns.
// - When the signal is aborted, it stops, closes what it opened, and leaves no timer and no socket.
// - Messages of servers and libraries are never passed on: a failure is classified and described as a `ProbeFailure`.
import type { ObjectToEncode } from '../formats/encode/object-format.ts'
import type { RecordList } from '../formats/encode/record-list.ts'
import type { Egress } from '../lib/egress.ts'
import type { ReversePrivateEndpoints } from '../lib/reverse-private-endpoints.ts'
import type { ProbeResult, ProbeStep } from '../source-shapes/probe.ts'

/** Network access of a source, and its end. */
export interface SourceAccess {
  egress: Egress
  /** Stops the work, also at the time limit of the caller. */
  signal: AbortSignal
}

/** Settings of the operator for sources, and the owner of the source. */
export interface SourceContext {
  /** Sent as external id when a role is assumed, so that other organizations cannot use the role. */
  organizationId: string
  /** The pipe that reads; undefined for a probe. */
  pipeId?: string
  /** PEM of authorities that the operator trusts, in addition to the public ones. */
  caCertificates: string | undefined
  /** Sources without TLS are allowed: passwords and data are then sent in plaintext. */
  allowPlaintext: boolean
  /** Endpoints of AWS services that replace the public ones: `http://host:port`. */
  awsEndpoints: { kinesis?: string; s3?: string; sts?: string }
  /** Of all organizations. Default: none. */
  reversePrivateEndpoints?: ReversePrivateEndpoints
}

export interface ProbeOptions extends SourceAccess {
  /** Maximum number of records, or of rows per table. */
  maxRecords: number
  /** Called when a step begins. An error that is not a ProbeFailure belongs to the last step. */
  begin(step: ProbeStep): void
}

export interface Source {
  /** Runs all steps up to `decode`; the caller runs `fit`. Rejects with a ProbeFailure. */
  probe(options: ProbeOptions): Promise<ProbeResult>
}

/** Position of a partition that is one object or message: all of it is durable. It is kept for some days. */
export const finishedPosition = 'finished'

/** Position of each partition, by name. Only the source knows the format. */
export type Positions = Record<string, string>

/** Part of one partition. The same `from` and `next` always mean the same bytes. */
export interface Batch {
  partition: string
  /** Start position. */
  from: string
  /** Start of the next batch: the position to open with when this batch is durable. */
  next: string
  /** Stream: records in order. */
  records?: RecordList
  /** Object storage: a whole object, as it is stored. */
  object?: ObjectToEncode
  /** Stream: the records between the two positions can no longer be read. Such a batch has no records. */
  lost?: LostRecords
  /** Queue: an unusable message, to be stored with the rejected rows. */
  rejected?: RejectedMessage
  /**
   * Queue: a position of another partition, to be stored when this batch and all earlier ones of the read are claimed. A batch
   * with only a cursor is not claimed.
   */
  cursor?: { partition: string; position: string }
}

export interface LostRecords {
  /** The cause, as a sentence without full stop; the same for all partitions of the topic or stream. */
  reason: string
  /** Number of lost records; undefined: unknown. */
  records?: { atLeast: number } | { atMost: number } | undefined
  /** For a loss that may be detected again: the same key is counted once. */
  key?: string | undefined
}

export interface RejectedMessage {
  /** Origin, for display. */
  position: string
  raw: Uint8Array
  /** Why it is rejected; never a message of a server. */
  reason: string
}

export interface ReadLimits {
  /** Over all batches of one read. A larger object or record is returned alone. */
  maxRecords: number
  maxBytes: number
  /** How long to wait for the first record. A read without records returns an empty list. */
  waitMs: number
  signal: AbortSignal
}

/**
 * Reads from given positions. Not for concurrent callers. `read` and `acknowledge` reject with NotConnected when the connection is
 * lost or the signal is aborted. `read` rejects with EndOfInput when the source is complete, and with a ProbeFailure for errors
 * that only the user can fix.
 */
export interface SourceReader {
  /** At most one batch per partition, alternating between partitions. A reader never returns a batch twice. */
  read(limits: ReadLimits): Promise<Batch[]>
  /** Allows the source to discard data before these positions. Correctness never depends on it: stored positions decide. */
  acknowledge(positions: Positions): Promise<void>
  /** Records or objects that have not been returned, as of the last answers; undefined: unknown. */
  lag(): number | undefined
  /** Deviation from the configuration or postponed work, as the end of a sentence, such as `by polling, because …`. */
  note?(): string | undefined
  /**
   * Queue: makes unfinished messages visible to other readers immediately. Only for a normal stop: after a failure, messages would
   * be delivered again at once and could reach a dead-letter queue. Never rejects; takes about a second at most.
   */
  giveBack?(): Promise<void>
  close(): Promise<void>
}

/** The part of one reader, of `count`. */
export interface Assignment {
  index: number
  count: number
}

/** Restricts what a reader reads. */
export interface Selection {
  /** Reads only the partitions of this assignment. Every partition belongs to exactly one of `count`. */
  assignment?: Assignment
  /**
   * Reads exactly the range from the positions of `open` to these, without other partitions. After that, `read` rejects with
   * EndOfInput.
   */
  until?: Positions
  /**
   * Objects of one partition, with `until`: reads only those with these positions, in this order. They are found by key,
   * regardless of the current pattern of the source.
   */
  only?: string[]
}

export interface ReadableSource extends Source {
  /** A partition without position starts where the configuration says, or at its beginning if its topic or stream has positions. */
  open(positions: Positions, access: SourceAccess, selection?: Selection): Promise<SourceReader>
  /**
   * Records or objects of the assignment after the positions; undefined: unknown. For a worker that is not reading: needs no reader
   * and changes nothing. Left out where the source cannot count.
   */
  measureLag?(positions: Positions, access: SourceAccess, assignment: Assignment): Promise<number | undefined>
}

/** The source no longer matches its description: the caller describes it again and adapts the destination. */
export class SourceChanged extends Error {
  readonly reason: string

  /** `reason`: a sentence without its full stop. */
  constructor(reason: string) {
    super('the source has changed')
    this.name = 'SourceChanged'
    this.reason = reason
  }
}

/** Everything has been read and no more data can follow: the pipe is complete. */
export class EndOfInput extends Error {
  constructor() {
    super('the source has no more input')
    this.name = 'EndOfInput'
  }
}
