// Samples a stream: some records of its shards, with few requests in a short time. A stream can hold days of data in shards that are
// mostly empty, so the search is limited.
import { setTimeout as wait } from 'node:timers/promises'
import type { KinesisSource } from '../../source-shapes/kinesis-source.ts'
import { type Kinesis, readPauseMs, type Shard } from './kinesis-client.ts'
import { streamFailure } from './kinesis-failure.ts'
import type { KinesisRecord } from './kinesis-record.ts'
import type { ShardStart } from './shard-start.ts'

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
  if (iteratorType === 'AT_TIMESTAMP' && atMs > Date.now()) throw streamFailure('timeInFuture', {})
  const start: ShardStart = iteratorType === 'AT_TIMESTAMP' ? { type: iteratorType, atMs } : { type: iteratorType }
  const found = await search(kinesis, shards, start, { ...sampling, isNewest: false })
  return found.slice(0, sampling.maxRecords)
}

/**
 * A pipe with LATEST reads only future records, so the newest existing records stand for them. Kinesis cannot be read backwards:
 * the search begins an hour ago, and then at TRIM_HORIZON.
 */
async function sampleNewest(kinesis: Kinesis, shards: Shard[], sampling: Sampling): Promise<SampledRecord[]> {
  const starts: ShardStart[] = [{ type: 'AT_TIMESTAMP', atMs: Date.now() - recentMs }, { type: 'TRIM_HORIZON' }]
  for (const start of starts) {
    const found = await search(kinesis, shards, start, { ...sampling, isNewest: true })
    if (found.length > 0) {
      return found.toSorted((a, b) => a.arrivedAtMs - b.arrivedAtMs).slice(-sampling.maxRecords)
    }
  }
  return []
}

interface Search extends Sampling {
  /** Read to the end and keep the newest records. Otherwise stop after the first ones. */
  isNewest: boolean
}

/** Searches a few shards at a time, in order; each returns at most `maxRecords`. */
async function search(kinesis: Kinesis, shards: Shard[], start: ShardStart, options: Search): Promise<SampledRecord[]> {
  const endsAtMs = performance.now() + searchMs
  const found: SampledRecord[] = []
  for (let first = 0; first < shards.length; first += shardsAtOnce) {
    const group = shards.slice(first, first + shardsAtOnce)
    const read = await Promise.all(group.map(({ id }) => searchShard(kinesis, id, start, options, endsAtMs)))
    found.push(...read.flat())
    const isFull = !options.isNewest && found.length >= options.maxRecords
    if (isFull || performance.now() > endsAtMs) break
  }
  return found
}

async function searchShard(
  kinesis: Kinesis,
  shard: string,
  start: ShardStart,
  { maxRecords, signal, isNewest }: Search,
  endsAtMs: number,
): Promise<SampledRecord[]> {
  let iterator: string | undefined = await kinesis.getShardIterator(shard, start)
  let found: SampledRecord[] = []
  let wasAnswered = false
  for (let page = 0; iterator && page < maxPagesOfShard; page += 1) {
    if (page > 0) await wait(readPauseMs, undefined, { signal }).catch(() => undefined)
    const read = await kinesis.readPage(iterator, isNewest ? newestPageRecords : maxRecords)
    // An iterator is valid for five minutes, longer than this search.
    if (read === 'expired') break
    if (read !== 'throttled') {
      wasAnswered = true
      found.push(...read.records.map((record) => ({ ...record, shard })))
      found = isNewest ? found.slice(-maxRecords) : found.slice(0, maxRecords)
      iterator = read.next
      if (!read.isBehind || (!isNewest && found.length >= maxRecords)) break
    }
    if (performance.now() > endsAtMs) break
  }
  if (!wasAnswered) throw streamFailure('crowded', {})
  return found
}
