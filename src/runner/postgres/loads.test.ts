// Loads of tables that are changed, locked or rewritten during the load: no row is lost, and no load waits forever.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  orders,
  type ReplicationWorld,
  tableMapping,
  worldOfTest,
} from '../../../test/runner-world/replication-world.ts'
import { loopbackEgress } from '../../../test/sources/conformance.ts'
import { type EmbeddedPostgres, startEmbedded } from '../../../test/sources/postgres-embedded.ts'
import { EngineError } from '../../engine/engine.ts'
import { NotConnected } from '../../source-shapes/source-failure.ts'
import { makePostgresAccess, type PostgresAccess } from '../../sources/postgres/postgres-access.ts'
import type { DescribedTable } from '../../sources/postgres/postgres-describe.ts'
import { holdSnapshot } from '../../sources/postgres/postgres-snapshot.ts'
import { SourceChanged } from '../../sources/source.ts'

describe('loads', () => {
  let server: EmbeddedPostgres
  before(async () => {
    server = await startEmbedded()
  })
  after(() => server.stop())

  const items = `CREATE TABLE items (id int PRIMARY KEY, v text); INSERT INTO items SELECT i, 'x' FROM generate_series(1, 500) i`

  const idsIn = async (world: ReplicationWorld, table: string): Promise<string[]> =>
    (await world.query(`SELECT id::text FROM ${table} ORDER BY ${table}.id`)).map(({ id }) => String(id))
  const idsShown = (world: ReplicationWorld, table: string): string[] =>
    world.replicas
      .shown(table)
      .map(({ id }) => String(id))
      .toSorted((one, other) => Number(one) - Number(other))
  const isLoaded = (world: ReplicationWorld): boolean => {
    const tables = [...world.tables.tables.values()]
    return tables.length > 0 && tables.every(({ phase }) => phase === 'following')
  }
  /** An open write transaction on the table that is not loaded. */
  const isWritten = (world: ReplicationWorld): Promise<void> =>
    world.until('somebody writes', async () => {
      const locks = await world.query(
        `SELECT FROM pg_locks WHERE relation = 'other'::regclass AND mode = 'RowExclusiveLock'`,
      )
      return locks.length > 0
    })
  /** Aborts a load when the engine has this many of its ranges, and waits until its tables are unlocked. */
  const breakOff = async (world: ReplicationWorld, table: string, inserts: number): Promise<void> => {
    const running = world.start()
    let count = 0
    world.replicas.onInsert = (when) => {
      if (when === 'after' && ++count === inserts) running.worker.abort()
    }
    await running.ended
    world.replicas.onInsert = () => undefined
    await world.until('nobody holds it', async () => {
      const held = await world.query(
        `SELECT FROM pg_locks WHERE relation = '${table}'::regclass AND pid <> pg_backend_pid()`,
      )
      return held.length === 0
    })
    assert.equal(isLoaded(world), false)
  }

  it('loses no row of a table that is rewritten while another one is loaded', async (t) => {
    const world = await worldOfTest(server, t, `${orders}; ${items}`, [tableMapping('orders'), tableMapping('items')])
    let rewriting: Promise<unknown> | undefined
    world.replicas.onInsert = async (when, table) => {
      if (when !== 'before' || table !== 'orders' || rewriting) return
      rewriting = world.query('ALTER TABLE items ADD at timestamptz DEFAULT clock_timestamp()')
      await Promise.race([rewriting, sleep(300)])
    }
    world.start()
    await world.until('all is loaded', () => world.tables.tables.size === 2 && isLoaded(world))
    await rewriting
    assert.deepEqual(idsShown(world, 'items'), await idsIn(world, 'items'))
    assert.deepEqual(idsShown(world, 'orders'), await idsIn(world, 'orders'))
  })

  it('plans an interrupted load again when its rows have moved', async (t) => {
    const world = await worldOfTest(server, t, `${orders}; DELETE FROM orders WHERE id <= 1500`, [
      tableMapping('orders'),
    ])
    await breakOff(world, 'orders', 2)
    const loadId = world.tables.tables.get('orders')?.loadId
    await world.query('VACUUM FULL orders')
    world.start()
    await world.until('all is loaded', () => isLoaded(world))
    assert.deepEqual(idsShown(world, 'orders'), await idsIn(world, 'orders'))
    const table = world.tables.tables.get('orders')
    assert.notEqual(table?.loadId, loadId)
    assert.equal(table?.rowsLoaded, 2000)
    assert.equal(table?.rangesDone, table?.rangeCount)
  })

  it('resumes an interrupted load when its rows have not moved', async (t) => {
    const world = await worldOfTest(server, t, orders, [tableMapping('orders')])
    await breakOff(world, 'orders', 2)
    const loadId = world.tables.tables.get('orders')?.loadId
    await world.query('UPDATE orders SET amount = 0 WHERE id % 3 = 0')
    world.start()
    await world.until('all is loaded', () => isLoaded(world))
    assert.equal(world.tables.tables.get('orders')?.loadId, loadId)
    await world.until('all is the same', async () => {
      const amounts = await world.query('SELECT amount::text FROM orders ORDER BY id')
      const shown = world.replicas.shown('orders').toSorted((one, other) => Number(one.id) - Number(other.id))
      return shown.map(({ amount }) => amount).join() === amounts.map(({ amount }) => amount).join()
    })
  })

  const events = `CREATE TABLE events (id int PRIMARY KEY, v text) PARTITION BY RANGE (id);
    CREATE TABLE events_1 PARTITION OF events FOR VALUES FROM (0) TO (2000);
    CREATE TABLE events_2 PARTITION OF events FOR VALUES FROM (2000) TO (4000);
    INSERT INTO events SELECT i, 'x' FROM generate_series(1, 3500) i`

  it('goes on without a partition that is dropped while a load is interrupted', async (t) => {
    const world = await worldOfTest(server, t, events, [tableMapping('events')], { initialLoadParallelism: 1 })
    await breakOff(world, 'events', 1)
    await world.query('DROP TABLE events_2')
    world.start()
    await world.until('all is loaded', () => isLoaded(world))
    const shown = new Set(idsShown(world, 'events'))
    assert.ok((await idsIn(world, 'events')).every((id) => shown.has(id)))
  })

  it('has each row once of a table without a key that is loaded once, and interrupted', async (t) => {
    const sql = `${orders}; ALTER TABLE orders DROP CONSTRAINT orders_pkey`
    const log = tableMapping('orders', { tableEngine: 'MergeTree' })
    const world = await worldOfTest(server, t, sql, [log], { replicationMode: 'snapshot' })
    await breakOff(world, 'orders', 2)
    // Moves rows from finished ranges to unfinished ones, and into space freed by others.
    await world.query('UPDATE orders SET amount = 0 WHERE id <= 500; DELETE FROM orders WHERE id > 3400')
    await world.query('VACUUM orders')
    await world.query('UPDATE orders SET amount = 1 WHERE id > 3300')
    assert.deepEqual(await world.start().ended, { end: 'completed' })
    const ids = world.replicas.tables.get('orders')!.rows.map(({ id }) => Number(id))
    assert.deepEqual(
      ids.toSorted((one, other) => one - other),
      (await idsIn(world, 'orders')).map(Number),
    )
  })

  it('has the rows of a partition that is attached while a load is interrupted', async (t) => {
    const world = await worldOfTest(server, t, events, [tableMapping('events')])
    await breakOff(world, 'events', 1)
    await world.query(`CREATE TABLE events_3 (id int PRIMARY KEY, v text); INSERT INTO events_3 VALUES (4001, 'y');
      ALTER TABLE events ATTACH PARTITION events_3 FOR VALUES FROM (4000) TO (5000)`)
    world.start()
    await world.until('all is loaded', () => isLoaded(world))
    assert.deepEqual(idsShown(world, 'events'), await idsIn(world, 'events'))
  })

  it('waits for write transactions that are open when it begins', async (t) => {
    const world = await worldOfTest(server, t, `${orders}; CREATE TABLE other (n int)`, [tableMapping('orders')])
    const writing = world.query('BEGIN; INSERT INTO other VALUES (1); SELECT pg_sleep(3.5); COMMIT')
    await isWritten(world)
    world.start()
    await world.until('all is loaded', () => isLoaded(world))
    await writing
    const reasons = world.statuses.flatMap(({ reason }) => reason ?? [])
    const isWait = (reason: string): boolean => reason.startsWith('the creation of a replication slot waits for')
    assert.deepEqual(
      reasons.filter((reason) => !isWait(reason)),
      [],
    )
  })

  it('completes rows whose large values exceed the limit of one query result', async (t) => {
    const body = String.raw`E'\\N \\. tab\t line\n' || repeat(md5(i::text), 3200)`
    const world = await worldOfTest(
      server,
      t,
      `CREATE TABLE papers (id text PRIMARY KEY, body text, more text, seen int);
       ALTER TABLE papers ALTER body SET STORAGE EXTERNAL;
       INSERT INTO papers SELECT E'a\\t\\\\' || i, ${body}, NULL, 0 FROM generate_series(1, 400) i`,
      [tableMapping('papers')],
    )
    world.start()
    await world.until('all is loaded', () => isLoaded(world))
    await world.query('UPDATE papers SET seen = 1')
    await world.until('all has come', () => world.replicas.shown('papers').every(({ seen }) => seen === '1'))
    const texts = await world.query('SELECT id, body FROM papers')
    const bodies = new Map(world.replicas.shown('papers').map((row) => [row.id, row.body]))
    assert.equal(bodies.size, 400)
    assert.ok(texts.every((row) => bodies.get(String(row.id)) === row.body))
    assert.deepEqual(world.statuses.map(({ reason }) => reason).filter(Boolean), [])
  })

  it('reports the first failure when several parts of a load fail', async (t) => {
    const world = await worldOfTest(server, t, orders, [tableMapping('orders')])
    let inserts = 0
    world.replicas.onInsert = async () => {
      const number = ++inserts
      // The other connection may open late.
      if (number === 1) {
        await world.until('the second fails', () => inserts > 1)
        await sleep(300)
      }
      throw new EngineError('user', `insert ${number}: the table is gone; create it`)
    }
    world.pipe = { ...world.pipe, state: 'Provisioning' }
    const end = await world.start().ended
    assert.ok(end.end === 'failed' && end.reason.includes('insert 2'), JSON.stringify(end))
  })

  describe('the snapshot that they share', () => {
    /** `beforeLock` runs between each snapshot and the lock of its tables. */
    const holdOf = async (
      world: ReplicationWorld,
      beforeLock: (attempt: number) => Promise<unknown>,
      stopping = new AbortController().signal,
    ) => {
      const context = {
        caCertificates: server.ca,
        allowPlaintext: false,
        awsEndpoints: {},
        organizationId: 'organization',
      }
      const access = makePostgresAccess(world.source, { credentials: server.superuser }, context)
      const connectOptions = { egress: loopbackEgress, signal: new AbortController().signal }
      const { tables } = await access.describe(
        { ...connectOptions },
        { slot: 'penstock_none', publication: 'penstock_none' },
      )
      let attempts = 0
      const disturbed: PostgresAccess = {
        ...access,
        async open(where, options) {
          if (!options.isReplication) await beforeLock(++attempts)
          return access.open(where, options)
        },
      }
      return { tables, holding: holdSnapshot(disturbed, connectOptions, { isFollowed: true, tables, stopping }) }
    }
    const rewrite = 'ALTER TABLE items ADD at timestamptz DEFAULT clock_timestamp()'

    it('is taken again when a table was rewritten before it was locked', async (t) => {
      const world = await worldOfTest(server, t, `${items}; ${events}`, [tableMapping('items'), tableMapping('events')])
      const { tables, holding } = await holdOf(world, async (attempt) => {
        if (attempt === 1) await world.query(rewrite)
        if (attempt === 2) await world.query('VACUUM FULL events_2')
      })
      const snapshot = await holding
      try {
        const counts: (string | null | undefined)[] = []
        for (const table of tables as [DescribedTable, DescribedTable]) {
          const link = await snapshot.open(table)
          const [row] = await link.query(`SELECT count(*) FROM public.${table.mapping.sourceTable}`)
          counts.push(row?.[0])
          await link.close()
        }
        assert.deepEqual(counts, ['500', '3500'])
        assert.equal(snapshot.files.get(tables[1]!.found.id)?.length, 2)
      } finally {
        await snapshot.release()
      }
    })

    it('is given up when a table is rewritten every time, and leaves nothing behind', async (t) => {
      const world = await worldOfTest(server, t, items, [tableMapping('items')])
      const { holding } = await holdOf(world, () => world.query('VACUUM FULL items'))
      await assert.rejects(holding, (error: unknown) => {
        assert.ok(error instanceof SourceChanged)
        assert.match(error.reason, /rewrote a table each of the 5 times that public\.items was about to be loaded/)
        return true
      })
      await world.until('nothing is left', async () => {
        const slots = await world.query('SELECT FROM pg_replication_slots WHERE database = current_database()')
        return slots.length === 0
      })
    })

    it('is not waited for when the worker stops', async (t) => {
      const world = await worldOfTest(server, t, `${items}; CREATE TABLE other (n int)`, [tableMapping('items')])
      // Longer than the test; it is aborted in the end.
      const writing = world.query('BEGIN; INSERT INTO other VALUES (1); SELECT pg_sleep(60); COMMIT')
      let isWriting = true
      const written = writing.catch(String).finally(() => {
        isWriting = false
      })
      await isWritten(world)
      const stopping = new AbortController()
      const { holding } = await holdOf(world, async () => undefined, stopping.signal)
      setTimeout(() => stopping.abort(), 300)
      await assert.rejects(holding, NotConnected)
      assert.ok(isWriting)
      await world.query(
        `SELECT pg_cancel_backend(pid) FROM pg_locks
         WHERE relation = 'other'::regclass AND mode = 'RowExclusiveLock' AND pid <> pg_backend_pid()`,
      )
      assert.match(String(await written), /canceling statement/)
    })
  })
})
