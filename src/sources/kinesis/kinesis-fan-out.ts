// Shards whose records Kinesis sends by itself (enhanced fan-out), instead of being asked for them again and again. It is a faster
// way and nothing more: a shard that is not subscribed to is polled, by whoever asks `follows`, and whatever is wrong with the stream
// itself is judged there. So that nothing comes twice, a shard is subscribed to only between two polls, behind the last record that
// was read of it; and is polled only when its subscription has ended.
import { setTimeout as wait } from 'node:timers/promises'
import type { Selection } from '../source.ts'
import type { Kinesis } from './kinesis-client.ts'
import { FanOutFailure, type ShardEvent } from './kinesis-consumer.ts'
import { addNewShards, isAtTime, type ReadShard, resumeOf } from './kinesis-shards.ts'

/** Only tests bring their own. */
export interface FanOutLimits {
  /** After a refusal, which somebody else has to mend. */
  retryMs: number
  /** Kinesis refuses a second subscription within 5 s of the first. */
  betweenMs: number
  longestBetweenMs: number
  /** LATEST is the moment of an iterator, which a subscription knows as a time of our clock: by then they mean the same. */
  settledAfterMs: number
  /** What waits of all shards together may be as large, and one event of each more. */
  waitingBytes: number
}

const usualLimits: FanOutLimits = {
  retryMs: 5 * 60_000,
  betweenMs: 5_500,
  longestBetweenMs: 60_000,
  settledAfterMs: 10 * 60_000,
  waitingBytes: 32 * 1_024 * 1_024,
}

/** Each has a connection. */
const mostSubscriptions = 100
/** In a row, of one shard: then it is told. */
const failuresUntold = 2
const leastWaitingBytes = 256 * 1_024
const recordOverheadBytes = 200
const beginMs = 1_000

export interface FanOut {
  /** Looks for the consumer, which is there when a pipe goes on: then nothing needs to be polled first. Does not wait for long. */
  begin(): Promise<void>
  /** Begins the subscriptions that are due. Not while a shard of these is being polled. */
  tend(readable: ReadShard[]): void
  /** Whether the shard is subscribed to, or is about to be: it must not be polled. */
  follows(shard: ReadShard): boolean
  /** Some of them have not said anything yet. */
  isOpening(): boolean
  /** Something that was waiting has been taken. */
  makeRoom(): void
  /** Why shards are polled; undefined when none is, or when that passes by itself. */
  note(): string | undefined
  close(): Promise<void>
}

export interface FanOutParts {
  kinesis: Kinesis
  consumerName: string
  /** Of the reader; what comes is put into them, and shards that are new are added. */
  shards: ReadShard[]
  selection: Selection
  signal: AbortSignal
  /** Something has come, or has ended. */
  arrived(): void
  limits?: Partial<FanOutLimits>
}

interface Following {
  /** Undefined when there is none. */
  subscription: 'opening' | 'open' | undefined
  /** Not to be subscribed to before. */
  dueAtMs: number
  /** In a row. */
  failures: number
  /** Kinesis has sent everything up to it; undefined when what was read last tells more. */
  continuation: string | undefined
}

