import assert from 'node:assert/strict'
import { chown, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ReplicationWorld, tableMapping, worldOfTest } from '../../../test/runner-world/replication-world.ts'
import { type EmbeddedPostgres, startEmbedded } from '../../../test/sources/postgres-embedded.ts'
import { replicationName } from './names.ts'

describe('a pipe whose source is changed', () => {
  let one: EmbeddedPostgres
  let other: EmbeddedPostgres
  before(async () => {
    ;[one, other] = await Promise.all([startEmbedded(), startEmbedded()])
  })
  after(() => Promise.all([one.stop(), other.stop()]))

  const table = (name: string) =>
    `CREATE TABLE items (id int PRIMARY KEY, v text); INSERT INTO items SELECT i, '${name}' FROM generate_series(1, 5) i`
  const shown = (world: ReplicationWorld): string =>
    world.replicas.tables.has('items')
      ? world.replicas
          .shown('items')
          .map(({ v }) => v)
          .join()
      : ''

  it('to another database of the same server and back has what is there', async (t) => {
    const world = await worldOfTest(one, t, table('first'), [tableMapping('items')])
    const first = world.source
    world.start()
    await world.until('the first is loaded', () => shown(world) === 'first,first,first,first,first')
    await one.query('CREATE DATABASE second')
    t.after(async () => {
      await one.query('DROP DATABASE second WITH (FORCE)')
    })
    await one.query(table('second'), 'second')
    world.source = { ...first, database: 'second' }
    world.start()
    const isSecond = () => shown(world) === 'second,second,second,second,second'
    await world.until('the second is loaded', isSecond)
    world.source = first
    world.start()
    await world.until('the first is loaded again', () => shown(world) === 'first,first,first,first,first')
  })

  it('to another server and back has what is there', async (t) => {
    for (const server of [one, other])
      await server.query(`CREATE ROLE shared SUPERUSER REPLICATION LOGIN PASSWORD 'shared'`)
    for (const name of ['server.crt', 'server.key']) {
      await writeFile(join(other.dataDirectory, name), await readFile(join(one.dataDirectory, name)))
    }
    await other.query('SELECT pg_reload_conf()')
    await sleep(500)
    const world = await worldOfTest(
      { ...one, superuser: { username: 'shared', password: 'shared' } },
      t,
      table('first'),
      [tableMapping('items')],
    )
    const first = world.source
    world.start()
    await world.until('the first is loaded', () => shown(world) === 'first,first,first,first,first')
    await other.query(table('second'))
    t.after(async () => {
      await other.query(`SELECT pg_drop_replication_slot('${replicationName(world.pipe.id)}')`).catch(() => undefined)
    })
    world.source = { ...first, port: other.port, host: other.host, database: 'postgres' }
    world.start()
    await world.until('the second is loaded', () => shown(world) === 'second,second,second,second,second')
    // The LSN of the other server is smaller.
    await one.query(`SELECT pg_switch_wal()`)
    await world.query(`CREATE TABLE filler AS SELECT repeat('x', 1000) FROM generate_series(1, 30000)`)
    const { reloadRequestedAt } = world.tables
    world.source = first
    world.start()
    await world.query(`INSERT INTO items VALUES (6, 'first')`)
    await world.until('the new row is there', () => shown(world).endsWith('first'))
    assert.equal(shown(world), 'first,first,first,first,first,first')
    // Not only because of other OIDs: they may be the same there.
    assert.notEqual(world.tables.reloadRequestedAt, reloadRequestedAt)
  })
  it('that is promoted continues, and is reloaded when it lacks WAL that was read before', async (t) => {
    const world = await worldOfTest(one, t, table('first'), [tableMapping('items')])
    world.start()
    await world.until('the first is loaded', () => shown(world) === 'first,first,first,first,first')
    const promote = async (): Promise<void> => {
      await world.pause()
      const signal = join(one.dataDirectory, 'recovery.signal')
      await writeFile(signal, '')
      const { uid, gid } = await stat(one.dataDirectory)
      await chown(signal, uid, gid)
      await one.restart()
      await world.until('it takes writes', async () => !(await one.query('SELECT pg_is_in_recovery() AS is'))[0]?.is)
    }
    await one.query(`ALTER SYSTEM SET restore_command = 'false'`)
    await promote()
    const { reloadRequestedAt } = world.tables
    world.start()
    await world.query(`INSERT INTO items VALUES (6, 'second')`)
    await world.until('the row is there', () => shown(world).endsWith('second'))
    assert.equal(world.tables.reloadRequestedAt, reloadRequestedAt)
    await promote()
    // Read from a primary that had written more WAL than the promoted standby.
    await world.query(`CREATE TABLE filler AS SELECT repeat('x', 1000) FROM generate_series(1, 3000)`)
    const [end] = await world.query('SELECT pg_current_wal_lsn() AS lsn')
    world.store.positions.set('wal', { partition: 'wal', position: String(end?.lsn) })
    await world.query(`INSERT INTO items VALUES (7, 'third')`)
    world.start()
    await world.until('all is loaded again', () => world.tables.reloadRequestedAt !== reloadRequestedAt)
    await world.until('the last row is there', () => shown(world).endsWith('second,third'))
    await world.query(`INSERT INTO items VALUES (8, 'fourth')`)
    await world.until('changes come', () => shown(world).endsWith('fourth'))
  })
})
