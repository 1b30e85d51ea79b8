// Kinesis API calls: shards, shard iterators and records. Failures are ProbeFailures, except those that the reader handles: expired
// iterators and throttling.

import {
  GetShardIteratorCommand,
  type GetShardIteratorCommandInput,
  KinesisClient,
  ListShardsCommand,
} from '@aws-sdk/client-kinesis'
import { trustWith } from '../../lib/egress-tls.ts'
import { hostOfUrl } from '../../lib/host.ts'
import type { KinesisSource } from '../../source-shapes/kinesis-source.ts'
import type { ProbeStep } from '../../source-shapes/probe.ts'
import type { ProbeFailure } from '../../source-shapes/source-failure.ts'
import type { SourceSecrets } from '../../source-shapes/source-kind.ts'
import { awsCredentials } from '../aws/aws.ts'
import { errorNames, readAwsError } from '../aws/aws-error.ts'
import { awsClientDefaults, awsEndpoint, awsRequestHandler } from '../aws/aws-http.ts'
import { awsEventsHandle } from '../aws/aws-http2.ts'
import type { SourceAccess, SourceContext } from '../source.ts'
import { type KinesisConsumers, makeConsumers } from './kinesis-consumer.ts'
import { attemptOf, kinesisFailure, streamFailure } from './kinesis-failure.ts'
import { makeGetPage, type Page } from './kinesis-page.ts'
import type { ShardStart } from './shard-start.ts'

export interface Shard {
  id: string
  /** Parent shards, as long as Kinesis retains them. */
  parents: string[]
  isClosed: boolean
}

export interface Kinesis {
  /** Connects, with TLS unless the endpoint is plain HTTP. */
  reach(begin: (step: ProbeStep) => void): Promise<void>
  /** Loads credentials; the first request shows whether they are valid. */
  loadCredentials(): Promise<void>
  listShards(step: ProbeStep, signal?: AbortSignal): Promise<Shard[]>
  getShardIterator(shard: string, start: ShardStart, signal?: AbortSignal): Promise<string>
  readPage(iterator: string, limit: number, signal?: AbortSignal): Promise<Page | 'expired' | 'throttled'>
  /** Consumers for enhanced fan-out. */
  consumers: KinesisConsumers
  close(): void
}

/** Limit of GetRecords. */
const maxPageRecords = 10_000
/** Limit of GetRecords per shard and second: five calls, shared by all readers. */
export const readPauseMs = 200

const connectMs = 10_000
/** Without any event for this long, a subscription is broken: Kinesis sends one every few seconds. */
const longestSilenceMs = 30_000

/** For tests. */
export interface KinesisOptions {
  silenceMs?: number
}

export function makeKinesis(
  config: KinesisSource,
  secrets: SourceSecrets,
  context: SourceContext,
  connectOptions: SourceAccess,
  { silenceMs = longestSilenceMs }: KinesisOptions = {},
): Kinesis {
  const { authentication, iamRole, region, streamName } = config
  const access = { authentication, accessKey: secrets.accessKey, iamRole, region, sessionName: streamName }
  const credentials = awsCredentials(access, context, connectOptions)
  const endpoint = context.awsEndpoints.kinesis ?? awsEndpoint('kinesis', region)
  const requestHandler = awsRequestHandler(connectOptions, context, (request) =>
    isFor(request, 'GetRecords') ? 'records' : 'json',
  )
  const handleRequest = requestHandler.handle
  const subscribe = awsEventsHandle(connectOptions, context, { silenceMs })
  requestHandler.handle = (request, more) =>
    isFor(request, 'SubscribeToShard') ? subscribe(request, more) : handleRequest(request, more)
  const client = new KinesisClient({ ...awsClientDefaults, region, endpoint, credentials, requestHandler })
  const getPage = makeGetPage(client)
  const failure = (error: unknown, step: ProbeStep, action: string): ProbeFailure =>
    kinesisFailure(error, attemptOf(config, step, action), context)
  const options = (signal: AbortSignal | undefined): { abortSignal: AbortSignal } => ({
    abortSignal: signal ?? connectOptions.signal,
  })

  return {
    async reach(begin) {
      begin('connect')
      const { protocol, hostname, port } = new URL(endpoint)
      const isTls = protocol === 'https:'
      const address = [hostOfUrl(hostname), Number(port || (isTls ? 443 : 80))] as const
      const limits = { timeoutMs: connectMs, signal: connectOptions.signal }
      const { egress } = connectOptions
      const connected = isTls
        ? egress.connectTls(...address, { ...limits, tls: trustWith(context.caCertificates) })
        : egress.connect(...address, limits)
      const socket = await connected.catch((error: unknown) => {
        throw failure(error, 'connect', '')
      })
      if (isTls) begin('tls')
      socket.destroy()
    },

    async loadCredentials() {
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
        // Not a response of Kinesis.
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

    async getShardIterator(shard, start, signal) {
      const command = new GetShardIteratorCommand({ StreamName: streamName, ShardId: shard, ...fieldsOf(start) })
      const { ShardIterator: iterator } = await client.send(command, options(signal)).catch((error) => {
        if (readAwsError(error).name === 'InvalidArgumentException') {
          throw streamFailure('atMs' in start ? 'timeInFuture' : 'positionMissing', { shard, streamName })
        }
        throw failure(error, 'read', 'kinesis:GetShardIterator')
      })
      if (!iterator) throw failure(undefined, 'read', 'kinesis:GetShardIterator')
      return iterator
    },

    async readPage(iterator, limit, signal) {
      const input = { ShardIterator: iterator, Limit: Math.min(limit, maxPageRecords) }
      try {
        return await getPage(input, options(signal))
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
