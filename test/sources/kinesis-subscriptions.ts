// Serves shard subscriptions, with the failures that a test configures.
import { once } from 'node:events'
import type { Http2ServerResponse } from 'node:http2'
import { setTimeout as wait } from 'node:timers/promises'
import { exceptionFrame } from './kinesis-event-frames.ts'
import type { FeedStart, ShardFeed } from './kinesis-shard-feed.ts'

export interface SubscriptionBehavior {
  /** Duration of a subscription; five minutes at AWS. */
  endsAfterMs: number
  /** The subscription breaks in the middle of this frame. */
  breaksInFrame: number
  /** This frame and all later ones are never sent. */
  isSilentFrom: number
  /** Sent instead of the third frame, as the end. */
  exception: string | undefined
  /** Another subscription to the same shard is rejected for this time. */
  isTakenForMs: number
  /** Most records of one event. */
  eventRecords: number
}

export const defaultBehavior: SubscriptionBehavior = {
  endsAfterMs: 300_000,
  breaksInFrame: Infinity,
  isSilentFrom: Infinity,
  exception: undefined,
  isTakenForMs: 0,
  eventRecords: 100,
}

export interface Subscriptions {
  /** Returns the error code if the subscription is rejected. Otherwise resolves when it has ended. */
  serve(consumer: string, from: FeedStart, response: Http2ServerResponse): Promise<string | undefined>
  count(): number
  sentBytes(): number
  /** Resolves when all subscriptions have ended. */
  end(): Promise<void>
}

export function makeSubscriptions(feed: ShardFeed, behavior: SubscriptionBehavior): Subscriptions {
  const open = new Map<string, AbortController>()
  const running = new Map<AbortController, Promise<void>>()
  const begunAtMs = new Map<string, number>()
  let sentBytes = 0

  const send = async (from: FeedStart, response: Http2ServerResponse, signal: AbortSignal): Promise<void> => {
    let frames = 0
    for await (const frame of feed.frames(from, behavior.eventRecords, signal)) {
      frames += 1
      if (frames >= behavior.isSilentFrom) await once(signal, 'abort')
      if (signal.aborted) return
      if (frames >= 3 && behavior.exception !== undefined) {
        response.write(exceptionFrame(behavior.exception))
        return
      }
      if (frames >= behavior.breaksInFrame) {
        response.write(frame.subarray(0, -3))
        await wait(5)
        response.stream.session?.destroy()
        return
      }
      sentBytes += frame.length
      if (!response.write(frame)) await once(response, 'drain', { signal })
    }
  }

  return {
    async serve(consumer, from, response) {
      const key = `${consumer} ${from.shard}`
      if (performance.now() - (begunAtMs.get(key) ?? -Infinity) < behavior.isTakenForMs) return 'ResourceInUseException'
      begunAtMs.set(key, performance.now())
      open.get(key)?.abort()
      const ending = new AbortController()
      open.set(key, ending)
      const timer = setTimeout(() => ending.abort(), behavior.endsAfterMs)
      response.once('close', () => ending.abort())
      if (response.stream.closed) ending.abort()
      const sending = send(from, response, ending.signal).then(
        () => void response.end(),
        () => response.stream.close(),
      )
      running.set(ending, sending)
      if (!response.stream.closed) response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' })
      await sending
      clearTimeout(timer)
      running.delete(ending)
      if (open.get(key) === ending) open.delete(key)
      return undefined
    },
    count: () => open.size,
    sentBytes: () => sentBytes,
    async end() {
      for (const ending of running.keys()) ending.abort()
      await Promise.all(running.values())
    },
  }
}
