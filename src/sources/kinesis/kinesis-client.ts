// What is asked of Kinesis: shards, where to begin in one, and the records from there. Whatever goes wrong is a ProbeFailure,
// except what whoever reads can help: an iterator that has expired, and being asked to slow down.
import {
  GetRecordsCommand,
  GetShardIteratorCommand,
  type GetShardIteratorCommandInput,
  KinesisClient,
  ListShardsCommand,
} from '@aws-sdk/client-kinesis'
import { trustWith } from '../../lib/egress-tls.ts'
import type { KinesisSource } from '../../pipes/kinesis-source.ts'
import type { SourceSecrets } from '../../pipes/pipe-source.ts'
import { awsCredentials } from '../aws/aws.ts'
import { errorNames, readAwsError } from '../aws/aws-error.ts'
import { type AwsAttempt, awsFailure } from '../aws/aws-failure.ts'
import { awsClientDefaults, awsEndpoint, awsRequestHandler } from '../aws/aws-http.ts'
import { ProbeFailure, type ProbeStep, type SourceContext, type Surroundings } from '../source.ts'

export interface Shard {
  id: string
  /** What was split or merged into it, as long as Kinesis keeps it. */
  parents: string[]
  isClosed: boolean
}

export type ShardStart =
  | { type: 'TRIM_HORIZON' | 'LATEST' }
  | { type: 'AT_TIMESTAMP'; atMs: number }
  | { type: 'AT_SEQUENCE_NUMBER' | 'AFTER_SEQUENCE_NUMBER'; sequence: string }

export interface KinesisRecord {
  sequence: string
  key: string
  arrivedAt: Date
  data: Uint8Array
}

export interface Page {
  records: KinesisRecord[]
  /** The iterator of the next page; without one, the shard is closed and has been read to its end. */
  next: string | undefined
  /** There is more in the shard already, even if this page is empty. */
  isBehind: boolean
}

export interface Kinesis {
  /** Connects, and speaks TLS where the endpoint does. */
  reach(begin: (step: ProbeStep) => void): Promise<void>
  /** Makes sure that there are credentials; whether they are good shows with the first request. */
  identify(): Promise<void>
  listShards(step: ProbeStep, signal?: AbortSignal): Promise<Shard[]>
  findStart(shard: string, start: ShardStart, signal?: AbortSignal): Promise<string>
  readPage(iterator: string, limit: number, signal?: AbortSignal): Promise<Page | 'expired' | 'throttled'>
  close(): void
}

/** Most records that Kinesis gives at once. */
const maxPageRecords = 10_000
/** Kinesis answers five reads of a shard in a second, for all who read it together. */
export const readPauseMs = 200

const connectMs = 10_000

export function makeKinesis(
  config: KinesisSource,
  secrets: SourceSecrets,
  context: SourceContext,
  surroundings: Surroundings,
): Kinesis {
  const { authentication, iamRole, region, streamName } = config
  const access = { authentication, accessKey: secrets.accessKey, iamRole, region, sessionName: streamName }
  const credentials = awsCredentials(access, context, surroundings)
  const endpoint = context.awsEndpoints.kinesis ?? awsEndpoint('kinesis', region)
  const requestHandler = awsRequestHandler(surroundings, context, ({ headers }) =>
    headers['x-amz-target']?.endsWith('.GetRecords') ? 'records' : 'json',
  )
  const client = new KinesisClient({ ...awsClientDefaults, region, endpoint, credentials, requestHandler })
  const failure = (error: unknown, step: ProbeStep, action: string): ProbeFailure =>
    kinesisFailure(error, attemptOf(config, step, action), context)
  const options = (signal: AbortSignal | undefined): { abortSignal: AbortSignal } => ({
    abortSignal: signal ?? surroundings.signal,
  })

  return {
    async reach(begin) {
      begin('connect')
      const { protocol, hostname, port } = new URL(endpoint)
      const isTls = protocol === 'https:'
      const place = [hostname.replace(/^\[(.*)\]$/, '$1'), Number(port || (isTls ? 443 : 80))] as const
      const limits = { timeoutMs: connectMs, signal: surroundings.signal }
      const { egress } = surroundings
      const connected = isTls
        ? egress.connectTls(...place, { ...limits, tls: trustWith(context.caCertificates) })
        : egress.connect(...place, limits)
      const socket = await connected.catch((error: unknown) => {
        throw failure(error, 'connect', '')
      })
      if (isTls) begin('tls')
      socket.destroy()
    },

    async identify() {
      await credentials()
    },

    async listShards(step, signal) {
      const shards: Shard[] = []
      let token: string | undefined
      do {
        const command = new ListShardsCommand(token ? { NextToken: token } : { StreamName: streamName })
        const { Shards: page, NextToken: next } = await client.send(command, options(signal)).catch((error) => {
          throw failure(error, step, 'kinesis:ListShards')
        })
        // Not the answer of Kinesis, whatever it is.
        if (!page) throw failure(undefined, step, 'kinesis:ListShards')
        for (const { ShardId, ParentShardId, AdjacentParentShardId, SequenceNumberRange } of page) {
          const parents = [ParentShardId, AdjacentParentShardId].filter((id) => id !== undefined)
          const isClosed = SequenceNumberRange?.EndingSequenceNumber !== undefined
          if (ShardId) shards.push({ id: ShardId, parents, isClosed })
        }
        token = next
      } while (token)
      return shards
    },

    async findStart(shard, start, signal) {
      const command = new GetShardIteratorCommand({ StreamName: streamName, ShardId: shard, ...fieldsOf(start) })
      const { ShardIterator: iterator } = await client.send(command, options(signal)).catch((error) => {
        if (readAwsError(error).name === 'InvalidArgumentException') throw startFailure(start, shard, streamName)
        throw failure(error, 'read', 'kinesis:GetShardIterator')
      })
      if (!iterator) throw failure(undefined, 'read', 'kinesis:GetShardIterator')
      return iterator
    },

    async readPage(iterator, limit, signal) {
      const command = new GetRecordsCommand({ ShardIterator: iterator, Limit: Math.min(limit, maxPageRecords) })
      try {
        const { Records = [], NextShardIterator, MillisBehindLatest = 0 } = await client.send(command, options(signal))
        const records = Records.map(({ SequenceNumber, PartitionKey, ApproximateArrivalTimestamp, Data }) => ({
          sequence: SequenceNumber ?? '',
          key: PartitionKey ?? '',
          arrivedAt: ApproximateArrivalTimestamp ?? new Date(0),
          data: Data ?? new Uint8Array(),
        }))
        return { records, next: NextShardIterator, isBehind: MillisBehindLatest > 0 }
      } catch (error) {
        const { name } = readAwsError(error)
        if (name === 'ExpiredIteratorException') return 'expired'
        if (errorNames.throttled.includes(name)) return 'throttled'
        throw failure(error, 'read', 'kinesis:GetRecords')
      }
    },

    close() {
      client.destroy()
    },
  }
}

