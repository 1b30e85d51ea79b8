// The messages of a queue that a reader has, until everything that they tell of is durable. Nobody else gets a message while it is
// held. Should that fail, somebody else gets it too: which of them loads the object is decided elsewhere.
import type { MessageHandle, MessageQueue } from './message-queue.ts'

export interface HoldTimes {
  /** How long a message is out of sight of others each time. */
  holdMs: number
  extendEveryMs: number
}

export interface HeldMessage {
  readonly message: MessageHandle
  /** What it says, where that may have to be kept. */
  readonly text: string | undefined
  /** What it tells of that nobody has looked at yet. */
  unseenCount: number
  /** What is wrong with the first object that it tells of and that cannot be given. */
  trouble: string | undefined
  /** What was given because of it and is not durable yet. */
  readonly partitions: Set<string>
}

export interface HeldMessages {
  /** Undefined when it is held already: the queue has given it once more. */
  hold(message: MessageHandle, unseenCount: number, text: string | undefined): HeldMessage | undefined
  /** It is not held any longer, and will be given again. What was given because of it goes on without it. */
  letGo(held: HeldMessage): void
  /** The partition is to be durable before the message is removed. False when it was given before, and still is being loaded. */
  give(partition: string, held?: HeldMessage): boolean
  /** The partitions are durable. */
  finish(partitions: string[]): void
  /** Removes what has nothing left to wait for. */
  removeDone(signal: AbortSignal): Promise<void>
  readonly count: number
  /** How many were let go and are to come again, here or elsewhere. */
  readonly leftCount: number
  /** Others may have all of them at once. Nothing is held any more. */
  giveBack(signal: AbortSignal): Promise<void>
  close(): void
}

export function holdMessages(queue: MessageQueue, { holdMs, extendEveryMs }: HoldTimes): HeldMessages {
  const messages = new Map<string, HeldMessage>()
  /** By what is being loaded. */
  const holders = new Map<string, Set<HeldMessage>>()
  /** Until when, by the id of the message: another reader may be the one that gets it, or it is gone. */
  const left = new Map<string, number>()
  const closing = new AbortController()
  let extending: Promise<void> | undefined

  const extend = async (): Promise<void> => {
    const held = [...messages.values()].map(({ message }) => message)
    if (held.length > 0) await queue.extend(held, holdMs, closing.signal).catch(() => undefined)
  }
  const timer = setInterval(() => {
    extending ??= extend().finally(() => {
      extending = undefined
    })
  }, extendEveryMs).unref()

  const forgetLeft = (): void => {
    const nowMs = performance.now()
    for (const [id, untilMs] of left) {
      if (untilMs > nowMs) return
      left.delete(id)
    }
  }

  return {
    hold({ id, receivedCount, receipt }, unseenCount, text) {
      left.delete(id)
      const known = messages.get(id)
      if (known) {
        known.message.receipt = receipt
        return undefined
      }
      const message = { id, receivedCount, receipt }
      const held = { message, text, unseenCount, trouble: undefined, partitions: new Set<string>() }
      messages.set(id, held)
      return held
    },

    letGo(held) {
      messages.delete(held.message.id)
      forgetLeft()
      left.set(held.message.id, performance.now() + 2 * holdMs)
      for (const partition of held.partitions) holders.get(partition)?.delete(held)
      held.partitions.clear()
    },

    give(partition, held) {
      const known = holders.get(partition)
      const all = known ?? new Set()
      holders.set(partition, all)
      if (held) {
        all.add(held)
        held.partitions.add(partition)
      }
      return known === undefined
    },

    finish(partitions) {
      for (const partition of partitions) {
        for (const held of holders.get(partition) ?? []) held.partitions.delete(partition)
        holders.delete(partition)
      }
    },

    async removeDone(signal) {
      // Some queues give another receipt with every extension.
      await extending
      const done = [...messages.values()].filter(
        ({ unseenCount, partitions }) => unseenCount === 0 && partitions.size === 0,
      )
      if (done.length === 0) return
      for (const { message } of done) messages.delete(message.id)
      await queue.remove(
        done.map(({ message }) => message),
        signal,
      )
    },

    get count() {
      return messages.size
    },

    get leftCount() {
      forgetLeft()
      return left.size
    },

    async giveBack(signal) {
      clearInterval(timer)
      await extending
      const handles = [...messages.values()].map(({ message }) => message)
      messages.clear()
      holders.clear()
      if (handles.length > 0) await queue.extend(handles, 0, signal)
    },

    close() {
      clearInterval(timer)
      closing.abort()
    },
  }
}
