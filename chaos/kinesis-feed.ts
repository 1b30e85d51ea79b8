// Kinesis stream whose shards are split and merged. Records have one row, several lines or compressed rows; partition keys
// repeat.
import { gzipSync } from 'node:zlib'
import type { StreamRecord } from '../test/sources/kinesis-server.ts'
import { type BareKinesis, region } from './bare-servers.ts'
import { isBadRow } from './expected-rows.ts'
import type { Feed, FeedOptions } from './feeds.ts'
import type { Random } from './random.ts'
import { makeKeyRing, startSignatureProxy, unknownKey } from './signature-proxy.ts'

const firstShards = 3
const mostShards = 6
const partitionKeys = 12
const mostRowsOfRecord = 8

export async function makeKinesisFeed(server: BareKinesis, { name, random }: FeedOptions): Promise<Feed> {
  const ring = makeKeyRing()
  const proxy = await startSignatureProxy({ service: 'kinesis', region, target: server.url, keys: ring.keys })
  await server.createStream(name, firstShards)
  const shards = makeShards(server, name)
  return {
    kind: 'kinesis',
    environment: { PENSTOCK_AWS_ENDPOINTS: `kinesis=${proxy.url}` },
    source: {
      kinesis: {
        format: 'JSONEachRow',
        iteratorType: 'TRIM_HORIZON',
        region,
        streamName: name,
        authentication: 'IAM_USER',
        accessKey: ring.admit(),
      },
    },
    credentials: {
      next: () => ({ kinesis: { accessKey: ring.admit() } }),
      forgetOthers: ring.forgetOthers,
      wrong: { kinesis: { accessKey: unknownKey } },
    },
    put: (rows) => server.put(name, recordsOf(rows, random)),
    reshard: () => (random.happens(shards.shareOfSplits()) ? shards.split(random) : shards.merge(random)),
    block: () => proxy.block(),
    restore: () => proxy.restore(),
    close: () => proxy.close(),
  }
}

function recordsOf(rows: string[], random: Random): StreamRecord[] {
  // Some batches go into a single shard, so that identical batches follow each other there.
  const onlyKey = random.happens(0.3) ? random.below(partitionKeys) : undefined
  return gather(rows, random).map((text) => {
    const value = Buffer.from(text)
    // A rejected row is stored as the record that arrived, so bad rows are not compressed.
    const isCompressed = !isBadRow(text) && random.happens(0.2)
    return { key: `key-${onlyKey ?? random.below(partitionKeys)}`, value: isCompressed ? gzipSync(value) : value }
  })
}

/**
 * Groups rows into records. The engine rejects all lines of a record that has a bad row, so bad rows are records of their own.
 */
function gather(rows: string[], random: Random): string[] {
  const texts: string[] = []
  let lines: string[] = []
  let wanted = 1
  const end = (): void => {
    if (lines.length > 0) texts.push(`${lines.join('\n')}${random.happens(0.5) ? '\n' : ''}`)
    lines = []
    wanted = random.happens(0.5) ? 1 : random.between(2, mostRowsOfRecord)
  }
  for (const row of rows) {
    if (isBadRow(row)) end()
    lines.push(row)
    if (isBadRow(row) || lines.length >= wanted) end()
  }
  end()
  return texts
}

interface Shards {
  /** Keeps the number of shards nearly constant. */
  shareOfSplits(): number
  split(random: Random): Promise<string>
  merge(random: Random): Promise<string>
}

function makeShards(server: BareKinesis, stream: string): Shards {
  let made = 0
  const newShard = (): string => `shardId-${String(made++).padStart(12, '0')}`
  /** Sorted by hash key range: only neighbours can be merged. */
  const open = Array.from({ length: firstShards }, newShard)
  return {
    shareOfSplits: () => (open.length === 1 ? 1 : 1 - (open.length - 1) / (mostShards - 1)),
    async split(random) {
      const at = random.below(open.length)
      const [shard = ''] = open.splice(at, 1, newShard(), newShard())
      await server.split(stream, shard)
      return `${shard} is split`
    },
    async merge(random) {
      const at = random.below(open.length - 1)
      const [shard = '', adjacent = ''] = open.splice(at, 2, newShard())
      await server.merge(stream, shard, adjacent)
      return `${shard} and ${adjacent} are merged`
    },
  }
}
