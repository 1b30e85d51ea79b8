// Object storage and a queue that announces its objects, in memory. Messages that are not deleted are received again; they may be
// duplicates or name missing objects. Reading ends when all objects are listed and no message is left.
import { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { NotConnected, ProbeFailure } from '../../src/source-shapes/source-failure.ts'
import { partitionOf, progressOf } from '../../src/sources/object-storage/object-assignment.ts'
import {
  begun,
  endOfListing,
  messagePartition,
  objectPartition,
  versionOf,
} from '../../src/sources/object-storage/queued-objects.ts'
import {
  type Batch,
  EndOfInput,
  finishedPosition,
  type Positions,
  type ReadableSource,
  type ReadLimits,
  type Selection,
  type SourceReader,
} from '../../src/sources/source.ts'

type Pass = <Result>(name: string, effect: () => Promise<Result>) => Promise<Result>

interface Message {
  id: string
  /** Undefined: the message cannot be parsed. */
  keys: string[] | undefined
  receives: number
  /** Hidden until this number of receives by all readers. */
  hiddenUntil: number
}

interface StoredText {
  etag: string
  text: string
}

const hiddenFor = 4
const maxReceives = 3
const mostListed = 2
const mostReceived = 2

export class LineQueue {
  readonly objects = new Map<string, StoredText>()
  /** Content of every version, by its partition. */
  readonly versions = new Map<string, string>()
  messages: Message[] = []
  isEndless = false
  /** Called before a message is deleted, with its last finished partition. */
  removed: (partition: string) => void = () => undefined
  #changes = 0
  #receives = 0

  /** Every change of an object creates another version. */
  put(key: string, text: string): void {
    const etag = `e${++this.#changes}`
    this.objects.set(key, { etag, text })
    this.versions.set(objectPartition({ key, etag }), text)
  }

  notify(...keys: string[]): void {
    this.#send(keys)
  }

  sendUnparsable(): void {
    this.#send(undefined)
  }

  source(pass: Pass): ReadableSource {
    return {
      probe: async () => ({ samples: [] }),
      open: (positions, _surroundings, selection = {}) =>
        pass('open', async () =>
          selection.until
            ? this.#bounded(Object.keys(selection.until), pass)
            : this.#reader(positions, selection, pass),
        ),
    }
  }

  #send(keys: string[] | undefined): void {
    this.messages.push({ id: `m${++this.#changes}`, keys, receives: 0, hiddenUntil: 0 })
  }

  receive(): Message[] {
    const now = ++this.#receives
    const visible = this.messages.filter(({ hiddenUntil }) => hiddenUntil < now).slice(0, mostReceived)
    for (const message of visible) {
      message.receives++
      message.hiddenUntil = now + hiddenFor
    }
    return visible
  }

  /** Undefined when it was deleted. */
  findPartition(key: string): string | undefined {
    const object = this.objects.get(key)
    return object && objectPartition({ key, etag: object.etag })
  }

  batchOf(partition: string, pass: Pass, isClosed: () => boolean): Batch {
    const { key, etag } = versionOf(partition) ?? { key: '', etag: '' }
    const open = () =>
      pass('openObject', async () => {
        if (isClosed()) throw new NotConnected()
        const now = this.objects.get(key)
        if (now?.etag !== etag) throw changed(key)
        return Readable.from(now.text === '' ? [] : [Buffer.from(now.text)])
      })
    const sizeBytes = this.objects.get(key)?.text.length ?? 0
    return { partition, from: begun, next: finishedPosition, object: { key, sizeBytes, open } }
  }

  #bounded(partitions: string[], pass: Pass): SourceReader {
    let isClosed = false
    const left = [...partitions]
    const read = async (): Promise<Batch[]> => {
      const partition = left.shift()
      if (partition === undefined) throw new EndOfInput()
      const { key = '' } = versionOf(partition) ?? {}
      if (this.findPartition(key) !== partition) throw changed(key)
      return [this.batchOf(partition, pass, () => isClosed)]
    }
    return {
      read: () => pass('readClaimed', read),
      acknowledge: async () => undefined,
      lag: () => left.length,
      close: async () => {
        isClosed = true
      },
    }
  }

  #reader(positions: Positions, { assignment = { index: 0, count: 1 } }: Selection, pass: Pass): SourceReader {
    const cursorPartition = partitionOf(assignment)
    const progress = progressOf(assignment, positions)
    const listed = [...this.objects.keys()].toSorted().filter((key) => progress.isDue(key))
    let isListed = positions[cursorPartition] === endOfListing
    let isClosed = false
    /** Unfinished partitions that were returned, with their messages. */
    const held = new Map<string, Set<Message>>()

    const give = (partition: string, message?: Message): boolean => {
      const known = held.get(partition)
      const messages = known ?? new Set()
      if (message) messages.add(message)
      held.set(partition, messages)
      return !known
    }

    const list = (): Batch[] => {
      const batches = listed.splice(0, mostListed).flatMap((key): Batch[] => {
        const partition = this.findPartition(key)
        if (partition === undefined) return []
        const cursor = { partition: cursorPartition, position: `etag ${key}` }
        give(partition)
        return [{ ...this.batchOf(partition, pass, () => isClosed), cursor }]
      })
      if (listed.length > 0) return batches
      isListed = true
      const end: Batch = {
        partition: cursorPartition,
        from: begun,
        next: begun,
        cursor: { partition: cursorPartition, position: endOfListing },
      }
      return [...batches, end]
    }

    const sort = (message: Message): Batch[] => {
      const partitions = message.keys?.map((key) => this.findPartition(key))
      const there = partitions?.filter((partition) => partition !== undefined)
      if (there && there.length === partitions?.length) {
        return there.filter((one) => give(one, message)).map((one) => this.batchOf(one, pass, () => isClosed))
      }
      const partition = messagePartition(message.id)
      if (message.receives < maxReceives || !give(partition, message)) return []
      const rejected = { position: message.id, raw: Buffer.from(message.id), reason: 'the message leads nowhere' }
      return [{ partition, from: begun, next: finishedPosition, rejected }]
    }

    const read = async ({ waitMs, signal }: ReadLimits): Promise<Batch[]> => {
      if (!isListed) return list()
      if (this.messages.length === 0 && !this.isEndless) throw new EndOfInput()
      const batches = this.receive().flatMap(sort)
      if (batches.length === 0)
        await wait(waitMs, undefined, { signal }).catch(() => Promise.reject(new NotConnected()))
      return batches
    }

    const acknowledge = async (done: Positions): Promise<void> => {
      for (const [partition, position] of Object.entries(done)) {
        const messages = held.get(partition) ?? new Set()
        if (position !== finishedPosition) continue
        held.delete(partition)
        for (const message of messages) {
          if ([...held.values()].some((others) => others.has(message))) continue
          if (this.messages.includes(message)) this.removed(partition)
          this.messages = this.messages.filter((one) => one !== message)
        }
      }
    }

    return {
      read: (limits) => pass('read', () => read(limits)),
      acknowledge: (done) => pass('acknowledge', () => acknowledge(done)),
      lag: () => this.messages.length,
      close: async () => {
        isClosed = true
      },
    }
  }
}

function changed(key: string): ProbeFailure {
  return new ProbeFailure({
    step: 'read',
    code: 'source_failed',
    reason: `the object ${key} was changed or deleted while it was being read`,
    remedy: 'have objects written once',
  })
}
