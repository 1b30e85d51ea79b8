// Enhanced fan-out of Kinesis on a local server, for the tests of its reader.
import assert from 'node:assert/strict'
import { after, afterEach, before } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { KinesisSource } from '../../src/source-shapes/kinesis-source.ts'
import { type KinesisReaderOptions, openKinesisReader } from '../../src/sources/kinesis/kinesis-reader.ts'
import type { Batch, Positions, SourceReader } from '../../src/sources/source.ts'
import { assertGapless, loopbackEgress } from './conformance.ts'
import { defaultSettings, type FanOutServer, startFanOut } from './kinesis-fan-out.ts'
import { type KinesisServer, startKinesis } from './kinesis-server.ts'
import { accessKey, kinesisConfig, kinesisContext } from './kinesis-source-at.ts'
import { defaultBehavior } from './kinesis-subscriptions.ts'

const pipeId = '0b51a1a5-1c1e-4a4e-8f7e-000000000001'
export const consumerName = `penstock-${pipeId}`
export const signal = (): AbortSignal => AbortSignal.timeout(30_000)
export const limits = { maxRecords: 1_000, maxBytes: 10_000_000, waitMs: 2_000 }
export const range = (count: number, first = 0): number[] => Array.from({ length: count }, (_, index) => first + index)
export const sorted = (numbers: number[]): number[] => numbers.toSorted((a, b) => a - b)
export const numbersOf = (batches: Batch[]): number[] =>
  batches.flatMap(({ records = [] }) =>
    [...records].map(({ value }) => JSON.parse(Buffer.from(value).toString()).number),
  )
/** Short pauses for tests. */
const quick: KinesisReaderOptions['fanOutLimits'] = { betweenMs: 20, longestBetweenMs: 100, retryMs: 300 }

/** Records of a partition key keep their order. */
export function assertInOrder(batches: Batch[]): void {
  const last = new Map<string, number>()
  for (const { partition, records = [] } of batches) {
    for (const { value } of records) {
      const { number } = JSON.parse(Buffer.from(value).toString())
      assert.ok(number > (last.get(partition) ?? -1), `${number} is out of order in ${partition}`)
      last.set(partition, number)
    }
  }
}

/** Starts the servers before the first test, and closes the readers after each. */
export function openFanOutWorld() {
  // Assigned before the first test.
  const world = { backend: {} as KinesisServer, server: {} as FanOutServer }
  let streams = 0
  const readers: SourceReader[] = []

  before(async () => {
    world.backend = await startKinesis()
    world.server = await startFanOut(world.backend)
  })
  after(async () => {
    await world.server.stop()
    await world.backend.stop()
  })
  afterEach(async () => {
    await Promise.all(readers.splice(0).map((reader) => reader.close()))
    Object.assign(world.server.behavior, defaultBehavior)
    Object.assign(world.server.settings, defaultSettings)
    world.server.refusals.length = 0
    world.server.requests.length = 0
    world.server.consumers.clear()
  })

  async function newStream(shards = 1): Promise<string> {
    streams += 1
    const name = `fan-${streams}`
    await world.backend.createStream(name, shards)
    return name
  }

  async function open(
    config: Partial<KinesisSource> & { streamName: string },
    positions: Positions = {},
    { ca, ...options }: KinesisReaderOptions & { ca?: string } = {},
    endpoint = world.server.endpoint,
  ): Promise<SourceReader> {
    const fullConfig = { ...kinesisConfig, useEnhancedFanOut: true, ...config }
    const context = { ...kinesisContext(endpoint, ca), pipeId }
    const connectOptions = { egress: loopbackEgress, signal: signal() }
    const { fanOutLimits } = options
    const withLimits = { ...options, fanOutLimits: { ...quick, ...fanOutLimits } }
    const reader = await openKinesisReader(fullConfig, { accessKey }, context, positions, connectOptions, withLimits)
    readers.push(reader)
    return reader
  }

  /** Reads until so many records have arrived, and once more: there must be no further ones. */
  async function readOf(reader: SourceReader, count: number, more: object = {}): Promise<Batch[]> {
    const batches: Batch[] = []
    const endsAtMs = performance.now() + 25_000
    while (numbersOf(batches).length < count) {
      assert.ok(performance.now() < endsAtMs, `only ${numbersOf(batches).length} of ${count} records came`)
      batches.push(...(await reader.read({ ...limits, waitMs: 200, signal: signal(), ...more })))
    }
    batches.push(...(await reader.read({ ...limits, waitMs: 150, signal: signal() })))
    assertGapless(batches)
    return batches
  }

  const until = async (isTrue: () => boolean, what: string): Promise<void> => {
    for (let left = 1_500; !isTrue(); left--) {
      assert.ok(left > 0, `not in time: ${what}`)
      await wait(10)
    }
  }
  const countOf = (operation: string): number =>
    world.server.requests.filter((each) => each.operation === operation).length
  /** Empty reads, which let the reader start subscriptions. */
  const idle = async (reader: SourceReader, isTrue: () => boolean, what: string): Promise<void> => {
    for (let left = 1_000; !isTrue(); left--) {
      assert.ok(left > 0, `not in time: ${what}`)
      assert.deepEqual(await reader.read({ ...limits, waitMs: 20, signal: signal() }), [])
    }
  }

  return Object.assign(world, { readers, newStream, open, readOf, until, countOf, idle })
}
