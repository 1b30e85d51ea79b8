// Workers between test sources and engines over the network: verifies that the parts work together.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { askAgainMs, type TestEngine } from '../../test/fakes/engine-front.ts'
import { startPaperEngine } from '../../test/fakes/paper-engine.ts'
import { openEmbeddedEngine } from '../../test/harness/embedded-engine.ts'
import { MemoryStore } from '../../test/runner-world/memory-store.ts'
import { makeRunnerWorld } from '../../test/runner-world/runner-world.ts'
import { loopbackEgress } from '../../test/sources/conformance.ts'
import { startKafkaBroker } from '../../test/sources/kafka-broker/broker.ts'
import type { KafkaServer } from '../../test/sources/kafka-server.ts'
import { configOf, shortPosition, sourceOf, topicWith } from '../../test/sources/kafka-world.ts'
import { type ObjectServer, startObjectServer } from '../../test/sources/object-server.ts'
import { plainContext, s3Source } from '../../test/sources/object-storage-conformance.ts'
import type { EngineColumn } from '../engine/engine.ts'
import { openSink } from '../engine/sink.ts'
import { Secret } from '../lib/secret.ts'
import type { ReadableSource } from '../sources/source.ts'
import { makeWorker } from './move.ts'
import type { Worker, WorkerParts, WorkerStatus } from './worker.ts'

const columns = [
  { name: 'id', type: 'UInt32' },
  { name: 'name', type: 'String' },
]
const definition = { engine: { type: 'MergeTree' as const }, sortingKey: ['id'] }
const times = { backOff: { firstMs: 5, longestMs: 20 } }

interface World {
  store: MemoryStore
  statuses: WorkerStatus[]
  /** A worker of the pipe in its present configuration. */
  newWorker(columns?: EngineColumn[]): Worker
}

interface WorldParts {
  kind: 'kafka' | 'objectStorage'
  table: string
  shown: object
  source: ReadableSource
  settings?: Partial<WorkerParts['pipe']['settings']>
}

function worldOf(engine: TestEngine, { kind, table, shown, source, settings = {} }: WorldParts): World {
  const store = new MemoryStore()
  const statuses: WorkerStatus[] = []
  const { parts } = makeRunnerWorld({ kind, options: {}, makeSource: () => source })
  const allSettings = { ...parts.pipe.settings, streaming_max_insert_wait_ms: 50, ...settings }
  const pipe = { ...parts.pipe, source: shown, settings: allSettings }
  const { protocol, host, port, username, password, database } = engine
  const access = { protocol, host, port, username, password: new Secret(password) }
  let epoch = 0
  const newWorker: World['newWorker'] = (ofPipe = columns) => {
    epoch++
    const destination = { database, table, columns: ofPipe, managedTable: true, tableDefinition: definition }
    const lease = { workerIndex: 0, workerCount: 1, epoch }
    return makeWorker(
      {
        ...parts,
        ...lease,
        pipe: { ...pipe, destination },
        source,
        store: store.of(lease),
        egress: loopbackEgress,
        context: plainContext,
        openSink: (signal) =>
          openSink(
            loopbackEgress,
            access,
            { database, table, columns: ofPipe, definition },
            { pipeId: pipe.id, workerIndex: 0, epoch },
            { signal },
          ),
        report: (status) => statuses.push(status),
      },
      { times },
    )
  }
  return { store, statuses, newWorker }
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let round = 0; round < 600 && !(await isSo()); round++) await wait(askAgainMs)
  assert.ok(await isSo(), 'it did not come to pass')
}

const rowOf = (id: number): string => JSON.stringify({ id, name: `name ${id % 7}` })

async function idsIn(engine: TestEngine, table: string): Promise<number[]> {
  // The table does not exist until a worker has created it.
  const rows = await engine.rowsIfAny(table)
  return rows.map(({ id }) => Number(id)).toSorted((one, other) => one - other)
}

const numbersTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index)

