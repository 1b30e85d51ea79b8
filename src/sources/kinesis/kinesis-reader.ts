// Reads the shards of a stream from given positions. Shards are polled, or subscribed to with enhanced fan-out. Records beyond the
// limits of a read wait for the next one.

import { setTimeout as wait } from 'node:timers/promises'
import type { KinesisSource } from '../../source-shapes/kinesis-source.ts'
import { NotConnected, ProbeFailure, transientFailures } from '../../source-shapes/source-failure.ts'
import type { SourceSecrets } from '../../source-shapes/source-kind.ts'
import {
  type Batch,
  EndOfInput,
  type Positions,
  type ReadLimits,
  type Selection,
  type SourceAccess,
  type SourceContext,
  type SourceReader,
} from '../source.ts'
import { type BufferedStream, takeBatches } from './kinesis-batches.ts'
import { type Kinesis, makeKinesis, readPauseMs } from './kinesis-client.ts'
import { consumerNameOf } from './kinesis-consumer.ts'
import { expiredShards, lostFailure } from './kinesis-failure.ts'
import { type FanOut, type FanOutLimits, makeFanOut, makeNotifier, type Notifier } from './kinesis-fan-out.ts'
import { makeReadAhead, type ReadAhead } from './kinesis-read-ahead.ts'
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
/** Pause after throttling. */
const throttledPauseMs = 1_000
/** Child shards of other readers' shards are found after this time at the latest. */
const longestRefreshMs = 30_000
/** Consecutive empty pages after which the records of a range are considered lost. */
const mostEmptyPages = 3
/** Grace period for opening subscriptions, also when `waitMs` is short. */
const openingMs = 1_000
/** A shard due for this long is polled first: busy subscriptions must not starve it. */
const overdueMs = 1_000

export interface KinesisReaderOptions {
  selection?: Selection
  refreshMs?: number
  /** Milliseconds of our clock. */
  now?: () => number
  /** Timeout of a silent subscription. */
  silenceMs?: number
  fanOutLimits?: Partial<FanOutLimits>
}

