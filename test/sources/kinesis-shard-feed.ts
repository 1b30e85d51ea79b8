// Event frames of a shard subscription, produced by polling a Kinesis server without enhanced fan-out.
import { setTimeout as wait } from 'node:timers/promises'
import {
  GetRecordsCommand,
  GetShardIteratorCommand,
  KinesisClient,
  ListShardsCommand,
  type ShardIteratorType,
} from '@aws-sdk/client-kinesis'
import { NodeHttpHandler } from '@smithy/node-http-handler'
import { eventFrame } from './kinesis-event-frames.ts'
import type { KinesisServer } from './kinesis-server.ts'

/** StartingPosition of SubscribeToShard. */
export interface StartingPosition {
  Type: ShardIteratorType
  SequenceNumber?: string
  /** In seconds. */
  Timestamp?: number
}

export interface FeedStart {
  stream: string
  shard: string
  start: StartingPosition
}

export interface ShardFeed {
  /** Rejects with an error of Kinesis when the starting position is invalid. */
  frames(from: FeedStart, eventRecords: number, signal: AbortSignal): AsyncGenerator<Buffer>
  close(): void
}

const pollIntervalMs = 25
/** Interval of events without records. */
const heartbeatMs = 100

export function makeShardFeed({ endpoint, region, credentials }: KinesisServer): ShardFeed {
  const client = new KinesisClient({
    endpoint,
    region,
    credentials: { accessKeyId: credentials.accessKeyId, secretAccessKey: credentials.secretKey },
    requestHandler: new NodeHttpHandler(),
    // The SDK's retries wait with timers that cannot be stopped.
    maxAttempts: 1,
  })
  const childrenOf = async (stream: string, shard: string) => {
    const { Shards = [] } = await client.send(new ListShardsCommand({ StreamName: stream }))
    return Shards.filter((each) => [each.ParentShardId, each.AdjacentParentShardId].includes(shard)).map((each) => ({
      ShardId: each.ShardId,
      ParentShards: [each.ParentShardId, each.AdjacentParentShardId].filter((id) => id !== undefined),
      HashKeyRange: each.HashKeyRange,
    }))
  }
  return {
    async *frames({ stream, shard, start }, eventRecords, signal) {
      const first = new GetShardIteratorCommand(iteratorOf(stream, shard, start))
      let { ShardIterator: iterator } = await client.send(first, { abortSignal: signal })
      let continuation = start.SequenceNumber
      let sentAtMs = -Infinity
      yield eventFrame('initial-response', {})
      while (!signal.aborted && iterator) {
        const command = new GetRecordsCommand({ ShardIterator: iterator, Limit: eventRecords })
        const {
          Records = [],
          NextShardIterator,
          MillisBehindLatest = 0,
        } = await client.send(command, { abortSignal: signal })
        iterator = NextShardIterator
        continuation = Records.at(-1)?.SequenceNumber ?? continuation
        const isDue = performance.now() - sentAtMs >= heartbeatMs
        if (Records.length > 0 || !iterator || isDue) {
          sentAtMs = performance.now()
          yield eventFrame('SubscribeToShardEvent', {
            Records: Records.map(({ Data = new Uint8Array(), ApproximateArrivalTimestamp, ...more }) => ({
              ...more,
              Data: Buffer.from(Data).toString('base64'),
              ApproximateArrivalTimestamp: (ApproximateArrivalTimestamp?.getTime() ?? 0) / 1_000,
            })),
            MillisBehindLatest,
            ...(iterator ? { ContinuationSequenceNumber: continuation } : {}),
            ...(iterator ? {} : { ChildShards: await childrenOf(stream, shard) }),
          })
        }
        if (Records.length === 0) await wait(pollIntervalMs, undefined, { signal }).catch(() => undefined)
      }
    },
    close: () => client.destroy(),
  }
}

function iteratorOf(stream: string, shard: string, { Type, SequenceNumber, Timestamp }: StartingPosition) {
  return {
    StreamName: stream,
    ShardId: shard,
    ShardIteratorType: Type,
    ...(SequenceNumber === undefined ? {} : { StartingSequenceNumber: SequenceNumber }),
    ...(Timestamp === undefined ? {} : { Timestamp: new Date(Timestamp * 1_000) }),
  }
}
