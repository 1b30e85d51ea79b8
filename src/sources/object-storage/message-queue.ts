// What the source asks of a queue that tells of new objects, whoever's it is. All of it rejects with a ProbeFailure, and gives up
// when the signal is aborted.

/** What a message is known by, without what it says. */
export interface MessageHandle {
  readonly id: string
  /** This time included. */
  readonly receivedCount: number
  /** What the queue wants to see of whoever received it last. Some queues give another one whenever it is held for longer. */
  receipt: string
}

export interface QueueMessage extends MessageHandle {
  readonly text: string
}

export interface Receiving {
  /** How long to wait for the first message. */
  waitMs: number
  /** How long nobody else gets what is received. */
  holdMs: number
}

export interface MessageQueue {
  /** Up to as many as the queue gives at once; an empty list when there are none. */
  receive(receiving: Receiving, signal: AbortSignal): Promise<QueueMessage[]>
  /** From now on nobody else gets them for this long; with 0 anybody does. Messages that are not ours any more are left out without a word. */
  extend(messages: MessageHandle[], holdMs: number, signal: AbortSignal): Promise<void>
  /** For good. Messages that are not ours any more are left out without a word. */
  remove(messages: MessageHandle[], signal: AbortSignal): Promise<void>
  /** How many there are, about. */
  count(signal: AbortSignal): Promise<number>
  /** Whether those that somebody holds are among them. */
  readonly countsHeld: boolean
  /** Whether it is there, and is ours to read. */
  describe(signal: AbortSignal): Promise<void>
  close(): void
}

/** Queues wait in whole seconds, and tell less when they do not wait at all. */
export function secondsOf(durationMs: number, mostSeconds: number): number {
  return Math.min(Math.ceil(durationMs / 1000), mostSeconds)
}
