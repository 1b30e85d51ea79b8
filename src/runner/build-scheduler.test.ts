import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises'
import { makeBuildScheduler } from './build-scheduler.ts'

/** A clock that advances only with work. */
function makeClock(): { now(): number; work(ms: number): void } {
  let nowMs = 0
  return {
    now: () => nowMs,
    work(ms) {
      nowMs += ms
    },
  }
}

describe('the build scheduler', () => {
  it('never delays a single worker', async () => {
    const builder = makeBuildScheduler().join(125)
    let isBegun = false
    const building = builder.build(async () => {
      isBegun = true
    })
    await Promise.resolve()
    assert.ok(isBegun)
    await building
  })

  it('shares build time between busy workers in proportion to their weights', async () => {
    const clock = makeClock()
    const scheduler = makeBuildScheduler(clock.now)
    const built = { light: 0, heavy: 0 }
    const run = async (name: keyof typeof built, weight: number): Promise<void> => {
      const builder = scheduler.join(weight)
      while (clock.now() < 500) {
        await builder.build(async () => {
          clock.work(1)
          built[name]++
        })
        // A worker reads between two builds.
        await nextTurn()
      }
      builder.leave()
    }
    await Promise.all([run('light', 125), run('heavy', 500)])
    const ratio = built.heavy / built.light
    assert.ok(ratio > 3.5 && ratio < 4.5, `${built.heavy} to ${built.light}`)
  })

  it('does not let others wait for a worker that waits for the network', async () => {
    const scheduler = makeBuildScheduler()
    const { promise: answer, resolve } = Promise.withResolvers<void>()
    const waiting = scheduler.join(125).build(() => answer)
    const other = scheduler.join(125).build(async () => 'built')
    assert.equal(await Promise.race([other, wait(2_000, 'late', { ref: false })]), 'built')
    resolve()
    await waiting
  })

  it('runs all concurrent builds of one worker', async () => {
    const builder = makeBuildScheduler().join(125)
    const all = Promise.all(['one', 'two', 'three', 'four'].map((name) => builder.build(async () => name)))
    assert.deepEqual(await Promise.race([all, wait(2_000, 'late', { ref: false })]), ['one', 'two', 'three', 'four'])
  })

  it('lets the next one build after a failure', async () => {
    const scheduler = makeBuildScheduler()
    const failing = scheduler.join(125).build(() => Promise.reject(new Error('no')))
    const next = scheduler.join(125).build(async () => 'built')
    await assert.rejects(failing, /no/)
    assert.equal(await next, 'built')
  })

  it('gives no credit for idle time', async () => {
    const clock = makeClock()
    const scheduler = makeBuildScheduler(clock.now)
    const [busy, idle] = [scheduler.join(125), scheduler.join(125)]
    for (let round = 0; round < 20; round++) await busy.build(async () => clock.work(5))
    const order: string[] = []
    const runThrice = async (name: string, builder: typeof busy): Promise<void> => {
      for (let round = 0; round < 3; round++) {
        await builder.build(async () => {
          clock.work(5)
          order.push(name)
        })
      }
      builder.leave()
    }
    await Promise.all([runThrice('busy', busy), runThrice('idle', idle)])
    assert.equal(new Set(order.slice(0, 2)).size, 2, order.join())
    assert.equal(new Set(order.slice(2, 4)).size, 2, order.join())
  })
})