function attemptOf(config: KinesisSource, step: ProbeStep, needs: string): AwsAttempt {
  const { authentication, region, streamName } = config
  const credentials = authentication === 'IAM_ROLE' ? 'iamRole' : 'accessKey'
  return {
    step,
    service: 'Kinesis',
    place: `the Kinesis of ${region}`,
    thing: `the stream "${streamName}"`,
    needs,
    fields: { place: 'region', credentials, thing: 'streamName', region: 'region' },
  }
}

/** The region is all that a user says about the host: a host that is not there is a region that is none. */
function kinesisFailure(error: unknown, attempt: AwsAttempt, { awsEndpoints }: SourceContext): ProbeFailure {
  const failure = awsFailure(error, attempt)
  if (failure.code !== 'host_unknown' || awsEndpoints.kinesis) return failure
  const { step, reason } = failure
  const remedy = 'check the region, such as eu-west-1'
  return new ProbeFailure({ step, code: 'wrong_region', reason, remedy, field: 'region' })
}

function fieldsOf(
  start: ShardStart,
): Pick<GetShardIteratorCommandInput, 'ShardIteratorType' | 'Timestamp' | 'StartingSequenceNumber'> {
  const { type } = start
  if ('atMs' in start) return { ShardIteratorType: type, Timestamp: new Date(start.atMs) }
  if ('sequence' in start) return { ShardIteratorType: type, StartingSequenceNumber: start.sequence }
  return { ShardIteratorType: type }
}

function startFailure(start: ShardStart, shard: string, streamName: string): ProbeFailure {
  if ('atMs' in start) return futureFailure()
  return new ProbeFailure({
    step: 'read',
    code: 'not_found',
    reason: `the shard ${shard} of the stream "${streamName}" does not have the position that was read last`,
    remedy: 'check whether the stream was deleted and created anew, and begin with a new pipe if so',
    field: 'streamName',
  })
}

/** Of records that were read before and are to be read once more. */
export function lostFailure(shard: string, streamName: string): ProbeFailure {
  return new ProbeFailure({
    step: 'read',
    code: 'not_found',
    reason: `the shard ${shard} of the stream "${streamName}" has lost records that were read and are not delivered yet`,
    remedy: 'let the stream keep its records for longer, and create the pipe anew to go on without the lost ones',
    field: 'streamName',
  })
}

export function futureFailure(): ProbeFailure {
  return new ProbeFailure({
    step: 'read',
    code: 'not_set_up',
    reason: 'the timestamp that reading begins at has not come yet',
    remedy: 'use a time that has passed, in seconds since 1970',
    field: 'timestamp',
  })
}

export function slowDownFailure(): ProbeFailure {
  return new ProbeFailure({
    step: 'read',
    code: 'source_failed',
    reason: 'others read the stream so often that Kinesis gives us nothing of it',
    remedy: 'have them read less often, or give the stream more shards',
    field: 'streamName',
  })
}
