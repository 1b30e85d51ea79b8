// R18, R19, sources that change their shape, and changes of running pipes, shortly: `npm run chaos` does the same for as long as one likes. A run that fails says
// which folder has its history, its log and its database.
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { type DrillOptions, drills, runDeliveries } from '../../chaos/drills.ts'
import { isExact, type Run } from '../../chaos/in-world.ts'
import { makeServers } from '../../chaos/servers.ts'

/** Far above what a run takes: whoever waits within it in vain says for what, and keeps what there is to look at. */
const timeout = 900_000

function assertExact({ outcome, kept }: Run): void {
  assert.ok(outcome.producedRows > 0)
  assert.ok(isExact(outcome), `look in ${kept}: ${JSON.stringify(outcome)}`)
}

describe('pipes while everything around them dies', () => {
  const servers = makeServers()
  after(() => servers.stop())
  const runDrill = async (id: string, options: Partial<DrillOptions> & Omit<DrillOptions, 'number'>): Promise<Run> =>
    (drills[id] ?? assert.fail(`there is no ${id}`)).run(servers, { number: 0, ...options })

  for (const { seed, engine, source, troubles } of [
    { seed: 1, engine: 'old', source: 'kafka', troubles: 6 },
    { seed: 2, engine: 'modern', source: 'kafka', troubles: 4 },
    { seed: 3, engine: 'old', source: 'objects', troubles: 4 },
    { seed: 4, engine: 'modern', source: 'objects', troubles: 3 },
    { seed: 5, engine: 'old', source: 'objects once', troubles: 3 },
    { seed: 8, engine: 'old', source: 'Kinesis', troubles: 5 },
    { seed: 9, engine: 'modern', source: 'Kinesis', troubles: 5 },
    { seed: 10, engine: 'old', source: 'queue', troubles: 5 },
    { seed: 11, engine: 'modern', source: 'queue', troubles: 5 },
  ] as const) {
    it(`R18: ${source}, ${engine} engine: ${troubles} troubles lose and double nothing`, { timeout }, async () => {
      assertExact(await runDeliveries(servers, source, { number: 0, engine, troubles, seed }))
    })
  }

  it('3 splits and merges of a Kinesis stream, each with a trouble, lose and double nothing', { timeout }, async () => {
    assertExact(await runDrill('reshard', { engine: 'old', troubles: 3, seed: 12 }))
  })

  for (const { number, source, engine, seed } of [
    { number: 0, source: 'Kinesis', engine: 'modern', seed: 13 },
    { number: 1, source: 'object storage', engine: 'old', seed: 14 },
  ] as const) {
    it(`5 rotations of the key of a busy ${source} pipe lose and double nothing`, { timeout }, async () => {
      assertExact(await runDrill('rotation', { number, engine, troubles: 5, seed }))
    })
  }

  it('R19: who wakes up after its lease changes nothing any more', { timeout }, async () => {
    assertExact(await runDrill('R19', { engine: 'old', troubles: 2, seed: 6 }))
  })

  it('15 changes of a busy pipe lose and double nothing, and a bad one is told', { timeout }, async () => {
    assertExact(await runDrill('updates', { engine: 'modern', troubles: 15, seed: 7 }))
  })
})
