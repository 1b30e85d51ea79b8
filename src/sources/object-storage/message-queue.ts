// Contract of a message queue that announces new objects. All methods reject with a ProbeFailure and stop when the signal is
// aborted.

/** Identity of a message, without its text. */
export interface MessageHandle {
  readonly id: string
  /** Including this delivery. */
  readonly receivedCount: number
  /** Required to extend or delete the message. Some queues return a new one with every extension. */
  receipt: string
}

export interface QueueMessage extends MessageHandle {
  readonly text: string
}

export interface Receiving {
  /** How long to wait for the first message. */
  waitMs: number
  /** Visibility timeout of the received messages. */
  holdMs: number
}

export interface MessageQueue {
  /** One batch of messages; an empty list when there are no messages. */
  receive(receiving: Receiving, signal: AbortSignal): Promise<QueueMessage[]>
  /** Sets the visibility timeout, starting now; 0 makes them visible. Ignores messages that another consumer holds. */
  extend(messages: MessageHandle[], holdMs: number, signal: AbortSignal): Promise<void>
  /** Deletes messages. Ignores messages that another consumer holds. */
  remove(messages: MessageHandle[], signal: AbortSignal): Promise<void>
  /** Approximate number of messages. */
  count(signal: AbortSignal): Promise<number>
  /** Whether `count` includes messages that a consumer holds. */
  readonly countsHeld: boolean
  /** Checks that the queue exists and can be read. */
  describe(signal: AbortSignal): Promise<void>
  close(): void
}

/** In whole seconds, rounded up: a receive that does not wait may miss messages. */
export function secondsOf(durationMs: number, mostSeconds: number): number {
  return Math.min(Math.ceil(durationMs / 1000), mostSeconds)
}
