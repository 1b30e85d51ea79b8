// How many messages wait in a queue that nobody has received, as far as anybody knows: asked in the background, and not too often.
import type { HeldMessages } from './held-messages.ts'
import type { MessageQueue } from './message-queue.ts'

export interface WaitingCount {
  /** So many came with one receive, which waited for so long. */
  received(messageCount: number, waitedMs: number): void
  /** Undefined: nobody knows. */
  count(): number | undefined
}

const askEveryMs = 5_000
/** An empty answer to a shorter receive may be that of a part of the queue. */
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
      // What was received meanwhile says more.
      if (asked === question) known = count
    }
    queue.count(signal).then(
      // What other readers hold cannot be told from what waits.
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
