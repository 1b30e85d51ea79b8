// The simulation of docs/scale.md in small: it must keep up with the statements of the runner, and runners must share fairly.
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { makeRandom } from '../chaos/random.ts'
import { Fleet } from '../chaos/scale/fleet.ts'

const habits = { claimsInOrder: false, looksEverySecond: false }

describe('runners that share very many pipes, simulated', () => {
  const fleet = new Fleet({ pipes: 600, random: makeRandom(7), habits, nowMs: Date.UTC(2026, 0, 1) })
  after(() => fleet.close())
  const untilCalm = () => fleet.run({ seconds: 120, untilCalm: true })

  it('have each a part, and all pipes among them', async () => {
    fleet.start(20, 5_000)
    const { fewest, most, allTakenSeconds } = await untilCalm()
    assert.deepEqual([fewest, most], [30, 30])
    assert.ok(allTakenSeconds !== undefined && allTakenSeconds < 30, `all pipes were taken after ${allTakenSeconds} s`)
  })

  it('take over what some leave that are killed, soon after the leases are over', async () => {
    fleet.kill(5)
    const { most, allTakenSeconds, tally } = await untilCalm()
    assert.equal(most, 40)
    // All want them at the same moment, and seldom the same ones.
    assert.ok(tally.refused < tally.claims / 3, `${tally.refused} of ${tally.claims} claims were refused`)
    assert.ok(allTakenSeconds !== undefined && allTakenSeconds < 20, `all were taken over after ${allTakenSeconds} s`)
  })

  it('give a part to those who join', async () => {
    fleet.start(5, 1_000)
    const { fewest, most } = await untilCalm()
    assert.deepEqual([fewest, most], [30, 30])
  })

  it('leave everything as it is when nothing happens', async () => {
    const { tally, load } = await fleet.run({ seconds: 30, untilCalm: false })
    assert.deepEqual(tally, { claims: 0, refused: 0, givenBack: 0 })
    // Three statements of a look every second, three of a renewal every five.
    assert.ok(load.statements <= 30 * 20 * 3.7, `${load.statements} statements`)
  })
})
