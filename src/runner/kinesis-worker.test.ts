// A worker between a stream with enhanced fan-out and an engine, over the network.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { askAgainMs, type TestEngine } from '../../test/fakes/engine-front.ts'
import { openEmbeddedEngine } from '../../test/harness/embedded-engine.ts'
import { MemoryStore } from '../../test/runner-world/memory-store.ts'
import { makeRunnerWorld } from '../../test/runner-world/runner-world.ts'
import { loopbackEgress } from '../../test/sources/conformance.ts'
import { type FanOutServer, startFanOut } from '../../test/sources/kinesis-fan-out.ts'
import { type KinesisServer, startKinesis } from '../../test/sources/kinesis-server.ts'
import { accessKey, kinesisConfig, kinesisContext } from '../../test/sources/kinesis-source-at.ts'
import { openSink } from '../engine/sink.ts'
import { Secret } from '../lib/secret.ts'
import { makeKinesisSource } from '../sources/kinesis/kinesis.ts'
import { makeWorker } from './move.ts'
import type { Worker, WorkerStatus } from './worker.ts'

const columns = [{ name: 'number', type: 'UInt32' }]
const definition = { engine: { type: 'MergeTree' as const }, sortingKey: ['number'] }
const range = (count: number, first = 0): number[] => Array.from({ length: count }, (_, index) => first + index)

describe('a worker of a kinesis pipe with enhanced fan-out', () => {
  let behind: KinesisServer
  let stream: FanOutServer
  let engine: TestEngine
  before(async () => {
    behind = await startKinesis()
    stream = await startFanOut(behind)
    engine = await openEmbeddedEngine()
  })
  after(async () => {
    await engine.close()
    await stream.stop()
    await behind.stop()
  })

  const put = (streamName: string, count: number, first = 0): Promise<void> =>
    behind.put(
      streamName,
      range(count, first).map((number) => ({ key: `key ${number}`, value: Buffer.from(JSON.stringify({ number })) })),
    )
  const numbersIn = async (table: string): Promise<number[]> =>
    (await engine.rowsIfAny(table)).map(({ number }) => Number(number)).toSorted((one, other) => one - other)

  async function until(isSo: () => boolean | Promise<boolean>, what: string): Promise<void> {
    for (let round = 0; round < 800 && !(await isSo()); round++) await wait(askAgainMs)
    assert.ok(await isSo(), what)
  }

  function worldOf(streamName: string, table: string) {
    const shown = { ...kinesisConfig, streamName, useEnhancedFanOut: true }
    const { protocol, host, port, username, password, database } = engine
    const store = new MemoryStore()
    const statuses: WorkerStatus[] = []
    const context = { ...kinesisContext(stream.endpoint), pipeId: `pipe-of-${table}` }
    const source = makeKinesisSource(shown, { accessKey }, context)
    const { parts } = makeRunnerWorld({ kind: 'kafka', options: {}, makeSource: () => source })
    const pipe = {
      ...parts.pipe,
      kind: 'kinesis' as const,
      source: shown,
      settings: { ...parts.pipe.settings, streaming_max_insert_wait_ms: 50 },
    }
    pipe.destination = { database, table, columns, managedTable: true, tableDefinition: definition }
    const access = { protocol, host, port, username, password: new Secret(password) }
    let epoch = 0
    const newWorker = (): Worker => {
      epoch++
      const lease = { workerIndex: 0, workerCount: 1, epoch }
      const opened = { pipeId: pipe.id, workerIndex: 0, epoch }
      const target = { database, table, columns, definition }
      const report = (status: WorkerStatus): void => void statuses.push(status)
      const made = {
        ...parts,
        ...lease,
        pipe,
        source,
        store: store.of(lease),
        egress: loopbackEgress,
        context,
        report,
      }
      return makeWorker(
        { ...made, openSink: (signal) => openSink(loopbackEgress, access, target, opened, { signal }) },
        { times: { backOff: { firstMs: 5, longestMs: 20 } } },
      )
    }
    return { store, statuses, newWorker }
  }

  it('moves each record once, although subscriptions break, shards change and the worker is aborted', async () => {
    await behind.createStream('orders', 2)
    const world = worldOf('orders', 'orders')
    await put('orders', 100)
    Object.assign(stream.behavior, { breaksInFrame: 5, eventRecords: 9 })
    engine.cutNext({ matching: /^INSERT/i, times: 2 })
    const first = world.newWorker()
    const running = first.run()
    await until(async () => (await numbersIn('orders')).length > 0, 'something has come')
    first.abort()
    await running
    stream.behavior.breaksInFrame = Infinity
    const second = world.newWorker()
    const ran = second.run()
    await behind.split('orders', 'shardId-000000000000')
    await put('orders', 100, 100)
    await until(
      async () => (await numbersIn('orders')).length >= 200 && world.store.deliveries.size === 0,
      'all have come',
    )
    await until(() => stream.subscriptions() >= 3, 'all shards are subscribed to')
    await put('orders', 100, 200)
    await until(
      async () => (await numbersIn('orders')).length >= 300 && world.store.deliveries.size === 0,
      'the rest has come',
    )
    second.stop()
    assert.deepEqual(await ran, { end: 'stopped' })
    assert.deepEqual(await numbersIn('orders'), range(300))
    await until(() => stream.subscriptions() === 0, 'no subscription is left')
  })

  it('reports that it polls, and why', async () => {
    await behind.createStream('refunds', 1)
    stream.refusals.push({ operation: 'RegisterStreamConsumer', code: 'LimitExceededException' })
    const world = worldOf('refunds', 'refunds')
    const worker = world.newWorker()
    const running = worker.run()
    const expected =
      'Waiting for records; by polling, because the stream "refunds" has as many consumers as it may have'
    await until(() => world.statuses.some(({ doing }) => doing === expected), 'it reports polling')
    await put('refunds', 10)
    await until(async () => (await numbersIn('refunds')).length >= 10, 'all have come')
    worker.stop()
    assert.deepEqual(await running, { end: 'stopped' })
    assert.deepEqual(await numbersIn('refunds'), range(10))
  })
})
