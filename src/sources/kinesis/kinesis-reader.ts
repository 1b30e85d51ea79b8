// Reads a stream on from given positions: all shards that may be read, in turns. What a page brings beyond the limits of a read
// waits here for the next one.

import { setTimeout as wait } from 'node:timers/promises'
import type { KinesisSource } from '../../pipes/kinesis-source.ts'
import type { SourceSecrets } from '../../pipes/pipe-source.ts'
import { passingFailures } from '../failure.ts'
import {
  type Batch,
  EndOfInput,
  NotConnected,
  type Positions,
  ProbeFailure,
  type ReadLimits,
  type Selection,
  type SourceContext,
  type SourceReader,
  type SourceRecord,
  type Surroundings,
} from '../source.ts'
import { type Kinesis, type KinesisRecord, lostFailure, makeKinesis, readPauseMs } from './kinesis-client.ts'
import { decompress } from './kinesis-record.ts'
import {
  addNewShards,
  advance,
  beginningOf,
  endOf,
  firstShards,
  isAtTime,
  isBeyond,
  isEnd,
  isJustAfter,
  lagOf,
  pinAt,
  type ReadShard,
  readableShards,
  startOf,
} from './kinesis-shards.ts'

const shardsAtOnce = 8
/** After Kinesis has asked us to slow down. */
const throttledPauseMs = 1_000
const maxRecordBytes = 32 * 1_024 * 1_024
/** What comes out of shards that other readers have is noticed after this time at the latest. */
const longestRefreshMs = 30_000
/** In a row: then what is wanted of a shard is not there any more. */
const mostEmptyPages = 3

export interface KinesisReaderOptions {
  selection?: Selection
  refreshMs?: number
  /** Our clock, in milliseconds. */
  now?: () => number
}

export async function openKinesisReader(
  config: KinesisSource,
  secrets: SourceSecrets,
  context: SourceContext,
  positions: Positions,
  surroundings: Surroundings,
  { selection = {}, refreshMs = longestRefreshMs, now = Date.now }: KinesisReaderOptions = {},
): Promise<SourceReader> {
  const closing = new AbortController()
  const signal = AbortSignal.any([surroundings.signal, closing.signal])
  const kinesis = makeKinesis(config, secrets, context, { ...surroundings, signal })
  const close = async (): Promise<void> => {
    closing.abort()
    kinesis.close()
  }
  try {
    const shards = firstShards(await kinesis.listShards('describe'), positions, config, selection)
    const missing = Object.keys(selection.until ?? {}).find((id) => shards.every((shard) => shard.id !== id))
    if (missing !== undefined) throw lostFailure(missing, config.streamName)
    await pinNewest(kinesis, shards, now())
    const listing = { refreshMs, listedAtMs: performance.now() }
    const stream: Stream = { kinesis, shards, name: config.streamName, turn: 0, selection, ...listing }
    return {
      async read(limits) {
        const limit = AbortSignal.any([limits.signal, signal])
        return read(stream, limits, limit).catch((error) => rethrow(limit.aborted ? new NotConnected() : error))
      },
      // Kinesis keeps no positions of those who read.
      acknowledge: async () => undefined,
      lag: () => lagOf(shards),
      close,
    }
  } catch (error) {
    await close()
    return rethrow(error)
  }
}

function rethrow(error: unknown): never {
  if (!(error instanceof ProbeFailure)) throw error
  // A region whose host does not resolve has been there when the pipe was made.
  const isUnresolved = error.code === 'wrong_region' && error.step === 'connect'
  throw isUnresolved || passingFailures.includes(error.code) ? new NotConnected() : error
}

/** A shard that gave nothing until its iterator expired, or until the next reader, begins at this time. */
async function pinNewest(kinesis: Kinesis, shards: ReadShard[], atMs: number): Promise<void> {
  const newest = shards.filter((shard) => !shard.isFinished && startOf(shard).type === 'LATEST')
  for (let first = 0; first < newest.length; first += shardsAtOnce) {
    const find = async (shard: ReadShard): Promise<void> => {
      shard.iterator = await kinesis.findStart(shard.id, startOf(shard))
      pinAt(shard, atMs)
    }
    await Promise.all(newest.slice(first, first + shardsAtOnce).map(find))
  }
}

