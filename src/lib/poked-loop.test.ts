import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as nextLoopIteration } from 'node:timers/promises'
import { PokedLoop } from './poked-loop.ts'

/** A loop whose runs end when the test decides. */
function setUp() {
  const ends: (() => void)[] = []
  let runs = 0
  const loop = new PokedLoop(() => {
    runs++
    return new Promise((resolve) => ends.push(resolve))
  })
  const endRun = async (): Promise<void> => {
    assert.equal(ends.length, 1, 'one run at a time')
    ends.shift()!()
    await nextLoopIteration()
  }
  return { loop, endRun, countRuns: () => runs }
}

describe('a poked loop', () => {
  it('runs at once, and once more for all pokes during a run', async () => {
    const { loop, endRun, countRuns } = setUp()
    loop.poke()
    assert.equal(countRuns(), 1)
    for (let poke = 0; poke < 3; poke++) loop.poke()
    assert.equal(countRuns(), 1)
    await endRun()
    assert.equal(countRuns(), 2)
    await endRun()
    assert.equal(countRuns(), 2)
    assert.equal(loop.running, undefined)
  })

  it('runs at its start and at the interval, never twice at once', async (context) => {
    context.mock.timers.enable({ apis: ['setInterval'] })
    const { loop, endRun, countRuns } = setUp()
    loop.start(1_000)
    assert.equal(countRuns(), 1)
    await endRun()
    context.mock.timers.tick(999)
    assert.equal(countRuns(), 1)
    context.mock.timers.tick(1)
    assert.equal(countRuns(), 2)
    context.mock.timers.tick(2_000)
    assert.equal(countRuns(), 2)
    await endRun()
    assert.equal(countRuns(), 3)
    await endRun()
    await loop.stop()
    context.mock.timers.tick(5_000)
    assert.equal(countRuns(), 3)
  })

  it('stops when the present run has ended, without another', async () => {
    const { loop, endRun, countRuns } = setUp()
    loop.poke()
    loop.poke()
    let isStopped = false
    const stopped = loop.stop().then(() => {
      isStopped = true
    })
    await nextLoopIteration()
    assert.equal(isStopped, false)
    await endRun()
    await stopped
    loop.poke()
    assert.equal(countRuns(), 1)
  })

  it('can be stopped by its own work', async () => {
    let runs = 0
    const loop = new PokedLoop(async () => {
      runs++
      await nextLoopIteration()
      loop.poke()
      void loop.stop()
    })
    loop.poke()
    await loop.running
    assert.equal(runs, 1)
    await loop.stop()
  })
})
