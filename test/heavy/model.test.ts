// R9: sequences of calls against two models on two databases, a hundred for each combination.
import { after, before, describe, it } from 'node:test'
import { drillSeed, drillSize } from '../harness/drill.ts'
import { openTestApp, type TestApp } from '../harness/test-app.ts'
import { runLifecycleModel } from '../models/lifecycle-model.ts'
import { runPipeModel } from '../models/model.ts'

const runs = drillSize(300) / 4
const seed = drillSeed()
/** Far above the usual duration. */
const timeout = 1_000 * runs + 300_000

for (const dialect of ['sqlite', 'postgres'] as const) {
  describe(`R9 models on ${dialect} (PENSTOCK_DRILL_SEED=${seed})`, () => {
    let app: TestApp
    before(async () => {
      app = await openTestApp(dialect, { logLevel: 'silent' })
    })
    after(() => app?.close())

    it(`R9 changes pipes as its model in ${runs} sequences`, { timeout }, async () => {
      await runPipeModel(app, runs, seed)
    })

    it(`R9 answers as the life-cycle model in ${runs} sequences`, { timeout }, async () => {
      const counts = await runLifecycleModel(app, runs, seed)
      const accepted = [...counts].filter(([name]) => name.endsWith(' 200')).map(([, times]) => times)
      console.log(
        `R9 ${dialect}: ${counts.get('changed')} changes, ${counts.get('replayed')} replays, each operation accepted ` +
          `at least ${Math.min(...accepted)} times`,
      )
    })
  })
}
