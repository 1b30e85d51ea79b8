import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { tableMapping, worldOfTest } from '../../../test/runner-world/replication-world.ts'
import { type EmbeddedPostgres, startEmbedded } from '../../../test/sources/postgres-embedded.ts'

describe('a pipe that only follows', () => {
  let server: EmbeddedPostgres
  before(async () => {
    server = await startEmbedded()
  })
  after(() => server.stop())

  it('fills a table from another one when its mapping is replaced', async (t) => {
    const world = await worldOfTest(
      server,
      t,
      'CREATE TABLE items (id int PRIMARY KEY, v text); CREATE TABLE things (id int PRIMARY KEY, w text)',
      [tableMapping('items', { targetTable: 'all' })],
      { replicationMode: 'cdc_only' },
    )
    const running = world.start()
    await world.until('it follows', () => world.statuses.at(-1)?.doing === 'Waiting for changes')
    await world.query(`INSERT INTO items VALUES (1, 'a')`)
    await world.until(
      'the first is there',
      () => world.replicas.tables.has('all') && world.replicas.shown('all').length === 1,
    )
    running.worker.stop()
    await running.ended
    world.source = { ...world.source, tableMappings: [tableMapping('things', { targetTable: 'all' })] }
    world.statuses.length = 0
    const next = world.start()
    await world.until('it follows again', () => world.statuses.at(-1)?.doing === 'Waiting for changes')
    await world.query(`INSERT INTO things VALUES (2, 'b')`)
    const end = await Promise.race([
      next.ended,
      world.until('the second is there', () => world.replicas.shown('all').length === 2),
    ])
    assert.equal(end, undefined, JSON.stringify(end))
  })
})