interface Stream {
  kinesis: Kinesis
  name: string
  shards: ReadShard[]
  /** Whose turn it is to be first. */
  turn: number
  selection: Selection
  refreshMs: number
  listedAtMs: number
}

async function read(stream: Stream, limits: ReadLimits, signal: AbortSignal): Promise<Batch[]> {
  const endsAtMs = performance.now() + limits.waitMs
  const asked = new Set<ReadShard>()
  for (;;) {
    signal.throwIfAborted()
    const batches = takeBatches(stream, limits)
    if (batches.length > 0) return batches
    if (stream.selection.until && stream.shards.every(({ isFinished }) => isFinished)) throw new EndOfInput()
    await refresh(stream, signal)
    const readable = readableShards(stream.shards)
    const nowMs = performance.now()
    // However short the time is, every shard is asked once: otherwise a reader in a hurry would never get anything.
    if (nowMs >= endsAtMs && readable.every((shard) => asked.has(shard))) return []
    const due = readable.filter(({ dueAtMs }) => dueAtMs <= nowMs).toSorted((a, b) => a.dueAtMs - b.dueAtMs)
    if (due.length === 0) {
      const nextMs = Math.min(...readable.map(({ dueAtMs }) => dueAtMs))
      await pauseUntil(nowMs < endsAtMs ? Math.min(nextMs, endsAtMs) : nextMs, signal)
      continue
    }
    const now = due.slice(0, shardsAtOnce)
    for (const shard of now) asked.add(shard)
    await fetchAll(stream, now, limits.maxRecords, signal)
  }
}

/** A shard that is split or merged tells so to the reader that has it, and to no other. */
async function refresh(stream: Stream, signal: AbortSignal): Promise<void> {
  const { kinesis, shards, selection, refreshMs, listedAtMs } = stream
  const isAlone = (selection.share?.count ?? 1) === 1
  if (isAlone || selection.until || performance.now() - listedAtMs < refreshMs) return
  stream.listedAtMs = performance.now()
  addNewShards(shards, await kinesis.listShards('read', signal), selection)
}

async function pauseUntil(atMs: number, signal: AbortSignal): Promise<void> {
  await wait(Math.max(1, Math.ceil(atMs - performance.now())), undefined, { signal }).catch(() => undefined)
}

async function fetchAll(stream: Stream, due: ReadShard[], limit: number, signal: AbortSignal): Promise<void> {
  const results = await Promise.allSettled(due.map((shard) => fetchPage(stream, shard, limit, signal)))
  const failed = results.find(({ status }) => status === 'rejected')
  signal.throwIfAborted()
  if (failed?.status === 'rejected') throw failed.reason
}

async function fetchPage(stream: Stream, shard: ReadShard, limit: number, signal: AbortSignal): Promise<void> {
  const { kinesis } = stream
  shard.dueAtMs = performance.now() + readPauseMs
  const page = await loadPage(kinesis, shard, limit, signal).catch(async (error: unknown) => {
    const isGone =
      error instanceof ProbeFailure && error.code === 'not_found' && (await isForgotten(stream, shard, signal))
    if (isGone && shard.until !== undefined) throw lostFailure(shard.id, stream.name)
    if (isGone) return { records: [], next: undefined, isBehind: false }
    throw error
  })
  if (page === 'throttled') {
    shard.dueAtMs = performance.now() + throttledPauseMs
  } else if (page === 'expired') {
    shard.iterator = undefined
  } else {
    // What a closed shard was split or merged into is there before its end can be read. If this fails, the page is read again.
    if (page.next === undefined) addNewShards(stream.shards, await kinesis.listShards('read', signal), stream.selection)
    shard.waiting.push(...page.records)
    shard.iterator = page.next
    shard.isExhausted = page.next === undefined
    shard.isBehind = page.isBehind
    if (shard.until !== undefined) judgeWanted(stream, shard, page.records)
  }
}

