// R21 for PostgreSQL tables. `npm run chaos -- --only R21` runs more; PENSTOCK_DRILL_STEPS ends each round after its first steps,
// to narrow down a failure.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { makeRandom } from '../../chaos/random.ts'
import { runTableRound } from '../changing-tables/table-round.ts'
import { drillSeed, drillSize } from '../harness/drill.ts'
import { type EmbeddedPostgres, startEmbedded } from '../sources/postgres-embedded.ts'

const stepsPerRound = 20

describe('changing PostgreSQL tables', () => {
  let server: EmbeddedPostgres
  before(async () => {
    server = await startEmbedded()
  })
  after(() => server.stop())

  const changes = drillSize(100)
  it(`R21 a copy equals its source, or the pipe reports the difference (${changes} changes)`, async (t) => {
    const seed = drillSeed()
    const steps = Number(process.env.PENSTOCK_DRILL_STEPS ?? stepsPerRound)
    const counts = { equal: 0, reported: 0, differs: 0 }
    for (let round = 0; round * stepsPerRound < changes; round++) {
      const { outcome, history } = await runTableRound(server, { random: makeRandom(seed + round), steps })
      counts[outcome]++
      assert.notEqual(outcome, 'differs', `seed ${seed + round}:\n${history.join('\n')}`)
      if (outcome === 'reported') t.diagnostic(`seed ${seed + round}: ${history.at(-1)}`)
    }
    t.diagnostic(JSON.stringify(counts))
  })
})
