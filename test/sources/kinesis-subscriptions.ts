// Subscriptions to shards, with all that can become of them.
import { once } from 'node:events'
import type { Http2ServerResponse } from 'node:http2'
import { setTimeout as wait } from 'node:timers/promises'
import { exceptionFrame } from './kinesis-event-frames.ts'
import type { FeedPlace, ShardFeed } from './kinesis-shard-feed.ts'

export interface SubscriptionManners {
  /** A subscription ends after this time, as those of AWS do after five minutes. */
  endsAfterMs: number
  /** It breaks in the middle of its frame of this number. */
  breaksInFrame: number
  /** Its frame of this number, and what follows, is never sent. */
  isSilentFrom: number
  /** What it ends with in place of its third frame. */
  exception: string | undefined
  /** Another one of the same shard is refused for this time. */
  isTakenForMs: number
  /** What comes in one event, at most. */
  eventRecords: number
}

export const usualManners: SubscriptionManners = {
  endsAfterMs: 300_000,
  breaksInFrame: Infinity,
  isSilentFrom: Infinity,
  exception: undefined,
  isTakenForMs: 0,
  eventRecords: 100,
}

export interface Subscriptions {
  /** Gives the name of the error that it is refused with. Otherwise resolves when it has ended. */
  serve(consumer: string, place: FeedPlace, response: Http2ServerResponse): Promise<string | undefined>
  count(): number
  sentBytes(): number
  /** Resolves when nothing of them is left. */
  end(): Promise<void>
}

export function makeSubscriptions(feed: ShardFeed, manners: SubscriptionManners): Subscriptions {
  const open = new Map<string, AbortController>()
  const running = new Map<AbortController, Promise<void>>()
  const begunAtMs = new Map<string, number>()
  let sentBytes = 0

  const send = async (place: FeedPlace, response: Http2ServerResponse, signal: AbortSignal): Promise<void> => {
    let frames = 0
    for await (const frame of feed.frames(place, manners.eventRecords, signal)) {
      frames += 1
      if (frames >= manners.isSilentFrom) await once(signal, 'abort')
      if (signal.aborted) return
      if (frames >= 3 && manners.exception !== undefined) {
        response.write(exceptionFrame(manners.exception))
        return
      }
      if (frames >= manners.breaksInFrame) {
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
    async serve(consumer, place, response) {
      const key = `${consumer} ${place.shard}`
      if (performance.now() - (begunAtMs.get(key) ?? -Infinity) < manners.isTakenForMs) return 'ResourceInUseException'
      begunAtMs.set(key, performance.now())
      open.get(key)?.abort()
      const ending = new AbortController()
      open.set(key, ending)
      const timer = setTimeout(() => ending.abort(), manners.endsAfterMs)
      response.once('close', () => ending.abort())
      if (response.stream.closed) ending.abort()
      const sending = send(place, response, ending.signal).then(
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
