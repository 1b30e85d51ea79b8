// R9: sequences of calls against each of two models on each of two databases, a hundred for each.
import { after, before, describe, it } from 'node:test'
import { drillSeed, drillSize } from '../drill.ts'
import { openTestApp, type TestApp } from '../harness.ts'
import { runLifecycleModel } from '../lifecycle-model.ts'
import { runPipeModel } from '../model.ts'

const runs = drillSize(300) / 4
const seed = drillSeed()
/** Far above what they take. */
const timeout = 1_000 * runs + 300_000

for (const dialect of ['sqlite', 'postgres'] as const) {
  describe(`R9 models on ${dialect} (PENSTOCK_DRILL_SEED=${seed})`, () => {
    let app: TestApp
    before(async () => {
      app = await openTestApp(dialect, { logLevel: 'silent' })
    })
    after(() => app?.close())

    it(`R9 changes pipes as its model does in ${runs} sequences`, { timeout }, async () => {
      await runPipeModel(app, runs, seed)
    })

    it(`R9 answers as the model of a life in ${runs} sequences`, { timeout }, async () => {
      const counts = await runLifecycleModel(app, runs, seed)
      const accepted = [...counts].filter(([name]) => name.endsWith(' 200')).map(([, times]) => times)
      console.log(
        `R9 ${dialect}: ${counts.get('changed')} changes, ${counts.get('replayed')} replays, each operation accepted ` +
          `at least ${Math.min(...accepted)} times`,
      )
    })
  })
}
