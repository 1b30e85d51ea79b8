import type { ObjectStorageSource } from '../../src/source-shapes/object-storage-source.ts'
import type { HoldTimes } from '../../src/sources/object-storage/held-messages.ts'
import type { Batch, Positions, ReadableSource, Selection, SourceReader } from '../../src/sources/source.ts'
import { loopbackEgress } from './conformance.ts'
import { line } from './object-storage-common.ts'
import type { QueueCounts } from './queue-server.ts'

/** A store with queues, and sources that read from both. */
export interface QueueWorld {
  name: string
  createBucket(): Promise<string>
  put(bucket: string, key: string, bytes: Uint8Array): Promise<void>
  createQueue(): Promise<string>
  send(queueUrl: string, text: string): Promise<void>
  counts(queueUrl: string): Promise<QueueCounts>
  /** The notification of the cloud for new objects. */
  eventOf(bucket: string, ...keys: string[]): string
  makeSource(bucket: string, pattern: string, more: Partial<ObjectStorageSource>, times?: HoldTimes): ReadableSource
  secrets: string[]
  stop(): Promise<void>
}

export const short: HoldTimes = { holdMs: 1_000, extendEveryMs: 300 }
/** Long enough that a stalled machine does not lose messages. */
export const steady: HoldTimes = { holdMs: 4_000, extendEveryMs: 500 }
export const finished = 'finished'

/** A bucket with objects, and an empty queue. */
export async function setUp(world: QueueWorld, keys: string[] = []) {
  const [bucket, queueUrl] = [await world.createBucket(), await world.createQueue()]
  for (const [index, key] of keys.entries()) await world.put(bucket, key, line(index))
  const source = (more: Partial<ObjectStorageSource> = {}, times?: HoldTimes) =>
    world.makeSource(bucket, 'in/**', { isContinuous: true, queueUrl, skipInitialLoad: true, ...more }, times)
  const notify = (...keys: string[]) => world.send(queueUrl, world.eventOf(bucket, ...keys))
  return { bucket, queueUrl, source, notify, counts: () => world.counts(queueUrl) }
}

export interface Reading {
  reader: SourceReader
  read(limits?: { waitMs?: number; maxRecords?: number }): Promise<Batch[]>
  finish(batches: Batch[]): Promise<void>
}

export async function reading(
  source: ReadableSource,
  use: (reading: Reading) => Promise<void>,
  positions: Positions = {},
  selection: Selection = {},
): Promise<void> {
  const signal = AbortSignal.timeout(30_000)
  const reader = await source.open(positions, { egress: loopbackEgress, signal }, selection)
  try {
    await use({
      reader,
      read: ({ waitMs = 0, maxRecords = 100 } = {}) => reader.read({ maxRecords, maxBytes: 1e9, waitMs, signal }),
      finish: (batches) =>
        reader.acknowledge(Object.fromEntries(batches.map(({ partition }) => [partition, finished]))),
    })
  } finally {
    await reader.close()
  }
}

/** Opens, reads once and closes; opening or reading may reject. */
export async function readOnce(source: ReadableSource, egress = loopbackEgress): Promise<Batch[]> {
  const signal = AbortSignal.timeout(10_000)
  const reader = await source.open({}, { egress, signal })
  try {
    return await reader.read({ maxRecords: 1, maxBytes: 1, waitMs: 0, signal })
  } finally {
    await reader.close()
  }
}

export const keysOf = (batches: Batch[]) => batches.flatMap(({ object }) => (object ? [object.key] : [])).toSorted()
export const none = { waiting: 0, held: 0 }
