// Short runs for postgres pipes: R18, tables that are added and removed, and resyncs. `npm run chaos` runs them for longer. A
// failed run names the folder with its history, logs and database.
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { drills } from '../../chaos/drills.ts'
import { isExact } from '../../chaos/in-world.ts'
import { type EngineName, makeServers } from '../../chaos/servers.ts'

/** Far above the duration of a run: a run that hangs reports what it waits for, and keeps its folder. */
const timeout = 900_000

describe('postgres pipes under random faults', () => {
  const servers = makeServers()
  after(() => servers.stop())

  const runExactly = async (drill: string, engine: EngineName, faults: number, seed: number): Promise<void> => {
    const run = drills[drill]?.run(servers, { number: 0, engine, faults, seed })
    const { outcome, kept } = (await run) ?? assert.fail(`there is no ${drill}`)
    assert.ok(outcome.producedRows > 0)
    assert.ok(isExact(outcome), `look in ${kept}: ${JSON.stringify(outcome)}`)
  }

  it('R18: PostgreSQL 15, old engine: after 6 faults both sides have the same rows', { timeout }, () =>
    runExactly('R18-postgres', 'old', 6, 11),
  )

  it('R18: PostgreSQL 18, modern engine: after 4 faults both sides have the same rows', { timeout }, () =>
    runExactly('R18-postgres', 'modern', 4, 12),
  )

  it('a table that is added and removed 6 times during changes ends with the rows of its source', { timeout }, () =>
    runExactly('tables', 'modern', 6, 13),
  )

  it('tables that are resynced during changes have the rows of their source', { timeout }, () =>
    runExactly('resync under load', 'old', 1, 14),
  )
})
