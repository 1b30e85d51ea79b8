// Subscribes to shards with enhanced fan-out, where Kinesis pushes records. Fan-out is only an optimisation: shards without a
// subscription are polled (see `isSubscribed`), and polling reports errors of the stream. To avoid duplicates, a subscription begins
// between two polls, after the last record read, and the shard is polled again only after the subscription has ended.
import { setTimeout as wait } from 'node:timers/promises'
import type { Selection } from '../source.ts'
import type { Kinesis } from './kinesis-client.ts'
import { FanOutFailure, type ShardEvent } from './kinesis-consumer.ts'
import { addNewShards, isAtTime, type ReadShard, resumeOf } from './kinesis-shards.ts'

/** For tests. */
export interface FanOutLimits {
  /** Pause after a failure that somebody must fix. */
  retryMs: number
  /** Kinesis rejects a second subscription within 5 s of the first. */
  betweenMs: number
  longestBetweenMs: number
  /** A subscription in place of a LATEST iterator begins at a time of our clock. After this long, clock skew no longer matters. */
  settledAfterMs: number
  /** Limit for the waiting records of all shards; each shard may exceed it by one event. */
  waitingBytes: number
}

const defaultLimits: FanOutLimits = {
  retryMs: 5 * 60_000,
  betweenMs: 5_500,
  longestBetweenMs: 60_000,
  settledAfterMs: 10 * 60_000,
  waitingBytes: 32 * 1_024 * 1_024,
}

/** Each has a connection. */
const mostSubscriptions = 100
/** Consecutive failures of one shard before `note` reports them. */
const unreportedFailures = 2
const leastWaitingBytes = 256 * 1_024
const recordOverheadBytes = 200
const beginMs = 1_000

export interface FanOut {
  /** Looks up the consumer, which already exists when a pipe resumes: then no poll is needed first. Waits briefly. */
  begin(): Promise<void>
  /** Starts the subscriptions that are due. No shard passed may have a poll in flight. */
  startDue(readable: ReadShard[]): void
  /** Whether a subscription is open or opening: the shard must not be polled. */
  isSubscribed(shard: ReadShard): boolean
  /** Whether a subscription has not received anything yet. */
  isOpening(): boolean
  /** Waiting records have been taken. */
  recordsTaken(): void
  /** Why shards are polled; undefined when none is, or when the cause is temporary. */
  note(): string | undefined
  close(): Promise<void>
}

export interface FanOutParts {
  kinesis: Kinesis
  consumerName: string
  /** The shards of the reader: records are added to them, and new shards to the list. */
  shards: ReadShard[]
  selection: Selection
  signal: AbortSignal
  /** Called when records have arrived or a subscription has ended. */
  arrived(): void
  limits?: Partial<FanOutLimits>
}

interface ShardSubscription {
  /** Undefined: not subscribed. */
  state: 'opening' | 'open' | undefined
  /** Earliest time of the next attempt. */
  dueAtMs: number
  /** Consecutive failures. */
  failures: number
  /** ContinuationSequenceNumber of the last event; undefined when the last record read is further. */
  continuation: string | undefined
}

