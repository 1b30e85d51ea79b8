// Consumers of a stream, as enhanced fan-out has them: each has a throughput of its own, and Kinesis sends it what comes. They are
// registered once, and stay at the stream until they are removed.
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
import type { KinesisSource } from '../../pipes/kinesis-source.ts'
import { errorNames, readAwsError } from '../aws/aws-error.ts'
import { NoHttp2 } from '../aws/aws-http2.ts'
import type { FailureCode, ProbeFailure, ProbeStep } from '../source.ts'
import type { ShardStart } from './kinesis-client.ts'
import { type KinesisRecord, toRecord } from './kinesis-record.ts'

/** What a pipe is called at its stream. */
export function consumerNameOf(pipeId: string): string {
  return `penstock-${pipeId}`
}

export interface ShardEvent {
  records: KinesisRecord[]
  /** Everything up to it has been sent, also when there is no record of this number. */
  continuation: string | undefined
  /** There is more in the shard already. */
  isBehind: boolean
  /** The shard is closed, and this is the last of it. */
  isEnd: boolean
}

/**
 * Why there is no fan-out. `busy`: ask again in some seconds; `gone`: the consumer or the shard is not there; `broken`: the
 * connection, or what came over it; `refused`: not before somebody changes something.
 */
export type FanOutTrouble = 'busy' | 'gone' | 'broken' | 'refused'

export class FanOutFailure extends Error {
  readonly trouble: FanOutTrouble
  /** What is wrong, in our own words, as the middle of a sentence. */
  readonly reason: string

  constructor(trouble: FanOutTrouble, reason: string) {
    super(`fan-out: ${trouble}`)
    this.name = 'FanOutFailure'
    this.trouble = trouble
    this.reason = reason
  }
}

export interface KinesisConsumers {
  /** The ARN of the consumer of this name, which is registered unless it is there. Rejects with a FanOutFailure. */
  prepare(name: string, signal: AbortSignal): Promise<string>
  /** What comes in the shard from there on, for some minutes. Rejects with a FanOutFailure. */
  subscribe(consumer: string, shard: string, start: ShardStart, signal: AbortSignal): AsyncIterable<ShardEvent>
  /** Nothing happens when it is not there. Rejects with a ProbeFailure. */
  remove(name: string, signal: AbortSignal): Promise<void>
}

/** From CREATING to ACTIVE takes seconds; some minutes when many are registered at once. */
const activeWithinMs = 120_000
const firstLookMs = 100
const longestLookMs = 5_000

type Failed = (error: unknown, step: ProbeStep, action: string) => ProbeFailure

export function makeConsumers(client: KinesisClient, source: KinesisSource, failed: Failed): KinesisConsumers {
  const { streamName } = source
  const judge = (error: unknown, action: string): FanOutFailure =>
    fanOutFailure(error, failed(error, 'read', `kinesis:${action}`), action, source)

  const findStream = async (abortSignal: AbortSignal): Promise<string> => {
    const command = new DescribeStreamSummaryCommand({ StreamName: streamName })
    const { StreamDescriptionSummary: summary } = await client.send(command, { abortSignal })
    if (!summary?.StreamARN) throw new Error('not an answer of Kinesis')
    return summary.StreamARN
  }

  const find = async (StreamARN: string, ConsumerName: string, abortSignal: AbortSignal) => {
    const command = new DescribeStreamConsumerCommand({ StreamARN, ConsumerName })
    const answer = await client.send(command, { abortSignal }).catch(unless(errorNames.missing))
    return answer?.ConsumerDescription
  }

  return {
    async prepare(name, signal) {
      const asking = { action: 'DescribeStreamSummary' }
      try {
        const stream = await findStream(signal)
        const endsAtMs = performance.now() + activeWithinMs
        for (let lookMs = firstLookMs; performance.now() < endsAtMs; lookMs = Math.min(longestLookMs, lookMs * 2)) {
          asking.action = 'DescribeStreamConsumer'
          const consumer = await find(stream, name, signal)
          if (consumer?.ConsumerStatus === 'ACTIVE' && consumer.ConsumerARN) return consumer.ConsumerARN
          if (!consumer) {
            asking.action = 'RegisterStreamConsumer'
            const command = new RegisterStreamConsumerCommand({ StreamARN: stream, ConsumerName: name })
            // Another worker of the pipe has just registered it.
            await client.send(command, { abortSignal: signal }).catch(unless(['ResourceInUseException']))
          }
          await wait(lookMs, undefined, { signal })
        }
      } catch (error) {
        throw judge(error, asking.action)
      }
      throw new FanOutFailure('refused', `Kinesis has not made the consumer of the stream "${streamName}" active yet`)
    },

    async *subscribe(consumer, shard, start, signal) {
      // Its answer must be ended also when nobody reads it to its end.
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
        throw judge(error, 'SubscribeToShard')
      } finally {
        ending.abort()
      }
    },

    async remove(name, signal) {
      const asking = { action: 'DescribeStreamSummary' }
      try {
        const stream = await findStream(signal)
        asking.action = 'DeregisterStreamConsumer'
        const command = new DeregisterStreamConsumerCommand({ StreamARN: stream, ConsumerName: name })
        await client.send(command, { abortSignal: signal })
      } catch (error) {
        // What does not know of consumers has made none.
        if (errorNames.missing.includes(readAwsError(error).name) || isUnknownOperation(error)) return
        throw failed(error, 'describe', `kinesis:${asking.action}`)
      }
    },
  }
}

/** Gives undefined in place of these errors. */
function unless(names: string[]): (error: unknown) => undefined {
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

/** Names of those that speak like Kinesis, and have no fan-out. */
const unknownOperation = ['UnknownOperationException', 'InvalidAction', 'NotImplemented', 'UnsupportedOperation']

function isUnknownOperation(error: unknown): boolean {
  const { name, status } = readAwsError(error)
  return unknownOperation.includes(name) || status === 501
}

/** What only the user can mend. */
const toMend: readonly FailureCode[] = [
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
    return new FanOutFailure('busy', `Kinesis asks us to wait before we subscribe to the stream "${streamName}"`)
  }
  if (errorNames.missing.includes(name) && action === 'SubscribeToShard') {
    return new FanOutFailure('gone', `the consumer of the stream "${streamName}" is not there any more`)
  }
  return new FanOutFailure(toMend.includes(failure.code) ? 'refused' : 'broken', failure.reason)
}
