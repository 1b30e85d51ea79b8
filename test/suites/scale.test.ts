// A small run of the simulation of docs/explanation/scaling.md: the simulated database must support the statements of the runner, and runners
// must share pipes evenly.
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { makeRandom } from '../../chaos/random.ts'
import { Fleet } from '../../chaos/scale/fleet.ts'

const behavior = { claimsInOrder: false, looksEverySecond: false }

describe('simulated runners that share many pipes', () => {
  const fleet = new Fleet({ pipes: 600, random: makeRandom(7), behavior, nowMs: Date.UTC(2026, 0, 1) })
  after(() => fleet.close())
  const untilCalm = () => fleet.run({ seconds: 120, untilCalm: true })

  it('each have a part, and together all pipes', async () => {
    fleet.start(20, 5_000)
    const { fewest, most, allTakenSeconds } = await untilCalm()
    assert.deepEqual([fewest, most], [30, 30])
    assert.ok(allTakenSeconds !== undefined && allTakenSeconds < 30, `all pipes were taken after ${allTakenSeconds} s`)
  })

  it('take over the pipes of killed runners soon after the leases expire', async () => {
    fleet.kill(5)
    const { most, allTakenSeconds, claimCounts } = await untilCalm()
    assert.equal(most, 40)
    // All runners claim at the same time, but rarely the same pipes.
    assert.ok(
      claimCounts.refused < claimCounts.claims / 3,
      `${claimCounts.refused} of ${claimCounts.claims} claims were refused`,
    )
    assert.ok(allTakenSeconds !== undefined && allTakenSeconds < 20, `all were taken over after ${allTakenSeconds} s`)
  })

  it('give a part to new runners', async () => {
    fleet.start(5, 1_000)
    const { fewest, most } = await untilCalm()
    assert.deepEqual([fewest, most], [30, 30])
  })

  it('change nothing when nothing happens', async () => {
    const { claimCounts, load } = await fleet.run({ seconds: 30, untilCalm: false })
    assert.deepEqual(claimCounts, { claims: 0, refused: 0, givenBack: 0 })
    // Three statements per survey every second, three per renewal every five seconds.
    assert.ok(load.statements <= 30 * 20 * 3.7, `${load.statements} statements`)
  })
})
