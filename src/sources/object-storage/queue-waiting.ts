// Estimate of the number of messages in a queue that no reader has received, updated in the background.
import type { HeldMessages } from './held-messages.ts'
import type { MessageQueue } from './message-queue.ts'

export interface WaitingCount {
  /** Reports the result of one receive. */
  received(messageCount: number, waitedMs: number): void
  /** Undefined: unknown. */
  count(): number | undefined
}

const askEveryMs = 5_000
/** A shorter receive may query only a subset of the servers: an empty answer is then not reliable. */
const sureAfterMs = 1_000

export function countWaiting(
  queue: MessageQueue,
  held: Pick<HeldMessages, 'count'>,
  signal: AbortSignal,
): WaitingCount {
  let known: number | undefined
  let askedAtMs = Number.NEGATIVE_INFINITY
  let question = 0

  const ask = (): void => {
    if (performance.now() - askedAtMs < askEveryMs) return
    askedAtMs = performance.now()
    const asked = ++question
    const learn = (count: number | undefined): void => {
      // A later receive is more recent.
      if (asked === question) known = count
    }
    queue.count(signal).then(
      // Messages that other readers hold cannot be distinguished.
      (count) => learn(queue.countsHeld ? Math.max(0, count - held.count) : count),
      () => learn(undefined),
    )
  }

  return {
    received(messageCount, waitedMs) {
      if (messageCount === 0) {
        known = 0
        question++
      }
      if (messageCount > 0 || waitedMs < sureAfterMs) ask()
    },
    count: () => known,
  }
}
