import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ReplicationWorld, tableMapping, worldOfTest } from '../../../test/runner-world/replication-world.ts'
import { type EmbeddedPostgres, startEmbedded } from '../../../test/sources/postgres-embedded.ts'

describe('a source table that is recreated under its name', () => {
  let server: EmbeddedPostgres
  before(async () => {
    server = await startEmbedded()
  })
  after(() => server.stop())

  const table = (name: string, word: string, first: number) =>
    `CREATE TABLE ${name} (id int PRIMARY KEY, v text); INSERT INTO ${name} SELECT i, '${word}' FROM generate_series(${first}, ${first + 4}) i`
  const shown = (world: ReplicationWorld): string =>
    world.replicas.tables.has('items')
      ? world.replicas
          .shown('items')
          .map(({ id, v }) => `${id}${v}`)
          .join()
      : ''
  const whole = '101b,102b,103b,104b,105b,106b'

  it('is not watched at the expense of CDC', async (t) => {
    const login = { username: 'looker', password: 'first' }
    await server.query(`CREATE ROLE looker SUPERUSER REPLICATION LOGIN PASSWORD 'first'`)
    const world = await worldOfTest({ ...server, superuser: login }, t, table('items', 'a', 1), [tableMapping('items')])
    world.start()
    await world.until('it is loaded', () => shown(world) === '1a,2a,3a,4a,5a')
    await server.query(`ALTER ROLE looker PASSWORD 'second'`)
    const { length } = world.statuses
    // Several catalog queries, all of which fail to connect.
    await sleep(2_000)
    await server.query(`INSERT INTO items VALUES (6, 'a')`, world.source.database)
    await world.until('the change is there', () => shown(world).endsWith('6a'))
    const isAboutLooks = /are not noticed$/
    assert.ok(
      world.statuses.slice(length).every(({ state, reason = '' }) => state === 'running' || isAboutLooks.test(reason)),
    )
    await server.query(`ALTER ROLE looker PASSWORD 'first'`)
  })

  for (const [what, recreate] of [
    ['dropped and created', `DROP TABLE items; ${table('items', 'b', 101)}`],
    [
      'renamed and replaced',
      `${table('items_new', 'b', 101)}; ALTER TABLE items RENAME TO items_old; ALTER TABLE items_new RENAME TO items`,
    ],
  ] as const) {
    it(`${what} while the pipe is paused, is reloaded`, async (t) => {
      const world = await worldOfTest(server, t, table('items', 'a', 1), [tableMapping('items')])
      const running = world.start()
      await world.until('it is loaded', () => shown(world) === '1a,2a,3a,4a,5a')
      running.worker.stop()
      await running.ended
      await world.query(recreate)
      world.start()
      await world.until('it is reloaded', () => shown(world).endsWith('105b'))
      await world.query(`INSERT INTO items VALUES (106, 'b')`)
      await world.until('the last is there', () => shown(world).endsWith('106b'))
      assert.equal(shown(world), whole)
    })
    it(`${what} while the pipe runs, is reloaded`, async (t) => {
      const world = await worldOfTest(server, t, table('items', 'a', 1), [tableMapping('items')])
      world.start()
      await world.until('it is loaded', () => shown(world) === '1a,2a,3a,4a,5a')
      await world.query(recreate)
      await world.query(`INSERT INTO items VALUES (106, 'b')`)
      await world.until('all of the other is there', () => shown(world) === whole)
    })
  }

  it('is not needed for a mapping that is changed back before its load is done: changes since then are loaded', async (t) => {
    const world = await worldOfTest(server, t, table('items', 'a', 1), [tableMapping('items')])
    world.start()
    await world.until('it is loaded', () => shown(world) === '1a,2a,3a,4a,5a')
    await world.pause()
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    let inserts = 0
    world.replicas.onInsert = async (when) => {
      if (when === 'before' && ++inserts === 1) await held
    }
    world.source.tableMappings = [tableMapping('items', { excludedColumns: ['v'] })]
    world.start()
    await world.until('it is loaded beside', () => inserts === 1)
    const [end] = await world.query(`INSERT INTO items VALUES (6, 'a') RETURNING pg_current_wal_insert_lsn() AS lsn`)
    const confirmed = `SELECT FROM pg_replication_slots
      WHERE NOT temporary AND database = current_database() AND confirmed_flush_lsn > '${end?.lsn}'`
    await world.until('it is followed', async () => (await world.query(confirmed)).length > 0)
    world.source.tableMappings = [tableMapping('items')]
    world.start()
    release()
    await world.until('the row is there', () => shown(world) === '1a,2a,3a,4a,5a,6a')
  })
})
