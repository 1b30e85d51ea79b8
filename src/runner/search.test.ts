// A batch with very many rejected rows: the search for them delays nothing else, and is never started again.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { lineEncoders } from '../../test/runner-world/line-rows.ts'
import { lineStream } from '../../test/runner-world/line-sources.ts'
import { makeRunnerWorld, type RunnerWorld } from '../../test/runner-world/runner-world.ts'

const rowCount = 1_500
const lines = Array.from({ length: rowCount }, (_, index) => `${index % 100 === 0 ? 'good' : 'BAD'} ${index}`)
const goodLines = lines.filter((line) => line.startsWith('good'))
/** Two attempts per rejected row, and some more for the interruptions. */
const mostTries = 2 * rowCount + 300

function worldOf(): RunnerWorld {
  return makeRunnerWorld({
    kind: 'kafka',
    options: {
      batchSize: { rows: rowCount, bytes: 1_000_000, note: () => undefined },
      encoders: lineEncoders({ pieceBytes: [10] }),
    },
    settings: { streaming_max_insert_wait_ms: 60_000 },
    makeSource: (pass) => lineStream({ partitions: { a: lines }, begin: () => 0, batchRows: 1 }, pass),
  })
}

async function untilTried({ engine }: RunnerWorld, tries: number): Promise<void> {
  for (let round = 0; round < 5_000 && engine.tryOuts < tries; round++) await wait(1)
  assert.ok(engine.tryOuts >= tries, `${engine.tryOuts} tries`)
}

async function assertFinished(world: RunnerWorld): Promise<void> {
  assert.deepEqual(await world.newWorker().run(), { end: 'completed' })
  assert.deepEqual(world.engine.lines, goodLines)
  assert.equal(world.engine.badRows.size, rowCount - goodLines.length)
  assert.equal(world.store.deliveries.size, 0)
  assert.ok(world.engine.tryOuts < mostTries, `${world.engine.tryOuts} tries`)
}

describe('a long search for rejected rows', () => {
  it('ends when the worker is stopped, and the next worker continues it', async () => {
    const world = worldOf()
    const worker = world.newWorker()
    const running = worker.run()
    await untilTried(world, 200)
    worker.stop()
    const triesAtStop = world.engine.tryOuts
    // The source has ended, but not all rows are in the table.
    assert.deepEqual(await running, { end: 'stopped' })
    assert.ok(world.engine.tryOuts - triesAtStop <= 8, `${world.engine.tryOuts - triesAtStop} more tries`)
    const [left] = world.store.deliveries.values()
    const recorded = left?.badRows?.length ?? 0
    assert.ok(recorded >= 30, `${recorded} rows were found`)
    assert.equal(world.engine.badRows.size, recorded)
    assert.equal(world.engine.openSinks, 0)
    await assertFinished(world)
  })

  it('is recorded continuously, so that it continues after a crash', async () => {
    const world = worldOf()
    const worker = world.newWorker()
    const running = worker.run()
    await untilTried(world, 1_400)
    worker.abort()
    await running
    const [left] = world.store.deliveries.values()
    assert.ok((left?.badRows?.length ?? 0) >= 200, `${left?.badRows?.length} rows are recorded`)
    const triesBefore = world.engine.tryOuts
    await assertFinished(world)
    assert.ok(world.engine.tryOuts - triesBefore < 2 * rowCount - 300)
  })
})
