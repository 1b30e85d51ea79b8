// Effect of each setting of a pipe, and of each field of its scaling, on a worker.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { lineEncoders } from '../../test/runner-world/line-rows.ts'
import { lineObjects, lineStream } from '../../test/runner-world/line-sources.ts'
import { makeRunnerWorld, type RunnerWorld, type WorldOptions } from '../../test/runner-world/runner-world.ts'
import type { Insert } from '../engine/engine.ts'
import type { ReadableSource, ReadLimits } from '../sources/source.ts'

const encoders = lineEncoders({ pieceBytes: [1_000] })
const oneRow = { rows: 1, bytes: 1_000, note: () => undefined }
const large = { rows: 1_000, bytes: 1_000_000, note: () => undefined }
const lines = Array.from({ length: 12 }, (_, index) => `line ${index}`)
/** Eight bytes each. */
const objects = Object.fromEntries(Array.from({ length: 7 }, (_, index) => [`file ${index}`, `line ${index + 1}.\n`]))

type More = Partial<WorldOptions> & { isEndless?: boolean }

function streamWorld({ isEndless = false, ...more }: More = {}): RunnerWorld {
  return makeRunnerWorld({
    kind: 'kafka',
    options: { batchSize: oneRow, encoders },
    makeSource: (pass) => lineStream({ partitions: { a: lines }, begin: () => 0, batchRows: 1, isEndless }, pass),
    ...more,
  })
}

function objectWorld(more: More = {}): RunnerWorld {
  return makeRunnerWorld({
    kind: 'objectStorage',
    options: { batchSize: large, encoders },
    makeSource: (pass) => lineObjects(objects, pass),
    ...more,
  })
}

/**
 * Records inserts and their concurrency. Each insert waits for the others that should run with it, however slow the machine is, and
 * then long enough to detect one too many.
 */
function watchInserts(
  { engine }: RunnerWorld,
  expected = 1,
): {
  inserts: Insert[]
  mostAtOnce(): number
  mostReady(): number
} {
  const inserts: Insert[] = []
  let [underWay, most, ready, mostReady] = [0, 0, 0, 0]
  const makeSink = engine.sink.bind(engine)
  engine.sink = (pass) => {
    const sink = makeSink(pass)
    return {
      ...sink,
      async insert(insert, signal) {
        inserts.push(insert)
        mostReady = Math.max(mostReady, ++ready)
        await insert.mayBegin?.(signal).finally(() => ready--)
        most = Math.max(most, ++underWay)
        const endMs = performance.now() + 10_000
        while (most < expected && performance.now() < endMs) await wait(5)
        await wait(30)
        return sink.insert(insert, signal).finally(() => underWay--)
      },
    }
  }
  return { inserts, mostAtOnce: () => most, mostReady: () => mostReady }
}

async function assertMostAtOnce(world: RunnerWorld, expected: number): Promise<void> {
  const { mostAtOnce } = watchInserts(world, expected)
  assert.deepEqual(await world.runToEnd(), { end: 'completed' })
  assert.equal(mostAtOnce(), expected)
}

/** An empty source that records the limits of its reads. */
function watchReads(): { reads: ReadLimits[]; makeSource: () => ReadableSource } {
  const reads: ReadLimits[] = []
  const makeSource = (): ReadableSource => ({
    probe: async () => ({ samples: [] }),
    open: async () => ({
      async read(limits) {
        reads.push(limits)
        await wait(1)
        return []
      },
      acknowledge: async () => undefined,
      lag: () => 0,
      close: async () => undefined,
    }),
  })
  return { reads, makeSource }
}

async function firstRead(makeWorld: (makeSource: () => ReadableSource) => RunnerWorld): Promise<ReadLimits> {
  const { reads, makeSource } = watchReads()
  const worker = makeWorld(makeSource).newWorker()
  const running = worker.run()
  for (let round = 0; round < 2_000 && reads.length === 0; round++) await wait(5)
  worker.stop()
  await running
  const [read] = reads
  assert.ok(read, 'nothing was read')
  return read
}

