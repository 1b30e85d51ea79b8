// S2: a hundred thousand generated requests in process. Each database has its own file, because each takes long and uses one
// core.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Dialect } from '../../src/database/sql.ts'
import { operations } from '../../src/operations.ts'
import { drillSeed, drillSize } from '../harness/drill.ts'
import { type FuzzCounts, fuzz } from '../harness/fuzz.ts'
import { openTestApp } from '../harness/test-app.ts'
import { asksEngine } from '../harness/world.ts'

const size = drillSize(100_000)
const shares: Record<Dialect, number> = { sqlite: 0.85, postgres: 0.15 }
/** Then a new Penstock starts: growing lists would take a fifth of the time. */
const requestsPerPenstock = 10_000

export function testMadeUpRequests(dialect: Dialect): void {
  const seed = drillSeed()
  const requests = shares[dialect] * size
  describe(`S2 generated requests on ${dialect} (PENSTOCK_DRILL_SEED=${seed})`, () => {
    it(`S2 gives the specified answer to each of ${requests} requests`, { timeout: 6 * size + 60_000 }, async () => {
      const accepted: Record<string, number> = {}
      const statuses: Record<string, number> = {}
      let slowestMs = 0
      let hiccups = 0
      for (let sent = 0; sent < requests; sent += requestsPerPenstock) {
        const figures = await fuzzOne(dialect, Math.min(requestsPerPenstock, requests - sent), seed + sent)
        for (const [id, of] of Object.entries(figures.byOperation)) accepted[id] = (accepted[id] ?? 0) + of.accepted
        for (const [status, of] of Object.entries(figures.byStatus)) statuses[status] = (statuses[status] ?? 0) + of
        slowestMs = Math.max(slowestMs, figures.slowestMs)
        hiccups += figures.hiccups
      }
      console.log(
        `S2 ${dialect}: ${JSON.stringify(statuses)}, slowest ${Math.round(slowestMs)} ms, ${hiccups} slow only once`,
      )
      for (const { id } of operations) {
        assert.ok((accepted[id] ?? 0) > 0 || asksEngine.includes(id), `${id} never accepted anything`)
      }
    })
  })
}

async function fuzzOne(dialect: Dialect, requests: number, seed: number): Promise<FuzzCounts> {
  const app = await openTestApp(dialect, { logLevel: 'silent' })
  try {
    return await fuzz(app, requests, seed)
  } finally {
    await app.close()
  }
}
