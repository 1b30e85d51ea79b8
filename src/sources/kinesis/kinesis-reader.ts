// Reads a stream on from given positions: all shards that may be read, in turns. They are polled, or subscribed to where the pipe asks
// for enhanced fan-out. What comes beyond the limits of a read waits here for the next one.

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
  type SourceAccess,
} from '../source.ts'
import { makeReadAhead, type ReadAhead } from './kinesis-ahead.ts'
import { type TakenStream, takeBatches } from './kinesis-batches.ts'
import { type Kinesis, makeKinesis, readPauseMs } from './kinesis-client.ts'
import { consumerNameOf } from './kinesis-consumer.ts'
import { expiredShards, lostFailure } from './kinesis-failure.ts'
import { type Bell, type FanOut, type FanOutLimits, makeBell, makeFanOut } from './kinesis-fan-out.ts'
import type { KinesisRecord } from './kinesis-record.ts'
import {
  addNewShards,
  firstShards,
  isAtTime,
  isBeyond,
  isEnd,
  isJustAfter,
  lagOf,
  pinAt,
  type ReadShard,
  readableShards,
  resumeOf,
  startOf,
} from './kinesis-shards.ts'

const shardsAtOnce = 8
/** After Kinesis has asked us to slow down. */
const throttledPauseMs = 1_000
/** What comes out of shards that other readers have is noticed after this time at the latest. */
const longestRefreshMs = 30_000
/** In a row: then what is wanted of a shard is not there any more. */
const mostEmptyPages = 3
/** A subscription that has just begun is waited for, also by a reader in a hurry. */
const openingMs = 1_000
/** A shard that is due for so long is polled before anything else is given: shards that are subscribed to could go on giving. */
const neglectedMs = 1_000

export interface KinesisReaderOptions {
  selection?: Selection
  refreshMs?: number
  /** Our clock, in milliseconds. */
  now?: () => number
  /** Of a subscription. */
  silenceMs?: number
  fanOutLimits?: Partial<FanOutLimits>
}

