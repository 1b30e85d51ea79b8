// R18 for postgres pipes, tables that come and go, and everything loaded anew, shortly: `npm run chaos` does the same for as long as
// one likes. A run that fails says which folder has its history, its logs and its database.
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { drills } from '../../chaos/drills.ts'
import { isExact } from '../../chaos/in-world.ts'
import { type EngineName, makeServers } from '../../chaos/servers.ts'

/** Far above what a run takes: whoever waits within it in vain says for what, and keeps what there is to look at. */
const timeout = 900_000

describe('postgres pipes while everything around them dies', () => {
  const servers = makeServers()
  after(() => servers.stop())

  const runExactly = async (drill: string, engine: EngineName, troubles: number, seed: number): Promise<void> => {
    const run = drills[drill]?.run(servers, { number: 0, engine, troubles, seed })
    const { outcome, kept } = (await run) ?? assert.fail(`there is no ${drill}`)
    assert.ok(outcome.producedRows > 0)
    assert.ok(isExact(outcome), `look in ${kept}: ${JSON.stringify(outcome)}`)
  }

  it('R18: PostgreSQL 15, old engine: after 6 troubles both sides have the same rows', { timeout }, () =>
    runExactly('R18-postgres', 'old', 6, 11),
  )

  it('R18: PostgreSQL 18, modern engine: after 4 troubles both sides have the same rows', { timeout }, () =>
    runExactly('R18-postgres', 'modern', 4, 12),
  )

  it('a table that comes and goes 6 times, while all change, ends with the rows of its source', { timeout }, () =>
    runExactly('tables', 'modern', 6, 13),
  )

  it('tables that are loaded anew while they change have the rows of their source', { timeout }, () =>
    runExactly('resync under load', 'old', 1, 14),
  )
})