for (const hasTokens of [true, false]) {
  describe(`workers and an engine ${hasTokens ? 'with' : 'without'} tokens`, () => {
    let engine: TestEngine
    let kafka: KafkaServer
    let objects: ObjectServer
    before(async () => {
      engine = await (hasTokens ? openEmbeddedEngine() : startPaperEngine())
      kafka = await startKafkaBroker()
      objects = await startObjectServer()
      await objects.createBucket('data')
    })
    after(async () => {
      await Promise.all([engine?.close(), kafka?.stop(), objects?.stop()])
    })

    const stream = async (table: string, records: string[]): Promise<World> => {
      const values = records.map((value, index) => ({ partition: index % 3, value: Buffer.from(value) }))
      const topic = await topicWith(kafka, values, 3)
      return worldOf(engine, {
        kind: 'kafka',
        table,
        shown: configOf(kafka, topic),
        source: sourceOf(kafka, topic),
      })
    }

    it('moves each record of a topic once, although answers are lost and a worker is aborted', async () => {
      const world = await stream('topic', numbersTo(300).map(rowOf))
      engine.cutNext({ matching: /^INSERT/i, times: 2 })
      const first = world.newWorker()
      const running = first.run()
      await until(async () => (await idsIn(engine, 'topic')).length > 0)
      first.abort()
      await running
      const second = world.newWorker()
      const ran = second.run()
      await until(async () => (await idsIn(engine, 'topic')).length >= 300 && world.store.deliveries.size === 0)
      second.stop()
      assert.deepEqual(await ran, { end: 'stopped' })
      assert.deepEqual(await idsIn(engine, 'topic'), numbersTo(300))
      assert.deepEqual(
        [...world.store.positions.values()].map(({ position }) => shortPosition(position)),
        ['100', '100', '100'],
      )
    })

    /** A worker that ends when the engine has stored its first batch, before it gets the answer. */
    async function insertUnheard(world: World, table: string): Promise<void> {
      engine.delayNext({ matching: /^INSERT/i, delayMs: 2_000, after: true })
      const worker = world.newWorker()
      const running = worker.run()
      await until(async () => (await idsIn(engine, table)).length > 0)
      worker.abort()
      await running
      assert.ok(world.store.deliveries.size > 0)
    }

    async function finish(world: World, worker: Worker): Promise<void> {
      const running = worker.run()
      await until(() => world.store.deliveries.size === 0 && world.store.counters.rowsRead >= 30)
      worker.stop()
      assert.deepEqual(await running, { end: 'stopped' })
    }

    const withMore = [...columns, { name: 'more', type: 'String' }]
    const records = numbersTo(30).map((id) => JSON.stringify({ id, name: 'same', more: `more ${id}` }))

    it('sends a batch again that the engine has lost but still knows by its token', { skip: !hasTokens }, async () => {
      const world = await stream('lost', records)
      await insertUnheard(world, 'lost')
      await engine.run('ALTER TABLE lost DELETE WHERE 1', { mutations_sync: '1' })
      await finish(world, world.newWorker())
      assert.deepEqual(await idsIn(engine, 'lost'), numbersTo(30))
    })

    it('does not send a batch again when its rows are encoded differently now', async () => {
      const world = await stream('remade', records)
      await insertUnheard(world, 'remade')
      await finish(world, world.newWorker(withMore))
      assert.deepEqual(await idsIn(engine, 'remade'), numbersTo(30))
    })

    it('stores records that the engine rejects, and moves the others', async () => {
      const records = numbersTo(60).map(rowOf)
      records[7] = '{"id":"seven","name":"no number"}'
      records[23] = 'no JSON at all'
      const world = await stream('mixed', records)
      const worker = world.newWorker()
      const running = worker.run()
      await until(() => world.store.counters.rowsRead >= 60)
      worker.stop()
      assert.deepEqual(await running, { end: 'stopped' })
      assert.deepEqual(
        await idsIn(engine, 'mixed'),
        numbersTo(60).filter((id) => id !== 7 && id !== 23),
      )
      const kept = (await engine.rows('mixed_penstock_errors')).map(({ raw }) => raw)
      assert.deepEqual(kept.toSorted(), [records[7], records[23]].toSorted())
      assert.equal(world.store.counters.rowsRefused, 2)
      assert.equal(world.statuses.at(-1)?.state, 'running')
    })

    it('loads each object once, although the engine is unavailable in between', async () => {
      const folder = hasTokens ? 'new' : 'old'
      for (const part of [0, 1, 2, 3]) {
        const lines = numbersTo(25).map((index) => rowOf(part * 25 + index))
        await objects.put('data', `${folder}/${part}.json`, Buffer.from(`${lines.join('\n')}\n`))
      }
      const url = `${objects.endpoint}/data/${folder}/*`
      const world = worldOf(engine, {
        kind: 'objectStorage',
        table: 'files',
        shown: { type: 's3', format: 'JSONEachRow', compression: 'auto', isContinuous: false, url },
        source: s3Source(url, objects.accessKey, {}, plainContext),
        settings: { object_storage_max_file_count: 2 },
      })
      engine.cutNext({ matching: /^INSERT/i })
      engine.failNext({ matching: /^INSERT/i, code: 202, status: 500, message: 'Too many simultaneous queries' })
      assert.deepEqual(await world.newWorker().run(), { end: 'completed' })
      assert.deepEqual(await idsIn(engine, 'files'), numbersTo(100))
      assert.equal(world.store.deliveries.size, 0)
      assert.equal(world.store.counters.rowsWritten, 100)
    })

    it('reports that it waits for files as soon as the last insert has ended, not with the next poll', async () => {
      const folder = hasTokens ? 'new-waits' : 'old-waits'
      await objects.put('data', `${folder}/1.json`, Buffer.from(`${rowOf(1)}\n`))
      const url = `${objects.endpoint}/data/${folder}/*`
      const world = worldOf(engine, {
        kind: 'objectStorage',
        table: 'waited',
        shown: { type: 's3', format: 'JSONEachRow', compression: 'auto', isContinuous: true, url },
        source: s3Source(url, objects.accessKey, { isContinuous: true }, plainContext),
        // One file fills a batch, and is inserted long before the next poll.
        settings: { object_storage_max_file_count: 1, object_storage_polling_interval_ms: 600_000 },
      })
      engine.delayNext({ matching: /^INSERT/i, delayMs: 300 })
      const worker = world.newWorker()
      const running = worker.run()
      await until(async () => (await idsIn(engine, 'waited')).length === 1)
      await until(() => /^Waiting for new files/.test(world.statuses.at(-1)?.doing ?? ''))
      worker.stop()
      assert.deepEqual(await running, { end: 'stopped' })
    })
  })
}