export async function openKinesisReader(
  config: KinesisSource,
  secrets: SourceSecrets,
  context: SourceContext,
  positions: Positions,
  surroundings: SourceAccess,
  options: KinesisReaderOptions = {},
): Promise<SourceReader> {
  const { selection = {}, refreshMs = longestRefreshMs, now = Date.now, silenceMs } = options
  const closing = new AbortController()
  const signal = AbortSignal.any([surroundings.signal, closing.signal])
  const ofClient = silenceMs === undefined ? {} : { silenceMs }
  const kinesis = makeKinesis(config, secrets, context, { ...surroundings, signal }, ofClient)
  let fanOut: FanOut | undefined
  const close = async (): Promise<void> => {
    closing.abort()
    await fanOut?.close()
    kinesis.close()
  }
  try {
    const shards = firstShards(await kinesis.listShards('describe'), positions, config, selection)
    const missing = Object.keys(selection.until ?? {}).find((id) => shards.every((shard) => shard.id !== id))
    if (missing !== undefined) throw lostFailure(missing, config.streamName)
    await pinNewest(kinesis, shards, now())
    const listing = { refreshMs, listedAtMs: performance.now() }
    const arrival = makeBell()
    // What was read before is read once more from pages: they can be asked for up to a record.
    if (config.useEnhancedFanOut && context.pipeId !== undefined && !selection.until) {
      const consumerName = consumerNameOf(context.pipeId)
      const parts = { kinesis, consumerName, shards, selection, signal, arrived: arrival.ring }
      fanOut = makeFanOut({ ...parts, limits: options.fanOutLimits ?? {} })
      await fanOut.begin()
    }
    const stream: Stream = { kinesis, shards, name: config.streamName, turn: 0, selection, fanOut, arrival, ...listing }
    // A subscription begins behind all that was read: no page may be under way then. A range ends where it must, and is short.
    const ahead = fanOut || selection.until ? undefined : aheadOf(stream, signal)
    return {
      async read(limits) {
        const limit = AbortSignal.any([limits.signal, signal])
        const given = ahead ? readOn(stream, ahead, limits, limit) : read(stream, limits, limit)
        return given.catch((error) => rethrow(limit.aborted ? new NotConnected() : error))
      },
      // Kinesis keeps no positions of those who read.
      acknowledge: async () => undefined,
      lag: () => lagOf(shards),
      note: () => fanOut?.note(),
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
  throw isUnresolved || passingFailures.includes(error.code) ? new NotConnected(undefined, error) : error
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

interface Stream extends TakenStream {
  kinesis: Kinesis
  selection: Selection
  fanOut: FanOut | undefined
  arrival: Bell
  refreshMs: number
  listedAtMs: number
}

async function read(stream: Stream, limits: ReadLimits, signal: AbortSignal): Promise<Batch[]> {
  const { fanOut } = stream
  const endsAtMs = performance.now() + limits.waitMs
  const asked = new Set<ReadShard>()
  for (;;) {
    signal.throwIfAborted()
    fanOut?.tend(readableShards(stream.shards))
    await fetchNeglected(stream, limits.maxRecords, signal)
    const batches = takeBatches(stream, limits)
    fanOut?.makeRoom()
    if (batches.length > 0) return batches
    if (stream.selection.until && stream.shards.every(({ isFinished }) => isFinished)) throw new EndOfInput()
    await refresh(stream, signal)
    const polled = polledShards(stream)
    const nowMs = performance.now()
    // However short the time is, every shard is asked once: otherwise a reader in a hurry would never get anything.
    const lastMs = fanOut?.isOpening() ? endsAtMs + openingMs : endsAtMs
    if (nowMs >= lastMs && polled.every((shard) => asked.has(shard))) return []
    const fetched = await fetchDue(stream, polled, { byMs: nowMs, limit: limits.maxRecords, signal })
    for (const shard of fetched) asked.add(shard)
    if (fetched.length > 0) continue
    const nextMs = Math.min(...polled.map(({ dueAtMs }) => dueAtMs))
    await pauseUntil(nowMs < lastMs ? Math.min(nextMs, lastMs) : nextMs, stream.arrival, signal)
  }
}

/** The same without subscriptions, and not of a range that was read before. */
async function readOn(stream: Stream, ahead: ReadAhead, limits: ReadLimits, signal: AbortSignal): Promise<Batch[]> {
  const beganAtMs = performance.now()
  const endsAtMs = beganAtMs + limits.waitMs
  for (;;) {
    signal.throwIfAborted()
    const failure = ahead.takeFailure()
    if (failure) throw failure.reason
    await refresh(stream, signal)
    const batches = takeBatches(stream, limits)
    ahead.begin(limits.maxRecords)
    if (batches.length > 0) return batches
    // However short the time is, every shard is asked once: otherwise a reader in a hurry would never get anything.
    const isOver = performance.now() >= endsAtMs
    if (isOver && ahead.isAnsweredSince(beganAtMs)) return []
    await pauseUntil(isOver ? performance.now() + longestRefreshMs : endsAtMs, stream.arrival, signal)
  }
}

function aheadOf(stream: Stream, signal: AbortSignal): ReadAhead {
  return makeReadAhead({
    polled: () => polledShards(stream),
    fetch: (shard, limit) => fetchPage(stream, shard, limit, signal),
    arrived: stream.arrival.ring,
    signal,
  })
}

function polledShards({ shards, fanOut }: Stream): ReadShard[] {
  return readableShards(shards).filter((shard) => !shard.isExhausted && !fanOut?.follows(shard))
}

async function fetchNeglected(stream: Stream, limit: number, signal: AbortSignal): Promise<void> {
  if (!stream.fanOut) return
  const polled = polledShards(stream)
  if (polled.some(({ waiting }) => waiting.length > 0)) return
  await fetchDue(stream, polled, { byMs: performance.now() - neglectedMs, limit, signal })
}

/** A shard that is split or merged tells so to the reader that has it, and to no other. */
async function refresh(stream: Stream, signal: AbortSignal): Promise<void> {
  const { kinesis, shards, selection, refreshMs, listedAtMs } = stream
  const isAlone = (selection.share?.count ?? 1) === 1
  if (isAlone || selection.until || performance.now() - listedAtMs < refreshMs) return
  stream.listedAtMs = performance.now()
  addNewShards(shards, await kinesis.listShards('read', signal), selection)
}

async function pauseUntil(atMs: number, arrival: Bell, signal: AbortSignal): Promise<void> {
  const over = new AbortController()
  const pausing = AbortSignal.any([signal, over.signal])
  const pause = wait(Math.max(1, Math.ceil(atMs - performance.now())), undefined, { signal: pausing })
  await Promise.race([pause.catch(() => undefined), arrival.heard()])
  over.abort()
  // So that nothing hangs on a bell that nobody rings.
  arrival.ring()
}

interface Fetching {
  /** Those that were due then or before, the longest first. */
  byMs: number
  limit: number
  signal: AbortSignal
}

async function fetchDue(stream: Stream, shards: ReadShard[], { byMs, limit, signal }: Fetching): Promise<ReadShard[]> {
  const due = shards.filter(({ dueAtMs }) => dueAtMs <= byMs).toSorted((a, b) => a.dueAtMs - b.dueAtMs)
  const fetched = due.slice(0, shardsAtOnce)
  const results = await Promise.allSettled(fetched.map((shard) => fetchPage(stream, shard, limit, signal)))
  const failed = results.find(({ status }) => status === 'rejected')
  signal.throwIfAborted()
  if (failed?.status === 'rejected') throw failed.reason
  return fetched
}

async function fetchPage(stream: Stream, shard: ReadShard, limit: number, signal: AbortSignal): Promise<void> {
  const { kinesis } = stream
  shard.dueAtMs = performance.now() + readPauseMs
  const page = await loadPage(kinesis, shard, limit, signal).catch(async (error: unknown) => {
    const isGone =
      error instanceof ProbeFailure && error.code === 'not_found' && (await isForgotten(stream, shard, signal))
    if (isGone && shard.until !== undefined) throw lostFailure(shard.id, stream.name)
    if (!isGone) throw error
    shard.lost = expiredShards(stream.name)
    return { records: [], next: undefined, isBehind: false }
  })
  if (page === 'throttled') {
    shard.dueAtMs = performance.now() + throttledPauseMs
  } else if (page === 'expired') {
    shard.iterator = undefined
  } else {
    // What a closed shard was split or merged into is there before its end can be read. If this fails, the page is read again.
    if (page.next === undefined) addNewShards(stream.shards, await kinesis.listShards('read', signal), stream.selection)
    shard.waiting.push(...page.records)
    shard.reached = page.records.at(-1)?.sequence ?? shard.reached
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
  // Not from its position: a subscription that has just ended may have left records here that are not given yet.
  shard.iterator ??= await kinesis.findStart(shard.id, resumeOf(shard), signal).catch((error: unknown) => {
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