export function makeFanOut(parts: FanOutParts): FanOut {
  const { kinesis, consumerName, shards, selection, arrived } = parts
  const limits = { ...usualLimits, ...parts.limits }
  const closing = new AbortController()
  const signal = AbortSignal.any([parts.signal, closing.signal])
  const begunAtMs = performance.now()
  const followed = new Map<string, Following>()
  const tasks = new Set<Promise<void>>()
  const room = makeBell()
  let consumer: string | undefined
  let preparesAtMs = 0
  let reason: string | undefined
  let isCrowded = false

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
      const failure = troubleOf(error)
      preparesAtMs = performance.now() + (failure.trouble === 'refused' ? limits.retryMs : limits.longestBetweenMs)
      reason = failure.reason
    }
  }

  const follow = async (shard: ReadShard, following: Following, arn: string): Promise<void> => {
    following.subscription = 'opening'
    following.dueAtMs = performance.now() + limits.betweenMs
    shard.iterator = undefined
    try {
      const start = resumeOf(shard, following.continuation)
      for await (const event of kinesis.consumers.subscribe(arn, shard.id, start, signal)) {
        // What it was split or merged into is there before its end is sent. If this fails, the end is sent again.
        if (event.isEnd) addNewShards(shards, await kinesis.listShards('read', signal), selection)
        take(shard, following, event)
        reason = undefined
        arrived()
        if (event.isEnd) break
        while (!hasRoom(shard) && !signal.aborted) await room.heard()
      }
      // One that never said anything has not come about.
      if (following.subscription === 'opening') throw new FanOutFailure('broken', 'Kinesis breaks subscriptions off')
    } catch (error) {
      if (!signal.aborted) judge(following, troubleOf(error))
    } finally {
      following.subscription = undefined
      shard.dueAtMs = performance.now()
    }
  }

  const judge = (following: Following, failure: FanOutFailure): void => {
    following.failures += 1
    const waitMs = Math.min(limits.longestBetweenMs, limits.betweenMs * 2 ** Math.min(following.failures - 1, 10))
    following.dueAtMs = performance.now() + waitMs
    if (failure.trouble === 'gone' || failure.trouble === 'refused') consumer = undefined
    if (failure.trouble === 'refused') preparesAtMs = performance.now() + limits.retryMs
    if (failure.trouble === 'refused' || following.failures > failuresUntold) reason = failure.reason
  }

  const hasRoom = ({ waiting }: ReadShard): boolean => {
    let leftBytes = Math.max(leastWaitingBytes, limits.waitingBytes / Math.max(1, tasks.size))
    return waiting.every(({ data }) => {
      leftBytes -= data.length + recordOverheadBytes
      return leftBytes > 0
    })
  }

  const followingOf = ({ id }: ReadShard): Following => {
    const known = followed.get(id) ?? { subscription: undefined, dueAtMs: 0, failures: 0, continuation: undefined }
    followed.set(id, known)
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
    tend(readable) {
      if (signal.aborted) return
      const nowMs = performance.now()
      const arn = consumer
      if (arn === undefined) {
        if (nowMs >= preparesAtMs) void run(prepare)
        return
      }
      const idle = readable.filter((shard) => !shard.isExhausted && !followingOf(shard).subscription)
      const due = idle.filter((shard) => followingOf(shard).dueAtMs <= nowMs && isSettled(shard))
      const free = mostSubscriptions - [...followed.values()].filter(({ subscription }) => subscription).length
      isCrowded = due.length > free
      for (const shard of due.slice(0, Math.max(0, free))) void run(() => follow(shard, followingOf(shard), arn))
    },
    follows: ({ id }) => followed.get(id)?.subscription !== undefined,
    isOpening: () => [...followed.values()].some(({ subscription }) => subscription === 'opening'),
    makeRoom: () => room.ring(),
    note() {
      if (reason !== undefined) return `by polling, because ${reason}`
      if (!isCrowded) return undefined
      return `some shards by polling, because one worker subscribes to ${mostSubscriptions} shards at most`
    },
    async close() {
      closing.abort()
      room.ring()
      await Promise.all(tasks)
    },
  }
}

function take(shard: ReadShard, following: Following, { records, continuation, isBehind, isEnd }: ShardEvent): void {
  following.subscription = 'open'
  following.failures = 0
  following.continuation = continuation
  for (const record of records) shard.waiting.push(record)
  shard.reached = records.at(-1)?.sequence ?? shard.reached
  shard.isBehind = isBehind
  shard.isExhausted = isEnd
}

function troubleOf(error: unknown): FanOutFailure {
  return error instanceof FanOutFailure ? error : new FanOutFailure('broken', 'Kinesis breaks subscriptions off')
}

export interface Bell {
  ring(): void
  /** Resolves when it is rung next. */
  heard(): Promise<void>
}

export function makeBell(): Bell {
  let next = Promise.withResolvers<void>()
  return {
    ring() {
      const { resolve } = next
      next = Promise.withResolvers()
      resolve()
    },
    heard: () => next.promise,
  }
}
