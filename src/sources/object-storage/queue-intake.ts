// Receives messages from a queue and classifies them. Messages about objects of the source are held, messages about other events
// are deleted. Invalid messages stay in the queue until they have been delivered `maxReceives` times, and are then rejected.
import { type Batch, finishedPosition } from '../source.ts'
import type { HeldMessage, HeldMessages } from './held-messages.ts'
import type { MessageQueue, QueueMessage } from './message-queue.ts'
import { createdObjects, type EventOrigin } from './object-events.ts'
import type { ObjectPattern } from './object-pattern.ts'
import { begun, messagePartition } from './queued-objects.ts'

/** Deliveries after which an unusable message is rejected. */
const maxReceives = 3
/** How long received messages wait for more. */
const gatherMs = 500
/** Limits of one receive, counting all messages: their number and length are untrusted. */
const mostMessages = 1_000
const mostCharacters = 8_000_000

export interface IntakeParts {
  queue: MessageQueue
  held: HeldMessages
  origin: EventOrigin
  pattern: ObjectPattern
  holdMs: number
}

/** An object that a message announces, by its possible keys. */
export interface Announced {
  held: HeldMessage
  keys: string[]
}

export interface Intake {
  /** Waits for the first message only. Stops at `maxObjects` or at the limits of one receive. */
  receive(
    limits: { waitMs: number; maxObjects: number },
    signal: AbortSignal,
  ): Promise<{ announced: Announced[]; rejected: Batch[]; messageCount: number }>
  /** To be called when all objects of the message were looked up. Holds, releases or rejects the message. */
  settle(held: HeldMessage): Batch | undefined
}

export function makeIntake({ queue, held, origin, pattern, holdMs }: IntakeParts): Intake {
  const reject = (message: HeldMessage, reason: string): Batch | undefined => {
    const {
      text = '',
      message: { id, receivedCount },
    } = message
    if (receivedCount < maxReceives) {
      held.release(message)
      return undefined
    }
    const partition = messagePartition(id)
    const isNew = held.give(partition, message)
    const rejected = { position: partition, raw: Buffer.from(text), reason }
    return isNew ? { partition, from: begun, next: finishedPosition, rejected } : undefined
  }

  const sort = (message: QueueMessage): { announced: Announced[]; rejected: Batch[] } => {
    const created = createdObjects(message.text, origin)
    const matching = created
      ?.map((keys) => keys.filter((key) => isMatch(key, pattern)))
      .filter(({ length }) => length > 0)
    // The text is only kept when the message may be rejected now.
    const mayBeRejected = message.receivedCount >= maxReceives && matching?.length !== 0
    const holding = held.hold(message, matching?.length ?? 0, mayBeRejected ? message.text : undefined)
    if (!holding) return { announced: [], rejected: [] }
    if (matching) return { announced: matching.map((keys) => ({ held: holding, keys })), rejected: [] }
    const rejected = reject(holding, 'the message is not a notification about objects that Penstock understands')
    return { announced: [], rejected: rejected ? [rejected] : [] }
  }

  return {
    async receive({ waitMs, maxObjects }, signal) {
      const announced: Announced[] = []
      const rejected: Batch[] = []
      let [messageCount, characters] = [0, 0]
      let endsAtMs: number | undefined
      for (let isFirst = true; ; isFirst = false) {
        const messages = await queue
          .receive({ waitMs: isFirst ? waitMs : 0, holdMs }, signal)
          .catch((error: unknown) => {
            if (isFirst) throw error
            return []
          })
        for (const message of messages) {
          const sorted = sort(message)
          announced.push(...sorted.announced)
          rejected.push(...sorted.rejected)
          characters += message.text.length
        }
        messageCount += messages.length
        endsAtMs ??= performance.now() + gatherMs
        const isMuch = messageCount >= mostMessages || characters >= mostCharacters
        const isEnough = isMuch || announced.length + rejected.length >= maxObjects
        if (messages.length === 0 || isEnough || performance.now() >= endsAtMs) break
      }
      return { announced, rejected, messageCount }
    },

    settle(message) {
      return message.problem === undefined ? undefined : reject(message, message.problem)
    },
  }
}

function isMatch(key: string, pattern: ObjectPattern): boolean {
  return !key.endsWith('/') && pattern.matches(key)
}
