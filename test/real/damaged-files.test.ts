// R21 for files, on real engines. `npm run chaos -- --only R21` runs more.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { makeRandom } from '../../chaos/random.ts'
import { allFormats, textFormats } from '../damaged-files/draw-file.ts'
import { runFileRound } from '../damaged-files/file-round.ts'
import { drillSeed, drillSize } from '../harness/drill.ts'
import { describeOnEngines } from './sink-world.ts'

describeOnEngines('damaged files', (world) => {
  const rounds = drillSize(30)
  it(`R21 damaged files are reported, and do not block others (${rounds} sets)`, async () => {
    const seed = drillSeed()
    const { engine } = world
    const fileEngine = { access: world.accessBy(engine.port), query: (sql: string) => engine.query(sql) }
    for (let round = 0; round < rounds; round++) {
      const random = makeRandom(seed + round)
      const table = `files_${round}`
      const { problems, format } = await runFileRound(fileEngine, {
        random,
        table,
        formats: world.isOld ? textFormats : allFormats,
      })
      assert.deepEqual(problems, [], `round ${round} of seed ${seed}, ${format}`)
      await engine.query(`DROP TABLE pipes.${table}`)
      await engine.query(`DROP TABLE IF EXISTS pipes.${table}_penstock_errors`)
    }
  })
})
