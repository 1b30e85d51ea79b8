// What is asked of Kinesis: shards, where to begin in one, and the records from there. Whatever goes wrong is a ProbeFailure,
// except what whoever reads can help: an iterator that has expired, and being asked to slow down.
import {
  GetShardIteratorCommand,
  type GetShardIteratorCommandInput,
  KinesisClient,
  ListShardsCommand,
} from '@aws-sdk/client-kinesis'
import { trustWith } from '../../lib/egress-tls.ts'
import { hostOfUrl } from '../../lib/host.ts'
import type { KinesisSource } from '../../pipes/kinesis-source.ts'
import type { SourceSecrets } from '../../pipes/pipe-source.ts'
import { awsCredentials } from '../aws/aws.ts'
import { errorNames, readAwsError } from '../aws/aws-error.ts'
import { awsClientDefaults, awsEndpoint, awsRequestHandler } from '../aws/aws-http.ts'
import { awsEventsHandle } from '../aws/aws-http2.ts'
import type { ProbeFailure, ProbeStep, SourceContext, SourceAccess } from '../source.ts'
import { type KinesisConsumers, makeConsumers } from './kinesis-consumer.ts'
import { attemptOf, futureFailure, kinesisFailure, startFailure } from './kinesis-failure.ts'
import { makeAskForPage, type Page } from './kinesis-page.ts'

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

export interface Kinesis {
  /** Connects, and speaks TLS where the endpoint does. */
  reach(begin: (step: ProbeStep) => void): Promise<void>
  /** Makes sure that there are credentials; whether they are good shows with the first request. */
  identify(): Promise<void>
  listShards(step: ProbeStep, signal?: AbortSignal): Promise<Shard[]>
  findStart(shard: string, start: ShardStart, signal?: AbortSignal): Promise<string>
  readPage(iterator: string, limit: number, signal?: AbortSignal): Promise<Page | 'expired' | 'throttled'>
  /** For enhanced fan-out. */
  consumers: KinesisConsumers
  close(): void
}

/** Most records that Kinesis gives at once. */
const maxPageRecords = 10_000
/** Kinesis answers five reads of a shard in a second, for all who read it together. */
export const readPauseMs = 200

const connectMs = 10_000
/** Of a subscription: Kinesis sends something every few seconds, also when there is nothing new. */
const longestSilenceMs = 30_000

/** Only tests bring their own. */
export interface KinesisOptions {
  silenceMs?: number
}

export function makeKinesis(
  config: KinesisSource,
  secrets: SourceSecrets,
  context: SourceContext,
  surroundings: SourceAccess,
  { silenceMs = longestSilenceMs }: KinesisOptions = {},
): Kinesis {
  const { authentication, iamRole, region, streamName } = config
  const access = { authentication, accessKey: secrets.accessKey, iamRole, region, sessionName: streamName }
  const credentials = awsCredentials(access, context, surroundings)
  const endpoint = context.awsEndpoints.kinesis ?? awsEndpoint('kinesis', region)
  const requestHandler = awsRequestHandler(surroundings, context, (request) =>
    isFor(request, 'GetRecords') ? 'records' : 'json',
  )
  const sendOnce = requestHandler.handle
  const subscribe = awsEventsHandle(surroundings, context, { silenceMs })
  requestHandler.handle = (request, more) =>
    isFor(request, 'SubscribeToShard') ? subscribe(request, more) : sendOnce(request, more)
  const client = new KinesisClient({ ...awsClientDefaults, region, endpoint, credentials, requestHandler })
  const askForPage = makeAskForPage(client)
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
      const place = [hostOfUrl(hostname), Number(port || (isTls ? 443 : 80))] as const
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
        if (readAwsError(error).name === 'InvalidArgumentException') {
          throw 'atMs' in start ? futureFailure() : startFailure(shard, streamName)
        }
        throw failure(error, 'read', 'kinesis:GetShardIterator')
      })
      if (!iterator) throw failure(undefined, 'read', 'kinesis:GetShardIterator')
      return iterator
    },

    async readPage(iterator, limit, signal) {
      const input = { ShardIterator: iterator, Limit: Math.min(limit, maxPageRecords) }
      try {
        return await askForPage(input, options(signal))
      } catch (error) {
        const { name } = readAwsError(error)
        if (name === 'ExpiredIteratorException') return 'expired'
        if (errorNames.throttled.includes(name)) return 'throttled'
        throw failure(error, 'read', 'kinesis:GetRecords')
      }
    },

    consumers: makeConsumers(client, config, failure),

    close() {
      client.destroy()
    },
  }
}

function isFor({ headers }: { headers: Record<string, string> }, operation: string): boolean {
  return headers['x-amz-target']?.endsWith(`.${operation}`) ?? false
}

function fieldsOf(
  start: ShardStart,
): Pick<GetShardIteratorCommandInput, 'ShardIteratorType' | 'Timestamp' | 'StartingSequenceNumber'> {
  const { type } = start
  if ('atMs' in start) return { ShardIteratorType: type, Timestamp: new Date(start.atMs) }
  if ('sequence' in start) return { ShardIteratorType: type, StartingSequenceNumber: start.sequence }
  return { ShardIteratorType: type }
}