export async function openKinesisReader(
  config: KinesisSource,
  secrets: SourceSecrets,
  context: SourceContext,
  positions: Positions,
  connectOptions: SourceAccess,
  options: KinesisReaderOptions = {},
): Promise<SourceReader> {
  const { selection = {}, refreshMs = longestRefreshMs, now = Date.now, silenceMs } = options
  const closing = new AbortController()
  const signal = AbortSignal.any([connectOptions.signal, closing.signal])
  const clientOptions = silenceMs === undefined ? {} : { silenceMs }
  const kinesis = makeKinesis(config, secrets, context, { ...connectOptions, signal }, clientOptions)
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
    await pinLatest(kinesis, shards, now())
    const listing = { refreshMs, listedAtMs: performance.now() }
    const arrival = makeNotifier()
    // Ranges are polled: only GetRecords can end at a given record.
    if (config.useEnhancedFanOut && context.pipeId !== undefined && !selection.until) {
      const consumerName = consumerNameOf(context.pipeId)
      const parts = { kinesis, consumerName, shards, selection, signal, arrived: arrival.notify }
      fanOut = makeFanOut({ ...parts, limits: options.fanOutLimits ?? {} })
      await fanOut.begin()
    }
    const stream: Stream = {
      kinesis,
      shards,
      name: config.streamName,
      nextFirst: 0,
      selection,
      fanOut,
      arrival,
      ...listing,
    }
    // No page may be in flight when a subscription begins. A range is short, and must not be read beyond its end.
    const ahead = fanOut || selection.until ? undefined : startReadAhead(stream, signal)
    return {
      async read(limits) {
        const limit = AbortSignal.any([limits.signal, signal])
        const given = ahead ? readWithAhead(stream, ahead, limits, limit) : read(stream, limits, limit)
        return given.catch((error) => rethrow(limit.aborted ? new NotConnected() : error))
      },
      // Kinesis does not store consumer positions.
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
  // The host of the region resolved when the pipe was created.
  const isUnresolved = error.code === 'wrong_region' && error.step === 'connect'
  throw isUnresolved || transientFailures.includes(error.code) ? new NotConnected(undefined, error) : error
}

/** Stores the time for shards with LATEST, so that an expired iterator or another reader begins there. */
async function pinLatest(kinesis: Kinesis, shards: ReadShard[], atMs: number): Promise<void> {
  const latest = shards.filter((shard) => !shard.isFinished && startOf(shard).type === 'LATEST')
  for (let first = 0; first < latest.length; first += shardsAtOnce) {
    const find = async (shard: ReadShard): Promise<void> => {
      shard.iterator = await kinesis.getShardIterator(shard.id, startOf(shard))
      pinAt(shard, atMs)
    }
    await Promise.all(latest.slice(first, first + shardsAtOnce).map(find))
  }
}

interface Stream extends BufferedStream {
  kinesis: Kinesis
  selection: Selection
  fanOut: FanOut | undefined
  arrival: Notifier
  refreshMs: number
  listedAtMs: number
}

async function read(stream: Stream, limits: ReadLimits, signal: AbortSignal): Promise<Batch[]> {
  const { fanOut } = stream
  const endsAtMs = performance.now() + limits.waitMs
  const polledOnce = new Set<ReadShard>()
  for (;;) {
    signal.throwIfAborted()
    fanOut?.startDue(readableShards(stream.shards))
    await fetchOverdue(stream, limits.maxRecords, signal)
    const batches = takeBatches(stream, limits)
    fanOut?.recordsTaken()
    if (batches.length > 0) return batches
    if (stream.selection.until && stream.shards.every(({ isFinished }) => isFinished)) throw new EndOfInput()
    await refresh(stream, signal)
    const polled = polledShards(stream)
    const nowMs = performance.now()
    // Every shard is polled at least once: with a short `waitMs` nothing would ever be read otherwise.
    const lastMs = fanOut?.isOpening() ? endsAtMs + openingMs : endsAtMs
    if (nowMs >= lastMs && polled.every((shard) => polledOnce.has(shard))) return []
    const fetched = await fetchDue(stream, polled, { byMs: nowMs, limit: limits.maxRecords, signal })
    for (const shard of fetched) polledOnce.add(shard)
    if (fetched.length > 0) continue
    const nextMs = Math.min(...polled.map(({ dueAtMs }) => dueAtMs))
    await pauseUntil(nowMs < lastMs ? Math.min(nextMs, lastMs) : nextMs, stream.arrival, signal)
  }
}

/** For polling with read-ahead: no subscriptions, no range. */
async function readWithAhead(
  stream: Stream,
  ahead: ReadAhead,
  limits: ReadLimits,
  signal: AbortSignal,
): Promise<Batch[]> {
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
    // Every shard answers at least once: with a short `waitMs` nothing would ever be read otherwise.
    const isOver = performance.now() >= endsAtMs
    if (isOver && ahead.isAnsweredSince(beganAtMs)) return []
    await pauseUntil(isOver ? performance.now() + longestRefreshMs : endsAtMs, stream.arrival, signal)
  }
}

function startReadAhead(stream: Stream, signal: AbortSignal): ReadAhead {
  return makeReadAhead({
    polled: () => polledShards(stream),
    fetch: (shard, limit) => fetchPage(stream, shard, limit, signal),
    arrived: stream.arrival.notify,
    signal,
  })
}

function polledShards({ shards, fanOut }: Stream): ReadShard[] {
  return readableShards(shards).filter((shard) => !shard.isExhausted && !fanOut?.isSubscribed(shard))
}

