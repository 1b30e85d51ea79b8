// A sample of a stream: some records of its shards, within few requests and little time. A stream can hold days of data, and
// shards that are empty for most of it: what is not found quickly is not looked for.
import { setTimeout as wait } from 'node:timers/promises'
import type { KinesisSource } from '../../pipes/kinesis-source.ts'
import { type Kinesis, readPauseMs, type Shard, type ShardStart } from './kinesis-client.ts'
import { futureFailure, slowDownFailure } from './kinesis-failure.ts'
import type { KinesisRecord } from './kinesis-record.ts'

export interface SampledRecord extends KinesisRecord {
  shard: string
}

export interface Sampling {
  maxRecords: number
  signal: AbortSignal
}

const shardsAtOnce = 4
const maxPagesOfShard = 10
const searchMs = 4_000
const recentMs = 3_600_000
const newestPageRecords = 1_000

export async function sampleStream(
  kinesis: Kinesis,
  shards: Shard[],
  { iteratorType, timestamp = 0 }: KinesisSource,
  sampling: Sampling,
): Promise<SampledRecord[]> {
  if (iteratorType === 'LATEST') return sampleNewest(kinesis, shards, sampling)
  const atMs = timestamp * 1_000
  if (iteratorType === 'AT_TIMESTAMP' && atMs > Date.now()) throw futureFailure()
  const start: ShardStart = iteratorType === 'AT_TIMESTAMP' ? { type: iteratorType, atMs } : { type: iteratorType }
  const found = await search(kinesis, shards, start, { ...sampling, wantsNewest: false })
  return found.slice(0, sampling.maxRecords)
}

/**
 * A pipe that begins with LATEST reads what comes after its beginning, and of that there is nothing yet: what came last stands
 * for it. Kinesis cannot be read backwards, so it is searched for in the last hour first, then from the start.
 */
async function sampleNewest(kinesis: Kinesis, shards: Shard[], sampling: Sampling): Promise<SampledRecord[]> {
  const starts: ShardStart[] = [{ type: 'AT_TIMESTAMP', atMs: Date.now() - recentMs }, { type: 'TRIM_HORIZON' }]
  for (const start of starts) {
    const found = await search(kinesis, shards, start, { ...sampling, wantsNewest: true })
    if (found.length > 0) {
      return found.toSorted((a, b) => a.arrivedAtMs - b.arrivedAtMs).slice(-sampling.maxRecords)
    }
  }
  return []
}

interface Search extends Sampling {
  /** Go on to the end, and keep what came last. Otherwise: what comes first, and no further. */
  wantsNewest: boolean
}

/** A few shards at a time, in their order; of each shard no more than is wanted of all. */
async function search(kinesis: Kinesis, shards: Shard[], start: ShardStart, wanted: Search): Promise<SampledRecord[]> {
  const endsAtMs = performance.now() + searchMs
  const found: SampledRecord[] = []
  for (let first = 0; first < shards.length; first += shardsAtOnce) {
    const group = shards.slice(first, first + shardsAtOnce)
    const read = await Promise.all(group.map(({ id }) => searchShard(kinesis, id, start, wanted, endsAtMs)))
    found.push(...read.flat())
    const isFull = !wanted.wantsNewest && found.length >= wanted.maxRecords
    if (isFull || performance.now() > endsAtMs) break
  }
  return found
}

async function searchShard(
  kinesis: Kinesis,
  shard: string,
  start: ShardStart,
  { maxRecords, signal, wantsNewest }: Search,
  endsAtMs: number,
): Promise<SampledRecord[]> {
  let iterator: string | undefined = await kinesis.findStart(shard, start)
  let found: SampledRecord[] = []
  let wasAnswered = false
  for (let page = 0; iterator && page < maxPagesOfShard; page += 1) {
    if (page > 0) await wait(readPauseMs, undefined, { signal }).catch(() => undefined)
    const read = await kinesis.readPage(iterator, wantsNewest ? newestPageRecords : maxRecords)
    // An iterator lives for minutes, and this search for seconds.
    if (read === 'expired') break
    if (read !== 'throttled') {
      wasAnswered = true
      found.push(...read.records.map((record) => ({ ...record, shard })))
      found = wantsNewest ? found.slice(-maxRecords) : found.slice(0, maxRecords)
      iterator = read.next
      if (!read.isBehind || (!wantsNewest && found.length >= maxRecords)) break
    }
    if (performance.now() > endsAtMs) break
  }
  if (!wasAnswered) throw slowDownFailure()
  return found
}
