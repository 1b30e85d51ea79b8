// A stream of Kinesis whose shards are split and merged, with records as producers make them: some of one row, some of several lines,
// some compressed, under keys that come again and again.
import { gzipSync } from 'node:zlib'
import type { StreamRecord } from '../test/sources/kinesis-server.ts'
import { type BareKinesis, region } from './bare-servers.ts'
import { makeKeyRing, startDoor, unknownKey } from './door.ts'
import type { Feed, FeedOptions } from './feeds.ts'
import type { Random } from './random.ts'
import { isBadRow } from './tally.ts'

const firstShards = 3
const mostShards = 6
const partitionKeys = 12
const mostRowsOfRecord = 8

export async function makeKinesisFeed(server: BareKinesis, { name, random }: FeedOptions): Promise<Feed> {
  const ring = makeKeyRing()
  const door = await startDoor({ service: 'kinesis', region, target: server.url, keys: ring.keys })
  await server.createStream(name, firstShards)
  const shards = makeShards(server, name)
  return {
    kind: 'kinesis',
    environment: { PENSTOCK_AWS_ENDPOINTS: `kinesis=${door.url}` },
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
    breakOff: () => door.breakOff(),
    restore: () => door.restore(),
    close: () => door.close(),
  }
}

function recordsOf(rows: string[], random: Random): StreamRecord[] {
  // Some batches go whole into one shard, so that identical ones follow each other there.
  const onlyKey = random.happens(0.3) ? random.below(partitionKeys) : undefined
  return gather(rows, random).map((text) => {
    const value = Buffer.from(text)
    // What is kept of a bad row is the record as it came.
    const isCompressed = !isBadRow(text) && random.happens(0.2)
    return { key: `key-${onlyKey ?? random.below(partitionKeys)}`, value: isCompressed ? gzipSync(value) : value }
  })
}

/** Into the texts of records. One that the engine does not take is refused with all its lines, so bad rows stand alone. */
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
  /** So that their number neither grows nor shrinks for long. */
  shareOfSplits(): number
  split(random: Random): Promise<string>
  merge(random: Random): Promise<string>
}

function makeShards(server: BareKinesis, stream: string): Shards {
  let made = 0
  const newShard = (): string => `shardId-${String(made++).padStart(12, '0')}`
  /** In the order of what they hold: neighbours can be merged. */
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
