import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { tableMapping, worldOfTest } from '../../../test/runner-world/replication-world.ts'
import { type EmbeddedPostgres, startEmbedded } from '../../../test/sources/postgres-embedded.ts'

describe('a slot that cannot be created', () => {
  let server: EmbeddedPostgres
  before(async () => {
    server = await startEmbedded()
  })
  after(() => server.stop())

  const items = 'CREATE TABLE items (id int PRIMARY KEY); INSERT INTO items VALUES (1); CREATE TABLE other (id int)'

  it('because of an open transaction is reported with process, age and how to end it, without its statement', async (t) => {
    const world = await worldOfTest(server, t, items, [tableMapping('items')])
    const writing = world
      .query(`BEGIN; INSERT INTO other VALUES (1); SELECT pg_sleep(600), 'secret'; COMMIT`)
      .catch(String)
    const writers = `SELECT pid FROM pg_locks WHERE relation = 'other'::regclass AND pid <> pg_backend_pid()`
    await world.until('somebody writes', async () => (await world.query(writers)).length > 0)
    const [writer] = await world.query(writers)
    world.start()
    const words = new RegExp(
      `waits for the transaction of process ${writer?.pid} of user "\\w+", open for \\d+ s; .*pg_terminate_backend\\(${writer?.pid}\\)$`,
    )
    await world.until('it is reported', () => words.test(world.statuses.at(-1)?.reason ?? ''))
    assert.equal(world.statuses.at(-1)?.state, 'degraded')
    await world.query(`SELECT pg_terminate_backend(${writer?.pid})`)
    await writing
    await world.until('it is loaded', () => world.replicas.tables.get('items')?.rows.length === 1)
    await world.until('all is well', () => world.statuses.at(-1)?.state === 'running')
    assert.ok(!JSON.stringify(world.statuses).includes('secret'))
  })

  it('because none is free is reported', async (t) => {
    const world = await worldOfTest(server, t, items, [tableMapping('items')])
    const [free] = await world.query(
      `SELECT current_setting('max_replication_slots')::int - count(*)::int AS count FROM pg_replication_slots`,
    )
    const names = Array.from({ length: Number(free?.count) - 1 }, (_, index) => `taken_${index}`)
    for (const name of names) await world.query(`SELECT pg_create_physical_replication_slot('${name}')`)
    // The pipe gets the last slot, and its load gets none.
    world.start()
    await world.until('it is reported', () => /no free replication slot/.test(world.statuses.at(-1)?.reason ?? ''))
    const { reason } = world.statuses.at(-1) ?? {}
    assert.match(String(reason), /raise max_replication_slots/)
    assert.doesNotMatch(String(reason), /cannot be reached/)
    for (const name of names) await world.query(`SELECT pg_drop_replication_slot('${name}')`)
    await world.until('it is loaded', () => world.replicas.tables.get('items')?.rows.length === 1)
  })
})