describe('settings of a pipe', () => {
  it('streaming_max_insert_wait_ms is how long records wait for more records', async () => {
    for (const waitMs of [300, 600]) {
      const settings = { streaming_max_insert_wait_ms: waitMs }
      const world = streamWorld({ isEndless: true, settings, options: { batchSize: large, encoders } })
      const { inserts } = watchInserts(world)
      const begunMs = performance.now()
      const worker = world.newWorker()
      const running = worker.run()
      while (inserts.length === 0 && performance.now() - begunMs < 10_000) await wait(5)
      const tookMs = performance.now() - begunMs
      // Where reading took longer than the wait, the rest comes with another insert.
      while (world.engine.lines.length < lines.length && performance.now() - begunMs < 20_000) await wait(5)
      worker.stop()
      await running
      // The default is 5 s.
      assert.ok(tookMs >= waitMs - 1 && tookMs < 4_900, `the first insert came after ${tookMs} ms`)
      assert.equal(world.engine.lines.length, lines.length)
    }
  })

  it('object_storage_concurrency is the number of concurrent inserts of files', async () => {
    for (const concurrency of [1, 3]) {
      const settings = { object_storage_concurrency: concurrency, object_storage_max_file_count: 1 }
      await assertMostAtOnce(objectWorld({ settings }), concurrency)
    }
  })

  it('prepares one insert of files in advance, and not more', async () => {
    const world = objectWorld({ settings: { object_storage_concurrency: 1, object_storage_max_file_count: 1 } })
    const { mostAtOnce, mostReady } = watchInserts(world)
    assert.deepEqual(await world.runToEnd(), { end: 'completed' })
    assert.deepEqual([mostAtOnce(), mostReady()], [1, 1])
    assert.equal(world.engine.lines.length, Object.keys(objects).length)
  })

  it('object_storage_max_file_count is the maximum number of files per insert', async () => {
    const world = objectWorld({ settings: { object_storage_max_file_count: 3 } })
    await world.runToEnd()
    assert.deepEqual(
      world.engine.inserts.map((insert) => insert.lines.length),
      [3, 3, 1],
    )
  })

  it('object_storage_max_insert_bytes is the maximum number of bytes per insert of files', async () => {
    const world = objectWorld({ settings: { object_storage_max_insert_bytes: 20 } })
    await world.runToEnd()
    assert.deepEqual(
      world.engine.inserts.map((insert) => insert.lines.length),
      [2, 2, 2, 1],
    )
  })

  it('object_storage_polling_interval_ms is the interval between two listings', async () => {
    const settings = { object_storage_polling_interval_ms: 1_234 }
    const { waitMs } = await firstRead((makeSource) => objectWorld({ makeSource, settings }))
    assert.equal(waitMs, 1_234)
  })

  it('engine_… are passed with every insert', async () => {
    const settings = {
      engine_max_download_threads: 7,
      engine_max_insert_threads: 3,
      engine_max_threads: 5,
      engine_min_insert_block_size_bytes: 1_000,
      engine_parallel_distributed_insert_select: 1,
      engine_parallel_view_processing: true,
    }
    const world = streamWorld({ settings })
    const { inserts } = watchInserts(world)
    await world.runToEnd()
    assert.ok(inserts.length > 1)
    for (const insert of inserts) assert.deepEqual({ ...insert.settings, ...settings }, insert.settings)
  })
})

describe('scaling of a pipe', () => {
  it('concurrency is the number of concurrent inserts, of streams and of files', async () => {
    await assertMostAtOnce(streamWorld({ scaling: { concurrency: 3 } }), 3)
    const settings = { object_storage_concurrency: 1, object_storage_max_file_count: 1 }
    await assertMostAtOnce(objectWorld({ settings, scaling: { concurrency: 2 } }), 2)
  })

  it('concurrency 0 is one insert when the order of rows matters, and two when it does not', async () => {
    await assertMostAtOnce(streamWorld(), 1)
    const world = streamWorld()
    world.parts.pipe.destination.managedTable = true
    world.parts.pipe.destination.tableDefinition = { engine: { type: 'MergeTree' } }
    await assertMostAtOnce(world, 2)
  })

  it('replicaMemoryGb limits how much a worker reads ahead', async () => {
    const maxBytesWith = async (replicaMemoryGb: number): Promise<number> => {
      const scaling = { replicaMemoryGb, concurrency: 8 }
      const { maxBytes } = await firstRead((makeSource) => streamWorld({ makeSource, scaling, options: { encoders } }))
      return maxBytes
    }
    assert.ok((await maxBytesWith(0.5)) < (await maxBytesWith(1)))
  })

  it('replicaCpuMillicores is the weight of a worker in the build scheduler', async () => {
    const weights: number[] = []
    const buildScheduler = {
      join(weight: number) {
        weights.push(weight)
        return { build: <Result>(work: () => Promise<Result>) => work(), leave: () => undefined }
      },
    }
    const options = { batchSize: oneRow, encoders, buildScheduler }
    await streamWorld({ options, scaling: { replicaCpuMillicores: 750 } }).runToEnd()
    assert.deepEqual(weights, [750])
  })
})
