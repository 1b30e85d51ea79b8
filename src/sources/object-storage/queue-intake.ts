// Takes messages from a queue and sorts them: what tells of objects of the source is held, what tells of anything else is removed,
// and what cannot be made sense of is left in the queue, which gives it again, until it has been given often enough.
import { type Batch, finishedPosition } from '../source.ts'
import type { HeldMessage, HeldMessages } from './held-messages.ts'
import type { MessageQueue, QueueMessage } from './message-queue.ts'
import { createdObjects, type EventOrigin } from './object-events.ts'
import type { ObjectPattern } from './object-pattern.ts'
import { begun, messagePartition } from './queued-objects.ts'

/** A message that leads nowhere is given up when the queue has given it this often. */
const maxReceives = 3
/** What has come does not wait longer than this for what may follow. */
const gatherMs = 500
/** Of one receive, also of those that tell of nothing: whoever writes to the queue decides how many there are, and how long. */
const mostMessages = 1_000
const mostCharacters = 8_000_000

export interface IntakeParts {
  queue: MessageQueue
  held: HeldMessages
  place: EventOrigin
  pattern: ObjectPattern
  holdMs: number
}

/** An object that a message tells of, by the keys that it may have. */
export interface Announced {
  held: HeldMessage
  keys: string[]
}

export interface Intake {
  /** Waits for the first message only, and takes no more when as many objects are known, or much was received. */
  receive(
    limits: { waitMs: number; maxObjects: number },
    signal: AbortSignal,
  ): Promise<{ announced: Announced[]; refused: Batch[]; messageCount: number }>
  /** All objects of the message have been looked for. Gives the message up, keeps it, or leaves it to the queue. */
  settle(held: HeldMessage): Batch | undefined
}

export function makeIntake({ queue, held, place, pattern, holdMs }: IntakeParts): Intake {
  const refuse = (message: HeldMessage, reason: string): Batch | undefined => {
    const {
      text = '',
      message: { id, receivedCount },
    } = message
    if (receivedCount < maxReceives) {
      held.letGo(message)
      return undefined
    }
    const partition = messagePartition(id)
    const isNew = held.give(partition, message)
    const refused = { position: partition, raw: Buffer.from(text), reason }
    return isNew ? { partition, from: begun, next: finishedPosition, refused } : undefined
  }

  const sort = (message: QueueMessage): { announced: Announced[]; refused: Batch[] } => {
    const created = createdObjects(message.text, place)
    const wanted = created
      ?.map((keys) => keys.filter((key) => isWanted(key, pattern)))
      .filter(({ length }) => length > 0)
    // Nothing that tells of no object, or will come again, is kept.
    const mayBeRefused = message.receivedCount >= maxReceives && wanted?.length !== 0
    const holding = held.hold(message, wanted?.length ?? 0, mayBeRefused ? message.text : undefined)
    if (!holding) return { announced: [], refused: [] }
    if (wanted) return { announced: wanted.map((keys) => ({ held: holding, keys })), refused: [] }
    const refused = refuse(holding, 'the message is not a notification about objects that Penstock understands')
    return { announced: [], refused: refused ? [refused] : [] }
  }

  return {
    async receive({ waitMs, maxObjects }, signal) {
      const announced: Announced[] = []
      const refused: Batch[] = []
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
          refused.push(...sorted.refused)
          characters += message.text.length
        }
        messageCount += messages.length
        endsAtMs ??= performance.now() + gatherMs
        const isMuch = messageCount >= mostMessages || characters >= mostCharacters
        const isEnough = isMuch || announced.length + refused.length >= maxObjects
        if (messages.length === 0 || isEnough || performance.now() >= endsAtMs) break
      }
      return { announced, refused, messageCount }
    },

    settle(message) {
      return message.trouble === undefined ? undefined : refuse(message, message.trouble)
    },
  }
}

function isWanted(key: string, pattern: ObjectPattern): boolean {
  return !key.endsWith('/') && pattern.matches(key)
}
