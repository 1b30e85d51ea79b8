// Replication from a real PostgreSQL: the tables of the engine equal the source, whatever happens.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { follows } from '../../../test/runner-world/replication-checks.ts'
import { orders, tableMapping, worldOfTest } from '../../../test/runner-world/replication-world.ts'
import { type EmbeddedPostgres, startEmbedded } from '../../../test/sources/postgres-embedded.ts'
import { EngineError } from '../../engine/engine.ts'
import { parseLsn } from '../../sources/postgres/postgres-link.ts'
import { replicationName } from './names.ts'

describe('replication', () => {
  let server: EmbeddedPostgres
  before(async () => {
    server = await startEmbedded()
  })
  after(() => server.stop())

  it('loads what is there and follows what changes', async (t) => {
    const world = await worldOfTest(server, t, orders, [tableMapping('orders')])
    world.start()
    await follows(world, 'orders')
    await world.query(`UPDATE orders SET amount = 0 WHERE id < 50; DELETE FROM orders WHERE id BETWEEN 50 AND 60;
      INSERT INTO orders VALUES (9001, E'tab\\there\\nand "there" \\\\', NULL); UPDATE orders SET id = 9002 WHERE id = 70`)
    await follows(world, 'orders')
    const phases = [...new Set(world.statuses.map(({ phase }) => phase))]
    assert.deepEqual(phases.filter(Boolean), ['setup', 'snapshot'])
    assert.equal(world.statuses.at(-1)?.state, 'running')
    // Without more writes, only the end of the WAL shows that everything is delivered.
    const deliveredMs = (): number => world.statuses.at(-1)?.deliveredUntilMs ?? 0
    const nowMs = Date.now()
    await world.until('it is known to be fresh', () => deliveredMs() >= nowMs)
  })

  it('reports the freshness of the engine', async (t) => {
    const world = await worldOfTest(server, t, orders, [tableMapping('orders')])
    world.start()
    await follows(world, 'orders')
    const deliveredMs = (): number => world.statuses.at(-1)?.deliveredUntilMs ?? 0
    await world.until('it is known to be fresh', () => deliveredMs() > 0)
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    const { promise: reached, resolve: reach } = Promise.withResolvers<void>()
    world.replicas.onInsert = async (when) => {
      if (when !== 'before') return
      reach()
      await held
    }
    await world.query('UPDATE orders SET amount = 1 WHERE id = 1')
    const committedMs = Date.now()
    await reached
    await new Promise((resolve) => setTimeout(resolve, 300))
    assert.ok(deliveredMs() <= committedMs)
    release()
    await world.until('it is fresh again', () => deliveredMs() > committedMs)
  })

  it('acknowledges an LSN only when the engine has the changes', async (t) => {
    const world = await worldOfTest(server, t, orders, [tableMapping('orders')])
    const slot = replicationName(world.pipe.id)
    const confirmed = async (): Promise<bigint> => {
      const [row] = await world.query(
        `SELECT confirmed_flush_lsn::text AS lsn FROM pg_replication_slots WHERE slot_name = '${slot}'`,
      )
      return parseLsn(String(row?.lsn))
    }
    world.start()
    await follows(world, 'orders')
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    const { promise: reached, resolve: reach } = Promise.withResolvers<void>()
    world.replicas.onInsert = async (when) => {
      if (when !== 'before') return
      reach()
      await held
    }
    const [before] = await world.query('SELECT pg_current_wal_insert_lsn()::text AS lsn')
    await world.query('UPDATE orders SET amount = 1 WHERE id = 1')
    await reached
    // WAL without published changes makes the source request a reply.
    await world.query('CREATE TABLE elsewhere AS SELECT generate_series(1, 10000)')
    await new Promise((resolve) => setTimeout(resolve, 300))
    assert.ok((await confirmed()) <= parseLsn(String(before?.lsn)))
    release()
    await world.until('the source knows', async () => (await confirmed()) > parseLsn(String(before?.lsn)))
    await follows(world, 'orders')
  })

  it('completes rows whose large values did not change', async (t) => {
    const large = "(SELECT string_agg(md5(n::text), '') FROM generate_series(1, 400) n)"
    const world = await worldOfTest(
      server,
      t,
      `CREATE TABLE papers (id int PRIMARY KEY, body text, seen int);
       ALTER TABLE papers ALTER body SET STORAGE EXTERNAL;
       INSERT INTO papers SELECT i, ${large} || i, 0 FROM generate_series(1, 20) i`,
      [tableMapping('papers')],
    )
    world.start()
    await follows(world, 'papers')
    await world.query('UPDATE papers SET seen = seen + 1')
    await follows(world, 'papers')
    await world.query(
      'UPDATE papers SET id = id + 100, seen = 7 WHERE id <= 5; UPDATE papers SET seen = 8 WHERE id = 101',
    )
    await follows(world, 'papers')
    // A row that is deleted before the lookup.
    await world.query('BEGIN; UPDATE papers SET seen = 9 WHERE id = 10; DELETE FROM papers WHERE id = 10; COMMIT')
    await follows(world, 'papers')
  })

  it('goes on with the ranges that are left when a load is interrupted', async (t) => {
    const world = await worldOfTest(server, t, orders, [tableMapping('orders')])
    let inserts = 0
    world.replicas.onInsert = (when) => {
      if (when === 'after' && ++inserts === 2) void world.start()
    }
    world.start()
    await world.until('somebody else has begun', () => inserts >= 2)
    await world.query('UPDATE orders SET amount = -1 WHERE id % 7 = 0; DELETE FROM orders WHERE id % 11 = 0')
    await follows(world, 'orders')
    const [table] = world.tables.tables.values()
    assert.ok(table && table.rangeCount !== null && table.rangeCount > 2)
    assert.equal(table.rangesDone, table.rangeCount)
  })

  it('sends the same batch again after a crash, whatever was there of it', async (t) => {
    for (const when of ['before', 'after'] as const) {
      const world = await worldOfTest(server, t, orders, [
        tableMapping('orders', { tableEngine: 'MergeTree', targetTable: 'log' }),
      ])
      world.start()
      const rows = (): number => world.replicas.tables.get('log')?.rows.length ?? 0
      await world.until('all is loaded', () => rows() === 3500)
      const tokens: string[] = []
      world.replicas.onInsert = (at, _table, { token }) => {
        if (at !== when) return
        tokens.push(token)
        if (tokens.length === 1) void world.start()
        if (tokens.length === 1) throw new EngineError('passing', 'killed')
      }
      await world.query('UPDATE orders SET amount = amount + 1 WHERE id <= 100')
      await world.until('the batch is there', () => tokens.length >= 2 && rows() >= 3600)
      await world.until('nothing is under way', () => world.store.deliveries.size === 0)
      assert.equal(rows(), 3600)
      assert.equal(new Set(tokens).size, 1)
    }
  })

  it('cuts a transaction that is larger than memory the same way each time', async (t) => {
    const world = await worldOfTest(server, t, 'CREATE TABLE logs (id int PRIMARY KEY, line text)', [
      tableMapping('logs', { tableEngine: 'MergeTree' }),
    ])
    world.start()
    await world.until('it follows', () => world.statuses.at(-1)?.state === 'running')
    const tokens: string[] = []
    let hasDied = false
    world.replicas.onInsert = (at, _table, { token }) => {
      if (at !== 'after') return
      tokens.push(token)
      if (tokens.length !== 2 || hasDied) return
      hasDied = true
      void world.start()
      throw new EngineError('passing', 'killed')
    }
    await world.query("INSERT INTO logs SELECT i, repeat('x', 1000) || i FROM generate_series(1, 40000) i")
    const rows = (): number => world.replicas.tables.get('logs')?.rows.length ?? 0
    await world.until('all is there', () => rows() >= 40_000 && world.store.deliveries.size === 0)
    assert.equal(rows(), 40_000)
    assert.ok(new Set(tokens).size >= 3, 'it was one chunk')
    assert.ok(tokens.length > new Set(tokens).size, 'nothing was sent again')
  })

  it('empties what the source truncates, and nothing that comes after', async (t) => {
    const world = await worldOfTest(server, t, orders, [tableMapping('orders')])
    let inserts = 0
    world.replicas.onInsert = (when) => {
      // A load locks the table: TRUNCATE waits until it is aborted.
      if (when === 'after' && ++inserts === 2) running.worker.abort()
    }
    const running = world.start()
    await running.ended
    await world.query("TRUNCATE orders; INSERT INTO orders VALUES (1, 'after', 1)")
    world.start()
    await follows(world, 'orders')
    await world.query(
      "BEGIN; INSERT INTO orders VALUES (2, 'gone', 2); TRUNCATE orders; INSERT INTO orders VALUES (3, 'c', 3); COMMIT",
    )
    await follows(world, 'orders')
    assert.equal(world.replicas.shown('orders').length, 1)
  })

  it('adds columns, and reports what to do about renamed ones', async (t) => {
    const world = await worldOfTest(server, t, orders, [tableMapping('orders')])
    world.start()
    await follows(world, 'orders')
    await world.query(
      "ALTER TABLE orders ADD more text; UPDATE orders SET more = 'm' WHERE id = 1; DELETE FROM orders WHERE id > 1",
    )
    await follows(world, 'orders')
    await world.query('ALTER TABLE orders RENAME amount TO total; UPDATE orders SET total = 5')
    const reported = (part: string) => () => world.statuses.some(({ reason }) => reason?.includes(part) ?? false)
    await world.until('the rename is reported', reported('RENAME amount TO total IN orders'))
    const amount = world.replicas.tables.get('orders')?.columns.find(({ name }) => name === 'amount')
    assert.ok(amount)
    amount.name = 'total'
    for (const row of world.replicas.tables.get('orders')?.rows ?? []) row.total = row.amount ?? null
    for (const row of world.replicas.tables.get('orders')?.rows ?? []) delete row.amount
    await world.until('it goes on', () => world.replicas.shown('orders')[0]?.total === '5')
  })

  it('loads a table that is added, forgets one that is removed, and the others go on', async (t) => {
    const world = await worldOfTest(
      server,
      t,
      `${orders}; CREATE TABLE items (id int PRIMARY KEY, n int); INSERT INTO items VALUES (1, 1)`,
      [tableMapping('orders')],
    )
    world.start()
    await follows(world, 'orders')
    world.source = { ...world.source, tableMappings: [tableMapping('orders'), tableMapping('items')] }
    world.start()
    await follows(world, 'items')
    await world.query('INSERT INTO items VALUES (2, 2); UPDATE orders SET amount = 4 WHERE id = 4')
    await follows(world, 'items')
    await follows(world, 'orders')
    world.source = { ...world.source, tableMappings: [tableMapping('orders')] }
    world.start()
    await world.until('it is forgotten', () => world.tables.tables.size === 1)
    await world.query(
      'DELETE FROM items WHERE id = 1; INSERT INTO items VALUES (3, 3); UPDATE orders SET amount = 5 WHERE id = 5',
    )
    await follows(world, 'orders')
    assert.equal(world.replicas.shown('items').length, 2)
    // The table of the engine no longer equals the source.
    world.source = { ...world.source, tableMappings: [tableMapping('orders'), tableMapping('items')] }
    world.start()
    await follows(world, 'items')
    assert.deepEqual([...world.replicas.tables.keys()].toSorted(), ['items', 'orders'])
  })

  it('writes each change with the columns that the table had then', async (t) => {
    const world = await worldOfTest(server, t, orders, [tableMapping('orders')], { syncIntervalSeconds: 1 })
    world.start()
    await follows(world, 'orders')
    const inserts: { fields: string[]; line: string }[] = []
    world.replicas.onInsert = (when, _table, { fields, body }) => {
      if (when !== 'before') return
      const line = Buffer.concat([...(body() as Iterable<Uint8Array>)]).toString('utf8')
      inserts.push({ fields: fields.map(({ name }) => name), line })
    }
    await world.query('UPDATE orders SET amount = 1 WHERE id = 1')
    await world.until('the first is sent', () => inserts.length === 1)
    await world.query('UPDATE orders SET amount = 2 WHERE id = 2')
    await world.query("ALTER TABLE orders DROP amount; UPDATE orders SET note = 'n' WHERE id = 3")
    await world.until('all are sent', () => inserts.length >= 3)
    for (const { fields, line } of inserts) assert.equal(line.trimEnd().split('\t').length, fields.length)
    assert.deepEqual(inserts.at(-1)?.fields, ['id', 'note', '_penstock_version', '_penstock_deleted'])
  })

  it('lets no batch overtake one that was given up when the worker was stopped', async (t) => {
    const world = await worldOfTest(server, t, orders, [tableMapping('orders')])
    const running = world.start()
    await follows(world, 'orders')
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    let inserts = 0
    world.replicas.onInsert = async (when) => {
      if (when !== 'before' || ++inserts > 1) return
      await held
      throw new EngineError('data', 'some rows are not taken')
    }
    await world.query('UPDATE orders SET amount = 1 WHERE id = 1')
    await world.until('the first is on its way', () => inserts === 1)
    await world.query('UPDATE orders SET amount = 2 WHERE id = 2')
    await new Promise((resolve) => setTimeout(resolve, 200))
    running.worker.stop()
    release()
    await running.ended
    assert.deepEqual([inserts, world.store.deliveries.size], [1, 1])
    world.start()
    await follows(world, 'orders')
  })

  it('does not mix its rows with other rows', async (t) => {
    const world = await worldOfTest(server, t, orders, [tableMapping('orders')])
    world.replicas.tables.set('orders', {
      columns: [{ name: 'id', type: 'Int32' }],
      engine: 'MergeTree',
      sortingKey: ['id'],
      rows: [{ id: '1' }],
      tokens: new Set(),
    })
    world.pipe = { ...world.pipe, state: 'Provisioning' }
    const end = await world.start().ended
    assert.ok(end.end === 'failed' && end.reason.includes('rows that are not of a postgres pipe'), JSON.stringify(end))
  })

  it('loads once and completes, range by range of the key, when nothing is to be followed', async (t) => {
    const world = await worldOfTest(server, t, orders, [tableMapping('orders')], { replicationMode: 'snapshot' })
    let inserts = 0
    world.replicas.onInsert = async (when) => {
      if (when !== 'after' || ++inserts !== 2) return
      // Rows move to other blocks; none may be lost.
      void world.start()
      await world.query('UPDATE orders SET note = note WHERE id > 1000')
      await world.query('VACUUM orders')
      await world.query('UPDATE orders SET note = note WHERE id > 2000')
    }
    world.start()
    await world.until('somebody else has begun', () => inserts >= 2)
    await world.until('it is loaded', () =>
      [...world.tables.tables.values()].every(({ phase }) => phase === 'following'),
    )
    await follows(world, 'orders')
    assert.deepEqual(
      await world.query('SELECT slot_name FROM pg_replication_slots WHERE database = current_database()'),
      [],
    )
  })
})
