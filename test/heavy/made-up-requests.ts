// S2: a hundred thousand made-up requests in process. Each database has a file, because they take long and need one core each.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Dialect } from '../../src/database/sql.ts'
import { operations } from '../../src/operations.ts'
import { drillSeed, drillSize } from '../drill.ts'
import { fuzz } from '../fuzz.ts'
import { openTestApp, type TestApp } from '../harness.ts'

const size = drillSize(100_000)
const shares: Record<Dialect, number> = { sqlite: 0.85, postgres: 0.15 }

export function testMadeUpRequests(dialect: Dialect): void {
  const seed = drillSeed()
  const requests = shares[dialect] * size
  describe(`S2 made-up requests on ${dialect} (PENSTOCK_DRILL_SEED=${seed})`, () => {
    let app: TestApp
    before(async () => {
      app = await openTestApp(dialect, { logLevel: 'silent' })
    })
    after(() => app?.close())

    it(`S2 answers ${requests} of them as it must`, { timeout: 6 * size + 60_000 }, async () => {
      const { byOperation, byStatus, slowestMs, hiccups } = await fuzz(app, requests, seed)
      console.log(
        `S2 ${dialect}: ${JSON.stringify(byStatus)}, slowest ${Math.round(slowestMs)} ms, ${hiccups} slow only once`,
      )
      for (const { id } of operations) {
        assert.ok(
          (byOperation[id]?.accepted ?? 0) > 0,
          `${id} never accepted anything: ${JSON.stringify(byOperation[id])}`,
        )
      }
    })
  })
}
