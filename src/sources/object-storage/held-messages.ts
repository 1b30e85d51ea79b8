// Holds messages of a queue until all objects that they announce are durable, by extending their visibility timeout. If that
// fails, another reader receives the message too. Claims then decide which of them loads the object.
import type { MessageHandle, MessageQueue } from './message-queue.ts'

export interface HoldTimes {
  /** Visibility timeout of each extension. */
  holdMs: number
  extendEveryMs: number
}

export interface HeldMessage {
  readonly message: MessageHandle
  /** Its text, if it may have to be kept as a rejected row. */
  readonly text: string | undefined
  /** Announced objects that have not been looked up yet. */
  unresolvedCount: number
  /** Why the first object that cannot be loaded is rejected. */
  problem: string | undefined
  /** Partitions of this message that are not durable yet. */
  readonly partitions: Set<string>
}

export interface HeldMessages {
  /** Undefined when it is already held and was delivered again. */
  hold(message: MessageHandle, unresolvedCount: number, text: string | undefined): HeldMessage | undefined
  /** Stops holding the message, so that it is delivered again. Its partitions continue without it. */
  release(held: HeldMessage): void
  /** The partition must be durable before the message is removed. False when the partition is already being loaded. */
  give(partition: string, held?: HeldMessage): boolean
  /** The partitions are durable. */
  finish(partitions: string[]): void
  /** Deletes messages whose partitions are all durable. */
  removeDone(signal: AbortSignal): Promise<void>
  readonly count: number
  /** Messages that were released and will be delivered again, to this or another reader. */
  readonly releasedCount: number
  /** Makes all held messages visible to other readers immediately. */
  giveBack(signal: AbortSignal): Promise<void>
  close(): void
}

export function holdMessages(queue: MessageQueue, { holdMs, extendEveryMs }: HoldTimes): HeldMessages {
  const messages = new Map<string, HeldMessage>()
  /** Messages by the partition that is being loaded. */
  const holders = new Map<string, Set<HeldMessage>>()
  /** Expiry by message id: another reader may have received the message. */
  const released = new Map<string, number>()
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

  const forgetReleased = (): void => {
    const nowMs = performance.now()
    for (const [id, untilMs] of released) {
      if (untilMs > nowMs) return
      released.delete(id)
    }
  }

  return {
    hold({ id, receivedCount, receipt }, unresolvedCount, text) {
      released.delete(id)
      const known = messages.get(id)
      if (known) {
        known.message.receipt = receipt
        return undefined
      }
      const message = { id, receivedCount, receipt }
      const held = { message, text, unresolvedCount, problem: undefined, partitions: new Set<string>() }
      messages.set(id, held)
      return held
    },

    release(held) {
      messages.delete(held.message.id)
      forgetReleased()
      released.set(held.message.id, performance.now() + 2 * holdMs)
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
      // Some queues return a new receipt with every extension.
      await extending
      const done = [...messages.values()].filter(
        ({ unresolvedCount, partitions }) => unresolvedCount === 0 && partitions.size === 0,
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

    get releasedCount() {
      forgetReleased()
      return released.size
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