export function makeFanOut(parts: FanOutParts): FanOut {
  const { kinesis, consumerName, shards, selection, arrived } = parts
  const limits = { ...defaultLimits, ...parts.limits }
  const closing = new AbortController()
  const signal = AbortSignal.any([parts.signal, closing.signal])
  const begunAtMs = performance.now()
  const subscriptions = new Map<string, ShardSubscription>()
  const tasks = new Set<Promise<void>>()
  const taken = makeNotifier()
  let consumer: string | undefined
  let preparesAtMs = 0
  let reason: string | undefined
  let isAtLimit = false

  const run = (task: () => Promise<void>): Promise<void> => {
    const done = task().finally(() => {
      tasks.delete(done)
      arrived()
    })
    tasks.add(done)
    return done
  }

  const prepare = async (): Promise<void> => {
    preparesAtMs = Infinity
    try {
      consumer = await kinesis.consumers.prepare(consumerName, signal)
      preparesAtMs = 0
    } catch (error) {
      const failure = toFanOutFailure(error)
      preparesAtMs = performance.now() + (failure.kind === 'refused' ? limits.retryMs : limits.longestBetweenMs)
      reason = failure.reason
    }
  }

  const subscribe = async (shard: ReadShard, entry: ShardSubscription, arn: string): Promise<void> => {
    entry.state = 'opening'
    entry.dueAtMs = performance.now() + limits.betweenMs
    shard.iterator = undefined
    try {
      const start = resumeOf(shard, entry.continuation)
      for await (const event of kinesis.consumers.subscribe(arn, shard.id, start, signal)) {
        // Child shards are added before the end of their parent is reported. If listing fails, Kinesis sends the end again.
        if (event.isEnd) addNewShards(shards, await kinesis.listShards('read', signal), selection)
        take(shard, entry, event)
        reason = undefined
        arrived()
        if (event.isEnd) break
        while (!hasMemory(shard) && !signal.aborted) await taken.next()
      }
      // A subscription without any event has failed.
      if (entry.state === 'opening') throw new FanOutFailure('broken', 'Kinesis breaks subscriptions off')
    } catch (error) {
      if (!signal.aborted) recordFailure(entry, toFanOutFailure(error))
    } finally {
      entry.state = undefined
      shard.dueAtMs = performance.now()
    }
  }

  const recordFailure = (entry: ShardSubscription, failure: FanOutFailure): void => {
    entry.failures += 1
    const waitMs = Math.min(limits.longestBetweenMs, limits.betweenMs * 2 ** Math.min(entry.failures - 1, 10))
    entry.dueAtMs = performance.now() + waitMs
    if (failure.kind === 'gone' || failure.kind === 'refused') consumer = undefined
    if (failure.kind === 'refused') preparesAtMs = performance.now() + limits.retryMs
    if (failure.kind === 'refused' || entry.failures > unreportedFailures) reason = failure.reason
  }

  const hasMemory = ({ waiting }: ReadShard): boolean => {
    let leftBytes = Math.max(leastWaitingBytes, limits.waitingBytes / Math.max(1, tasks.size))
    return waiting.every(({ data }) => {
      leftBytes -= data.length + recordOverheadBytes
      return leftBytes > 0
    })
  }

  const subscriptionOf = ({ id }: ReadShard): ShardSubscription => {
    const known = subscriptions.get(id) ?? { state: undefined, dueAtMs: 0, failures: 0, continuation: undefined }
    subscriptions.set(id, known)
    return known
  }

  const isSettled = (shard: ReadShard): boolean =>
    !isAtTime(shard) || shard.iterator === undefined || performance.now() - begunAtMs > limits.settledAfterMs

  return {
    async begin() {
      const over = new AbortController()
      const longest = wait(beginMs, undefined, { signal: AbortSignal.any([signal, over.signal]) })
      await Promise.race([run(prepare), longest.catch(() => undefined)])
      over.abort()
    },
    startDue(readable) {
      if (signal.aborted) return
      const nowMs = performance.now()
      const arn = consumer
      if (arn === undefined) {
        if (nowMs >= preparesAtMs) void run(prepare)
        return
      }
      const idle = readable.filter((shard) => !shard.isExhausted && !subscriptionOf(shard).state)
      const due = idle.filter((shard) => subscriptionOf(shard).dueAtMs <= nowMs && isSettled(shard))
      const free = mostSubscriptions - [...subscriptions.values()].filter(({ state }) => state).length
      isAtLimit = due.length > free
      for (const shard of due.slice(0, Math.max(0, free))) void run(() => subscribe(shard, subscriptionOf(shard), arn))
    },
    isSubscribed: ({ id }) => subscriptions.get(id)?.state !== undefined,
    isOpening: () => [...subscriptions.values()].some(({ state }) => state === 'opening'),
    recordsTaken: () => taken.notify(),
    note() {
      if (reason !== undefined) return `by polling, because ${reason}`
      if (!isAtLimit) return undefined
      return `some shards by polling, because one worker subscribes to ${mostSubscriptions} shards at most`
    },
    async close() {
      closing.abort()
      taken.notify()
      await Promise.all(tasks)
    },
  }
}

function take(
  shard: ReadShard,
  entry: ShardSubscription,
  { records, continuation, isBehind, isEnd }: ShardEvent,
): void {
  entry.state = 'open'
  entry.failures = 0
  entry.continuation = continuation
  for (const record of records) shard.waiting.push(record)
  shard.reached = records.at(-1)?.sequence ?? shard.reached
  shard.isBehind = isBehind
  shard.isExhausted = isEnd
}

function toFanOutFailure(error: unknown): FanOutFailure {
  return error instanceof FanOutFailure ? error : new FanOutFailure('broken', 'Kinesis breaks subscriptions off')
}

export interface Notifier {
  notify(): void
  /** Resolves with the next `notify`. */
  next(): Promise<void>
}

export function makeNotifier(): Notifier {
  let pending = Promise.withResolvers<void>()
  return {
    notify() {
      const { resolve } = pending
      pending = Promise.withResolvers()
      resolve()
    },
    next: () => pending.promise,
  }
}
