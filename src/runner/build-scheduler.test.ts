import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises'
import { makeBuildScheduler } from './build-scheduler.ts'

/** A clock that only work moves. */
function makeClock(): { now(): number; work(ms: number): void } {
  let nowMs = 0
  return {
    now: () => nowMs,
    work(ms) {
      nowMs += ms
    },
  }
}

describe('turns', () => {
  it('a lone worker never waits', async () => {
    const turn = makeBuildScheduler().join(125)
    let isBegun = false
    const building = turn.build(async () => {
      isBegun = true
    })
    await Promise.resolve()
    assert.ok(isBegun)
    await building
  })

  it('workers that are busy have turns in proportion to their weights', async () => {
    const clock = makeClock()
    const turns = makeBuildScheduler(clock.now)
    const built = { light: 0, heavy: 0 }
    const run = async (name: keyof typeof built, weight: number): Promise<void> => {
      const turn = turns.join(weight)
      while (clock.now() < 500) {
        await turn.build(async () => {
          clock.work(1)
          built[name]++
        })
        // Between two turns a worker reads on.
        await nextTurn()
      }
      turn.leave()
    }
    await Promise.all([run('light', 125), run('heavy', 500)])
    const ratio = built.heavy / built.light
    assert.ok(ratio > 3.5 && ratio < 4.5, `${built.heavy} to ${built.light}`)
  })

  it('one that waits for the network does not keep the others waiting', async () => {
    const turns = makeBuildScheduler()
    const { promise: answer, resolve } = Promise.withResolvers<void>()
    const waiting = turns.join(125).build(() => answer)
    const other = turns.join(125).build(async () => 'built')
    assert.equal(await Promise.race([other, wait(2_000, 'late', { ref: false })]), 'built')
    resolve()
    await waiting
  })

  it('one that does several things at once has a turn for each of them', async () => {
    const turn = makeBuildScheduler().join(125)
    const all = Promise.all(['one', 'two', 'three', 'four'].map((name) => turn.build(async () => name)))
    assert.deepEqual(await Promise.race([all, wait(2_000, 'late', { ref: false })]), ['one', 'two', 'three', 'four'])
  })

  it('one that fails gives its turn to the next', async () => {
    const turns = makeBuildScheduler()
    const failing = turns.join(125).build(() => Promise.reject(new Error('no')))
    const next = turns.join(125).build(async () => 'built')
    await assert.rejects(failing, /no/)
    assert.equal(await next, 'built')
  })

  it('one that was idle has not saved up turns', async () => {
    const clock = makeClock()
    const turns = makeBuildScheduler(clock.now)
    const [busy, idle] = [turns.join(125), turns.join(125)]
    for (let round = 0; round < 20; round++) await busy.build(async () => clock.work(5))
    const order: string[] = []
    const runThrice = async (name: string, turn: typeof busy): Promise<void> => {
      for (let round = 0; round < 3; round++) {
        await turn.build(async () => {
          clock.work(5)
          order.push(name)
        })
      }
      turn.leave()
    }
    await Promise.all([runThrice('busy', busy), runThrice('idle', idle)])
    assert.equal(new Set(order.slice(0, 2)).size, 2, order.join())
    assert.equal(new Set(order.slice(2, 4)).size, 2, order.join())
  })
})