async function fetchOverdue(stream: Stream, limit: number, signal: AbortSignal): Promise<void> {
  if (!stream.fanOut) return
  const polled = polledShards(stream)
  if (polled.some(({ waiting }) => waiting.length > 0)) return
  await fetchDue(stream, polled, { byMs: performance.now() - overdueMs, limit, signal })
}

/** Only the reader of a parent shard sees that it was split or merged; the others list the shards. */
async function refresh(stream: Stream, signal: AbortSignal): Promise<void> {
  const { kinesis, shards, selection, refreshMs, listedAtMs } = stream
  const isAlone = (selection.assignment?.count ?? 1) === 1
  if (isAlone || selection.until || performance.now() - listedAtMs < refreshMs) return
  stream.listedAtMs = performance.now()
  addNewShards(shards, await kinesis.listShards('read', signal), selection)
}

async function pauseUntil(atMs: number, arrival: Notifier, signal: AbortSignal): Promise<void> {
  const over = new AbortController()
  const pausing = AbortSignal.any([signal, over.signal])
  const pause = wait(Math.max(1, Math.ceil(atMs - performance.now())), undefined, { signal: pausing })
  await Promise.race([pause.catch(() => undefined), arrival.next()])
  over.abort()
  // Settles the promise of `next`, so that nothing stays pending.
  arrival.notify()
}

interface Fetching {
  /** Fetches shards due at this time, the longest due first. */
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
      error instanceof ProbeFailure && error.code === 'not_found' && (await isExpired(stream, shard, signal))
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
    // Child shards are added before the end of their parent can be read. If listing fails, the page is read again.
    if (page.next === undefined) addNewShards(stream.shards, await kinesis.listShards('read', signal), stream.selection)
    shard.waiting.push(...page.records)
    shard.reached = page.records.at(-1)?.sequence ?? shard.reached
    shard.iterator = page.next
    shard.isExhausted = page.next === undefined
    shard.isBehind = page.isBehind
    if (shard.until !== undefined) checkRange(stream, shard, page.records)
  }
}

/** Checks that a range still has its first and last record. Otherwise records are lost. */
function checkRange({ name }: Stream, shard: ReadShard, [first]: KinesisRecord[]): void {
  shard.emptyPages = !first && !shard.isBehind ? shard.emptyPages + 1 : 0
  // From an expired sequence number, Kinesis continues at its oldest record.
  if (first && shard.expected !== undefined && first.sequence !== shard.expected) throw lostFailure(shard.id, name)
  if (first) shard.expected = undefined
  if (isEnd(shard.until)) {
    if (shard.isExhausted && shard.expected !== undefined) throw lostFailure(shard.id, name)
    return
  }
  const inRange = shard.waiting.filter((record) => !isBeyond(shard, record))
  const isCut = inRange.length < shard.waiting.length || shard.isExhausted
  const isMet = isJustAfter(shard.until, inRange.at(-1))
  if ((isCut && !isMet) || shard.emptyPages >= mostEmptyPages) throw lostFailure(shard.id, name)
  shard.waiting = inRange
}

async function loadPage(
  kinesis: Kinesis,
  shard: ReadShard,
  limit: number,
  signal: AbortSignal,
): ReturnType<Kinesis['readPage']> {
  // Not from the position: an ended subscription may have left records here that are not given out yet.
  shard.iterator ??= await kinesis.getShardIterator(shard.id, resumeOf(shard), signal).catch((error: unknown) => {
    // The clock of Kinesis is behind ours: our stored time is in its future.
    const isInFuture = isAtTime(shard) && error instanceof ProbeFailure && error.field === 'timestamp'
    throw isInFuture ? new NotConnected() : error
  })
  return kinesis.readPage(shard.iterator, limit, signal)
}

/** Kinesis drops a closed shard when all its records have expired. */
async function isExpired({ kinesis }: Stream, shard: ReadShard, signal: AbortSignal): Promise<boolean> {
  const shards = await kinesis.listShards('read', signal)
  return shards.every(({ id }) => id !== shard.id)
}
