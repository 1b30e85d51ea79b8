// R18, R19 and changes of running pipes, shortly: `npm run chaos` does the same for as long as one likes. A run that fails says
// which folder has its history, its log and its database.
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { drills, runDeliveries } from '../../chaos/drills.ts'
import { isExact, type Run } from '../../chaos/in-world.ts'
import { makeServers } from '../../chaos/servers.ts'

const timeout = 240_000

function assertExact({ outcome, kept }: Run): void {
  assert.ok(outcome.producedRows > 0)
  assert.ok(isExact(outcome), `look in ${kept}: ${JSON.stringify(outcome)}`)
}

describe('pipes while everything around them dies', () => {
  const servers = makeServers()
  after(() => servers.stop())

  for (const { seed, engine, source, troubles } of [
    { seed: 1, engine: 'old', source: 'kafka', troubles: 6 },
    { seed: 2, engine: 'modern', source: 'kafka', troubles: 4 },
    { seed: 3, engine: 'old', source: 'objects', troubles: 4 },
    { seed: 4, engine: 'modern', source: 'objects', troubles: 3 },
    { seed: 5, engine: 'old', source: 'objects once', troubles: 3 },
  ] as const) {
    it(`R18: ${source}, ${engine} engine: ${troubles} troubles lose and double nothing`, { timeout }, async () => {
      assertExact(await runDeliveries(servers, source, { number: 0, engine, troubles, seed }))
    })
  }

  it('R19: who wakes up after its lease changes nothing any more', { timeout }, async () => {
    const run = drills.R19?.run(servers, { number: 0, engine: 'old', troubles: 2, seed: 6 })
    assertExact((await run) ?? assert.fail('there is no R19'))
  })

  it('15 changes of a busy pipe lose and double nothing, and a bad one is told', { timeout }, async () => {
    const run = drills.updates?.run(servers, { number: 0, engine: 'modern', troubles: 15, seed: 7 })
    assertExact((await run) ?? assert.fail('there are no updates'))
  })
})
