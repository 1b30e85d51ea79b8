// The contract of a source: everything that Penstock asks of Kafka, Kinesis, object storage and PostgreSQL, and nothing of how
// they do it. One file per kind keeps it; the loops, limits and retries around it are written once, by those who call.
//
// What must stay true of every source:
// - It reaches the network through the `Egress` it is given, and through nothing else; also hosts that the source itself names.
// - It stops when the signal is aborted, closes what it opened, and leaves no timer and no socket behind.
// - What a foreign server or library says never leaves: it is judged, and told in our own words (`ProbeFailure`).
import type { Readable } from 'node:stream'
import type { Egress } from '../lib/egress.ts'
import type { ReversePrivateEndpoints } from '../lib/reverse-private-endpoints.ts'

/** What a probe does, in this order. `tls` and `authenticate` are left out where a source has none. */
export const probeSteps = ['connect', 'tls', 'authenticate', 'describe', 'read', 'decode', 'fit'] as const
export type ProbeStep = (typeof probeSteps)[number]

/** Why a step failed. Two of them never mean the same thing: a user must know what to mend. */
export type FailureCode =
  /** The operator's egress policy, or a host that is none. */
  | 'address_denied'
  | 'host_unknown'
  | 'connection_refused'
  | 'host_unreachable'
  | 'timed_out'
  /** The other side does not speak TLS, or will not with us. */
  | 'tls_refused'
  | 'certificate_untrusted'
  | 'certificate_expired'
  | 'certificate_of_other_host'
  /** Something answers, but it is not what the source says it is. */
  | 'protocol_mismatch'
  | 'credentials_refused'
  | 'permission_missing'
  /** The topic, stream, bucket, object, database, table or schema does not exist. */
  | 'not_found'
  | 'wrong_region'
  /** It is there and lets us in, but is not set up for this, such as a wal_level that is too low. */
  | 'not_set_up'
  /** The source answers with an error of its own, or asks us to slow down. */
  | 'source_failed'
  /** The records are not what `format` and `compression` say. */
  | 'undecodable'
  /** The records do not have what the columns and mappings of the destination need. */
  | 'misfit'

