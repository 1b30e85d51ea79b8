// Stream consumers for enhanced fan-out: each has dedicated throughput, and Kinesis pushes records to it. A consumer is registered
// once and remains until it is deregistered.
import { setTimeout as wait } from 'node:timers/promises'
import {
  DeregisterStreamConsumerCommand,
  DescribeStreamConsumerCommand,
  DescribeStreamSummaryCommand,
  type KinesisClient,
  RegisterStreamConsumerCommand,
  type StartingPosition,
  SubscribeToShardCommand,
  type SubscribeToShardEvent,
} from '@aws-sdk/client-kinesis'
import type { KinesisSource } from '../../source-shapes/kinesis-source.ts'
import type { ProbeStep } from '../../source-shapes/probe.ts'
import type { FailureCode, ProbeFailure } from '../../source-shapes/source-failure.ts'
import { errorNames, readAwsError } from '../aws/aws-error.ts'
import { NoHttp2 } from '../aws/aws-http2.ts'
import { type KinesisRecord, toRecord } from './kinesis-record.ts'
import type { ShardStart } from './shard-start.ts'

/** Consumer name of a pipe. */
export function consumerNameOf(pipeId: string): string {
  return `penstock-${pipeId}`
}

export interface ShardEvent {
  records: KinesisRecord[]
  /** ContinuationSequenceNumber: everything up to it has been sent, also when no record has this number. */
  continuation: string | undefined
  /** The shard has more records now. */
  isBehind: boolean
  /** The shard is closed, and this event is its last. */
  isEnd: boolean
}

/**
 * `busy`: try again in some seconds. `gone`: the consumer or the shard does not exist. `broken`: the connection broke, or the response
 * is invalid. `refused`: fails until somebody changes something.
 */
export type FanOutFailureKind = 'busy' | 'gone' | 'broken' | 'refused'

export class FanOutFailure extends Error {
  readonly kind: FanOutFailureKind
  /** A user-readable reason, without capital or full stop. */
  readonly reason: string

  constructor(kind: FanOutFailureKind, reason: string) {
    super(`fan-out: ${kind}`)
    this.name = 'FanOutFailure'
    this.kind = kind
    this.reason = reason
  }
}

export interface KinesisConsumers {
  /** Returns the ARN of the consumer, and registers it if necessary. Rejects with a FanOutFailure. */
  prepare(name: string, signal: AbortSignal): Promise<string>
  /** Yields the records of a subscription, which Kinesis ends after five minutes. Rejects with a FanOutFailure. */
  subscribe(consumer: string, shard: string, start: ShardStart, signal: AbortSignal): AsyncIterable<ShardEvent>
  /** Does nothing when the consumer does not exist. Rejects with a ProbeFailure. */
  remove(name: string, signal: AbortSignal): Promise<void>
}

/** CREATING takes seconds, or minutes when many consumers are registered at once. */
const activeWithinMs = 120_000
const firstPollMs = 100
const longestPollMs = 5_000

type Failed = (error: unknown, step: ProbeStep, action: string) => ProbeFailure

