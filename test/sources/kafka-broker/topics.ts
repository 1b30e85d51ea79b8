// Topics of the broker, by name and by id, and fetches that wait for records.
import { randomUUID } from 'node:crypto'
import { PartitionLog } from './partition-log.ts'

export interface Topic {
  name: string
  id: string
  partitions: PartitionLog[]
}

const validName = /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}$/

export const isTopicName = (name: string): boolean => validName.test(name)

export class Topics {
  readonly #byName = new Map<string, Topic>()
  readonly #waiting = new Set<() => void>()

  list(): Topic[] {
    return [...this.#byName.values()]
  }

  find(name: string): Topic | undefined {
    return this.#byName.get(name)
  }

  findById(id: string): Topic | undefined {
    return this.list().find((topic) => topic.id === id)
  }

  create(name: string, partitions: number): Topic {
    const topic: Topic = { name, id: randomUUID(), partitions: [] }
    this.#byName.set(name, topic)
    this.grow(topic, partitions)
    return topic
  }

  grow(topic: Topic, partitions: number): void {
    while (topic.partitions.length < partitions) topic.partitions.push(new PartitionLog())
  }

  delete(name: string): void {
    this.#byName.delete(name)
    this.changed()
  }

  /** Call after records were appended. */
  changed(): void {
    for (const wake of this.#waiting) wake()
  }

  async waitForChange(mostMs: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const wake = () => resolve()
    const timer = setTimeout(wake, mostMs)
    this.#waiting.add(wake)
    signal.addEventListener('abort', wake)
    await promise
    clearTimeout(timer)
    this.#waiting.delete(wake)
    signal.removeEventListener('abort', wake)
  }
}