export interface FailureDetails {
  step: ProbeStep
  code: FailureCode
  /** What is wrong, as the middle of a sentence. Hosts, names and numbers that the user gave; never a secret, never a foreign message. */
  reason: string
  /** What to do about it, as the middle of a sentence. */
  remedy: string
  /** The field of the source to look at, such as `credentials` or `tableMappings[2].sourceTable`. */
  field?: string
  /** Of the table mappings that it concerns, where it is about tables: their places in the list. */
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

/** A field as the records have it. */
export interface SourceField {
  name: string
  /** A type of the engine that holds every value that was seen or that the format declares, such as `Nullable(Int64)`. */
  type: string
  /** Some records are without it, or have null. `type` is then Nullable where the engine allows that. */
  isOptional: boolean
}

/**
 * A record by the names of its fields. A value is null, a boolean, a number, a bigint, a string, a Date, a Uint8Array, or a
 * list or an object of such values.
 */
export type Row = Record<string, unknown>

/** A table of PostgreSQL that a sample was taken of. */
export interface SampledTable {
  sourceSchemaName: string
  sourceTable: string
  /** Columns; empty when the table has no primary key. */
  primaryKey: string[]
}

/** What was read. A source without records gives no rows, and no fields unless its format or catalogue declares them. */
export interface Sample {
  fields: SourceField[]
  rows: Row[]
  /** Only of PostgreSQL, which gives one sample for each mapping. */
  table?: SampledTable
}

export interface ProbeResult {
  /** One; of PostgreSQL one for each table mapping. */
  samples: Sample[]
  /** Only of PostgreSQL: the tables that could be mapped, in order of schema and name; the first 1,000. */
  tables?: SampledTable[]
}

/** How a source reaches the world, and for how long. */
export interface SourceAccess {
  egress: Egress
  /** Ends the work. Whoever calls puts the time limit in it. */
  signal: AbortSignal
}

/** What the operator of this Penstock has set for sources, and whose source it is. Given to the maker of each source. */
export interface SourceContext {
  /** Sent to the cloud as external id with every role that is assumed: a role of one organization must not serve another. */
  organizationId: string
  /** The pipe that reads; undefined where a source is only looked at. */
  pipeId?: string
  /** PEM of authorities that the operator trusts beside those that everyone trusts. */
  caCertificates: string | undefined
  /** A source that does not speak TLS may be used without: passwords and data cross the network in the clear. */
  allowPlaintext: boolean
  /** Where services of the cloud are, in place of their public addresses: `http://host:port`. */
  awsEndpoints: { kinesis?: string; s3?: string; sts?: string }
  /** Ways to sources in other networks, of all organizations. None unless given. */
  reversePrivateEndpoints?: ReversePrivateEndpoints
}

export interface ProbeOptions extends SourceAccess {
  /** Most records, or rows of each table, to read. */
  maxRecords: number
  /** Called when a step begins: what fails without a ProbeFailure, failed in the step that began last. */
  begin(step: ProbeStep): void
}

export interface Source {
  /** Everything up to `decode`; whether it fits the destination is judged by whoever calls. Rejects with a ProbeFailure. */
  probe(options: ProbeOptions): Promise<ProbeResult>
}

/** Of a partition that is an object, or a message, of its own: all of it is durable. It is remembered for some days. */
export const finishedPosition = 'finished'

/** How far each partition has been read, by the name of the partition. What the text means is known to the source alone. */
export type Positions = Record<string, string>

export interface SourceRecord {
  /** As it came, decompressed where the transport compresses. */
  value: Uint8Array
  /** What the transport says of it, by the name of the virtual column: `_topic`, `_partition`, `_offset`, `_timestamp`, `_key`, … */
  meta: Row
}

/** Records in order. A list of objects is one; others make a record when it is asked for, and again each time. */
export interface RecordList extends Iterable<SourceRecord> {
  readonly length: number
  at(index: number): SourceRecord | undefined
  /** Where the values lie, for whoever needs nothing but them: of hundreds of thousands, no object is made. */
  readonly places?: ValueOffsets
  /** Whoever has it will never look at a record, a value or a place again: their memory may be used for others. Need not be called. */
  release?(): void
}

/** Where values lie as pieces of something larger, each by its number. */
export interface ValueOffsets {
  readonly starts: Int32Array
  readonly ends: Int32Array
  /** Those that lie in the same bytes, one behind the other: from the end of the run before, up to and without this one's. */
  readonly runs: readonly ValueRun[]
}

export interface ValueRun {
  readonly bytes: Buffer
  readonly end: number
}

/** A piece of one partition. The same `from` and `next` always stand for the same bytes. */
export interface Batch {
  partition: string
  /** Where it begins. */
  from: string
  /** Where the next one begins: the position to open with after this batch is durable. */
  next: string
  /** Of a stream: records in order. */
  records?: RecordList
  /** Of object storage: a whole object, as it is stored. */
  object?: {
    key: string
    sizeBytes: number
    modifiedAt?: Date | undefined
    open(signal: AbortSignal): Promise<Readable>
  }
  /** Of a stream: what was between the two positions can no longer be read. Such a batch has no records. */
  lost?: LostRecords
  /** Of a queue: a message that leads nowhere, to be kept where refused rows are kept. */
  refused?: RefusedMessage
  /**
   * Of a queue: a position of another partition, to be stored once this batch and all before it in its read are claimed. A batch
   * that has nothing else is not to be claimed.
   */
  cursor?: { partition: string; position: string }
}

export interface LostRecords {
  /** What happened to the topic or stream, as a sentence without its end; the same for all its partitions. */
  reason: string
  /** How many were never read; undefined: unknown. */
  records?: { atLeast: number } | { atMost: number } | undefined
  /** Of what may be found again: what is found under the same key is not counted twice. */
  key?: string | undefined
}

export interface RefusedMessage {
  /** Where it came from, for people. */
  position: string
  raw: Uint8Array
  /** What is wrong with it, in our own words. */
  reason: string
}

export interface ReadLimits {
  /** Of all batches of one read together. An object or a record that is larger comes alone. */
  maxRecords: number
  maxBytes: number
  /** How long to wait for the first record. With nothing to give, a read gives an empty list. */
  waitMs: number
  signal: AbortSignal
}

/**
 * Reads on from given positions. Not for two callers at once. `read` and `acknowledge` reject with NotConnected when the
 * connection is gone or its signal is aborted, `read` with EndOfInput when nothing is left and nothing can come, and with a ProbeFailure for what only
 * the user can mend.
 */
export interface SourceReader {
  /** At most one batch of a partition; partitions take turns. A batch is never given twice by one reader. */
  read(limits: ReadLimits): Promise<Batch[]>
  /** The source may forget what is before these positions. Correctness never depends on it: our own positions decide. */
  acknowledge(positions: Positions): Promise<void>
  /** How many records, or objects, are there and have not been given, as far as the last answers tell; undefined: nobody knows. */
  lag(): number | undefined
  /** How it reads when that is not what the user asked for, or what it has put off, as the end of a sentence, such as `by polling, because …`. */
  note?(): string | undefined
  /**
   * Of a queue: others may have at once what was received and is not finished. For whoever stops: after a failure messages would
   * come again at once, and some queues put away what was received too often. Never rejects, and takes about a second at most.
   */
  giveBack?(): Promise<void>
  close(): Promise<void>
}

/** One of several readers. */
export interface Assignment {
  index: number
  count: number
}

/** What a reader is to read, when it is not everything. */
export interface Selection {
  /** The partitions that fall to one of several readers. Every partition falls to exactly one of `count`. */
  share?: Assignment
  /**
   * Exactly what lies between the positions that the reader is opened with and these: nothing of other partitions, nothing
   * beyond. When all of it has been given, `read` rejects with EndOfInput.
   */
  until?: Positions
  /**
   * Of objects up to `until` of one partition: those with these positions, in this order, and no others. They are found by their keys,
   * whatever the source has been told to take since they were first given.
   */
  only?: string[]
}

export interface ReadableSource extends Source {
  /** Partitions that have no position begin where the configuration says; when others of their topic or stream have one, at their beginning. */
  open(positions: Positions, surroundings: SourceAccess, selection?: Selection): Promise<SourceReader>
  /**
   * How many records, or objects, of the share lie behind the positions; undefined: unknown. For a worker that reads nothing for a
   * while: it moves nothing, and needs no reader. Left out where the source cannot count.
   */
  measureLag?(positions: Positions, surroundings: SourceAccess, share: Assignment): Promise<number | undefined>
}

/** The connection was lost or never came about: close the reader, wait, and open another one at the last durable positions. */
export class NotConnected extends Error {
  /** What cannot be reached, in our own words, where that is not the source itself but something beside it. */
  readonly place?: string

  /** `cause`: what was found, where that is known. */
  constructor(place?: string, cause?: ProbeFailure) {
    super('the source is not connected', { cause })
    this.name = 'NotConnected'
    if (place !== undefined) this.place = place
  }
}

/** What is read is not what was described: whoever reads it describes it again, and makes the destination match. */
export class SourceChanged extends Error {
  readonly reason: string

  /** `reason`: a sentence without its full stop. */
  constructor(reason: string) {
    super('the source has changed')
    this.name = 'SourceChanged'
    this.reason = reason
  }
}

/** Everything has been read, and nothing will follow: the pipe is complete. */
export class EndOfInput extends Error {
  constructor() {
    super('the source has no more input')
    this.name = 'EndOfInput'
  }
}