/** Of a range that was read before, the first and the last record are there, or records are lost. */
function judgeWanted({ name }: Stream, shard: ReadShard, [first]: KinesisRecord[]): void {
  shard.emptyPages = !first && !shard.isBehind ? shard.emptyPages + 1 : 0
  // From a record that is not there any more, Kinesis goes on to the oldest that it has.
  if (first && shard.expected !== undefined && first.sequence !== shard.expected) throw lostFailure(shard.id, name)
  if (first) shard.expected = undefined
  if (isEnd(shard.until)) {
    if (shard.isExhausted && shard.expected !== undefined) throw lostFailure(shard.id, name)
    return
  }
  const wanted = shard.waiting.filter((record) => !isBeyond(shard, record))
  const isCut = wanted.length < shard.waiting.length || shard.isExhausted
  const isMet = isJustAfter(shard.until, wanted.at(-1))
  if ((isCut && !isMet) || shard.emptyPages >= mostEmptyPages) throw lostFailure(shard.id, name)
  shard.waiting = wanted
}

async function loadPage(
  kinesis: Kinesis,
  shard: ReadShard,
  limit: number,
  signal: AbortSignal,
): ReturnType<Kinesis['readPage']> {
  shard.iterator ??= await kinesis.findStart(shard.id, startOf(shard), signal).catch((error: unknown) => {
    // The clock there is behind ours: the time that we wrote down has yet to come.
    const isToCome = isAtTime(shard) && error instanceof ProbeFailure && error.field === 'timestamp'
    throw isToCome ? new NotConnected() : error
  })
  return kinesis.readPage(shard.iterator, limit, signal)
}

/** A closed shard goes when all its records are older than what the stream retains. */
async function isForgotten({ kinesis }: Stream, shard: ReadShard, signal: AbortSignal): Promise<boolean> {
  const shards = await kinesis.listShards('read', signal)
  return shards.every(({ id }) => id !== shard.id)
}

/** What is waiting, within the limits, beginning with another shard each time. */
function takeBatches(stream: Stream, { maxRecords, maxBytes }: ReadLimits): Batch[] {
  const { shards } = stream
  const batches: Batch[] = []
  const left = { records: maxRecords, bytes: maxBytes }
  const first = stream.turn % Math.max(1, shards.length)
  for (const shard of [...shards.slice(first), ...shards.slice(0, first)]) {
    const batch = takeBatch(stream.name, shard, left, batches.length === 0)
    if (batch) batches.push(batch)
  }
  if (batches.length > 0) stream.turn = first + 1
  return batches
}

function takeBatch(
  streamName: string,
  shard: ReadShard,
  left: { records: number; bytes: number },
  isFirst: boolean,
): Batch | undefined {
  const partition = shard.id
  // Without records, but with a position: what came out of this shard may be read from now on, also by the next reader.
  if (shard.isExhausted && !shard.isFinished && shard.waiting.length === 0) {
    return { partition, ...endOf(shard), records: [] }
  }
  const records: SourceRecord[] = []
  const taken: KinesisRecord[] = []
  for (const record of shard.waiting) {
    const value = unpack(record)
    const isAlone = isFirst && records.length === 0
    if (left.records <= 0 || (value.length > left.bytes && !isAlone)) break
    left.records -= 1
    left.bytes -= value.length
    records.push({ value, meta: metaOf(record, shard, streamName) })
    taken.push(record)
  }
  const [firstTaken, lastTaken] = [taken[0], taken.at(-1)]
  if (!firstTaken || !lastTaken) return shard.mustTellStart ? { partition, ...beginningOf(shard), records } : undefined
  shard.waiting.splice(0, taken.length)
  return { partition, ...advance(shard, firstTaken, lastTaken), records }
}

/** What looks compressed and is not, or holds more than a record can, is a record like any other: whoever decodes it will say so. */
function unpack({ data }: KinesisRecord): Uint8Array {
  const value = decompress(data, maxRecordBytes)
  return value instanceof Uint8Array ? value : data
}

function metaOf(
  { sequence, arrivedAt, key }: KinesisRecord,
  { id }: ReadShard,
  streamName: string,
): SourceRecord['meta'] {
  return { _stream: streamName, _shard: id, _sequence: sequence, _timestamp: arrivedAt, _key: key }
}