export function makeConsumers(client: KinesisClient, source: KinesisSource, failed: Failed): KinesisConsumers {
  const { streamName } = source
  const toFailure = (error: unknown, action: string): FanOutFailure =>
    fanOutFailure(error, failed(error, 'read', `kinesis:${action}`), action, source)

  const findStream = async (abortSignal: AbortSignal): Promise<string> => {
    const command = new DescribeStreamSummaryCommand({ StreamName: streamName })
    const { StreamDescriptionSummary: summary } = await client.send(command, { abortSignal })
    if (!summary?.StreamARN) throw new Error('not a response of Kinesis')
    return summary.StreamARN
  }

  const find = async (StreamARN: string, ConsumerName: string, abortSignal: AbortSignal) => {
    const command = new DescribeStreamConsumerCommand({ StreamARN, ConsumerName })
    const answer = await client.send(command, { abortSignal }).catch(ignoring(errorNames.missing))
    return answer?.ConsumerDescription
  }

  return {
    async prepare(name, signal) {
      const current = { action: 'DescribeStreamSummary' }
      try {
        const stream = await findStream(signal)
        const endsAtMs = performance.now() + activeWithinMs
        for (let pollMs = firstPollMs; performance.now() < endsAtMs; pollMs = Math.min(longestPollMs, pollMs * 2)) {
          current.action = 'DescribeStreamConsumer'
          const consumer = await find(stream, name, signal)
          if (consumer?.ConsumerStatus === 'ACTIVE' && consumer.ConsumerARN) return consumer.ConsumerARN
          if (!consumer) {
            current.action = 'RegisterStreamConsumer'
            const command = new RegisterStreamConsumerCommand({ StreamARN: stream, ConsumerName: name })
            // Another worker of the pipe has just registered it.
            await client.send(command, { abortSignal: signal }).catch(ignoring(['ResourceInUseException']))
          }
          await wait(pollMs, undefined, { signal })
        }
      } catch (error) {
        throw toFailure(error, current.action)
      }
      throw new FanOutFailure('refused', `Kinesis has not made the consumer of the stream "${streamName}" active yet`)
    },

    async *subscribe(consumer, shard, start, signal) {
      // Ends the response even if the caller stops early.
      const ending = new AbortController()
      const abortSignal = AbortSignal.any([signal, ending.signal])
      const command = new SubscribeToShardCommand({
        ConsumerARN: consumer,
        ShardId: shard,
        StartingPosition: positionOf(start),
      })
      try {
        const { EventStream: events } = await client.send(command, { abortSignal })
        for await (const { SubscribeToShardEvent: event } of events ?? []) if (event) yield toEvent(event)
      } catch (error) {
        throw toFailure(error, 'SubscribeToShard')
      } finally {
        ending.abort()
      }
    },

    async remove(name, signal) {
      const current = { action: 'DescribeStreamSummary' }
      try {
        const stream = await findStream(signal)
        current.action = 'DeregisterStreamConsumer'
        const command = new DeregisterStreamConsumerCommand({ StreamARN: stream, ConsumerName: name })
        await client.send(command, { abortSignal: signal })
      } catch (error) {
        // A service without consumers has none to remove.
        if (errorNames.missing.includes(readAwsError(error).name) || isUnknownOperation(error)) return
        throw failed(error, 'describe', `kinesis:${current.action}`)
      }
    },
  }
}

/** Returns undefined for these errors. */
function ignoring(names: string[]): (error: unknown) => undefined {
  return (error) => {
    if (!names.includes(readAwsError(error).name)) throw error
  }
}

function positionOf(start: ShardStart): StartingPosition {
  const { type } = start
  if ('atMs' in start) return { Type: type, Timestamp: new Date(start.atMs) }
  return 'sequence' in start ? { Type: type, SequenceNumber: start.sequence } : { Type: type }
}

function toEvent(event: SubscribeToShardEvent): ShardEvent {
  const { Records = [], ContinuationSequenceNumber: continuation, MillisBehindLatest = 0, ChildShards = [] } = event
  return {
    records: Records.map(toRecord),
    continuation: continuation || undefined,
    isBehind: MillisBehindLatest > 0,
    isEnd: !continuation && ChildShards.length > 0,
  }
}

/** Error codes of compatible services without enhanced fan-out. */
const unknownOperation = ['UnknownOperationException', 'InvalidAction', 'NotImplemented', 'UnsupportedOperation']

function isUnknownOperation(error: unknown): boolean {
  const { name, status } = readAwsError(error)
  return unknownOperation.includes(name) || status === 501
}

/** Failures that only the user can fix. */
const userFixable: readonly FailureCode[] = [
  'permission_missing',
  'credentials_refused',
  'not_set_up',
  'not_found',
  'wrong_region',
  'address_denied',
]

function fanOutFailure(
  error: unknown,
  failure: ProbeFailure,
  action: string,
  { region, streamName }: KinesisSource,
): FanOutFailure {
  const { name } = readAwsError(error)
  if (error instanceof FanOutFailure) return error
  if (error instanceof NoHttp2) return new FanOutFailure('refused', `the Kinesis of ${region} does not speak HTTP/2`)
  if (isUnknownOperation(error)) {
    return new FanOutFailure('refused', `the Kinesis of ${region} has no enhanced fan-out`)
  }
  if (name === 'LimitExceededException' && action === 'RegisterStreamConsumer') {
    return new FanOutFailure('refused', `the stream "${streamName}" has as many consumers as it may have`)
  }
  if (name === 'ResourceInUseException' || errorNames.throttled.includes(name)) {
    return new FanOutFailure('busy', `Kinesis throttles the subscription to the stream "${streamName}"`)
  }
  if (errorNames.missing.includes(name) && action === 'SubscribeToShard') {
    return new FanOutFailure('gone', `the consumer of the stream "${streamName}" is not there any more`)
  }
  return new FanOutFailure(userFixable.includes(failure.code) ? 'refused' : 'broken', failure.reason)
}
