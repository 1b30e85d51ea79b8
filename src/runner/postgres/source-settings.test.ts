// Effect of each setting of a postgres source and each field of its table mappings.
import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import {
  orders,
  type ReplicationWorld,
  tableMapping,
  worldOfTest,
} from '../../../test/runner-world/replication-world.ts'
import { type EmbeddedPostgres, startEmbedded } from '../../../test/sources/postgres-embedded.ts'
import type { PostgresSource } from '../../source-shapes/postgres-source.ts'
import type { TableMapping } from '../../source-shapes/table-mappings.ts'
import { replicationName } from './names.ts'

let server: EmbeddedPostgres
before(async () => {
  server = await startEmbedded()
})
after(() => server.stop())

const worldWith = (
  t: TestContext,
  settings: Partial<PostgresSource['settings']>,
  mappings: TableMapping[] = [tableMapping('orders')],
  sql = orders,
): Promise<ReplicationWorld> => worldOfTest(server, t, sql, mappings, settings)

/** Each value in its own test, which frees its replication slot: the server has few. */
async function forEach<Value>(
  t: TestContext,
  values: readonly Value[],
  run: (value: Value, one: TestContext) => Promise<void>,
): Promise<void> {
  for (const value of values) await t.test(String(value), (one) => run(value, one))
}

const rowsOf = (world: ReplicationWorld, table = 'orders'): number => world.replicas.tables.get(table)?.rows.length ?? 0

const isFollowed = async (world: ReplicationWorld): Promise<void> => {
  world.start()
  await world.until('all is loaded', () => rowsOf(world) === 3_500)
  await world.until('it follows', () => world.tables.tables.get('orders')?.phase === 'following')
}

/** Number of concurrent inserts. Each insert waits for the expected others, and then long enough to see one too many. */
async function assertMostInserts(
  world: ReplicationWorld,
  expected: number,
  { rows, all }: { rows: () => number; all: number },
): Promise<void> {
  let [underWay, most] = [0, 0]
  world.replicas.onInsert = async (when) => {
    if (when === 'after') {
      underWay--
      return
    }
    most = Math.max(most, ++underWay)
    const endMs = performance.now() + 10_000
    while (most < expected && performance.now() < endMs) await wait(10)
    await wait(200)
  }
  world.start()
  await world.until('all is loaded', () => rows() === all)
  assert.equal(most, expected)
}

describe('settings of a postgres source', () => {
  it('pullBatchSize: so many changes make a batch before its time', async (t) => {
    const world = await worldWith(t, { pullBatchSize: 5, syncIntervalSeconds: 3_600 })
    await isFollowed(world)
    // After an idle time, the first change does not wait.
    await world.query('UPDATE orders SET amount = 0 WHERE id = 1')
    await world.until('the first change', () => rowsOf(world) === 3_501)
    for (const id of [2, 3, 4, 5]) await world.query(`UPDATE orders SET amount = 0 WHERE id = ${id}`)
    await wait(500)
    assert.equal(rowsOf(world), 3_501)
    await world.query('UPDATE orders SET amount = 0 WHERE id = 6')
    await world.until('the batch', () => rowsOf(world) === 3_506)
  })

  it('syncIntervalSeconds: so long after the one before, what there is makes a batch', async (t) => {
    const world = await worldWith(t, { syncIntervalSeconds: 2 })
    await isFollowed(world)
    // The interval counts from the first batch, which was after this time.
    const sentMs = performance.now()
    await world.query('UPDATE orders SET amount = 0 WHERE id = 1')
    await world.until('the first change', () => rowsOf(world) === 3_501)
    await world.query('UPDATE orders SET amount = 0 WHERE id = 2')
    await world.until('the second change', () => rowsOf(world) === 3_502)
    const tookMs = performance.now() - sentMs
    assert.ok(tookMs > 1_900 && tookMs < 20_000, `it came after ${tookMs} ms`)
  })

  it('initialLoadParallelism: so many connections load one table', async (t) => {
    await forEach(t, [1, 3], async (initialLoadParallelism, one) => {
      const world = await worldWith(one, { initialLoadParallelism })
      await assertMostInserts(world, initialLoadParallelism, { rows: () => rowsOf(world), all: 3_500 })
    })
  })

  it('snapshotNumberOfParallelTables: so many tables are loaded at the same time', async (t) => {
    const names = ['one', 'two', 'three']
    const sql = names
      .map((name) => `CREATE TABLE ${name} (id int PRIMARY KEY); INSERT INTO ${name} SELECT generate_series(1, 10)`)
      .join(';')
    await forEach(t, [1, 2], async (snapshotNumberOfParallelTables, one) => {
      const settings = { snapshotNumberOfParallelTables, initialLoadParallelism: 1 }
      const mappings = names.map((name) => tableMapping(name))
      const world = await worldWith(one, settings, mappings, sql)
      const rows = (): number => names.reduce((sum, name) => sum + rowsOf(world, name), 0)
      await assertMostInserts(world, snapshotNumberOfParallelTables, { rows, all: 30 })
    })
  })

  it('snapshotNumRowsPerPartition: a table is cut into ranges of about so many rows', async (t) => {
    const counts: number[] = []
    await forEach(t, [1_000, 100_000], async (snapshotNumRowsPerPartition, one) => {
      const world = await worldWith(one, { snapshotNumRowsPerPartition })
      await isFollowed(world)
      counts.push(world.tables.tables.get('orders')?.rangeCount ?? 0)
    })
    const [small = 0, large] = counts
    assert.ok(small >= 3, `${small} ranges`)
    assert.equal(large, 1)
  })

  it('allowNullableColumns: columns that may be NULL are Nullable, or are not', async (t) => {
    const sql = 'CREATE TABLE orders (id int PRIMARY KEY, note text); INSERT INTO orders VALUES (1, NULL)'
    await forEach(t, [true, false], async (allowNullableColumns, one) => {
      const world = await worldWith(one, { allowNullableColumns }, [tableMapping('orders')], sql)
      world.start()
      await world.until('it is loaded', () => rowsOf(world) === 1)
      const found = world.replicas.tables.get('orders')?.columns.find(({ name }) => name === 'note')
      assert.equal(found?.type, allowNullableColumns ? 'Nullable(String)' : 'String')
      // The engine takes NULL for the default of a type that has none.
      assert.deepEqual(world.replicas.shown('orders'), [{ id: '1', note: allowNullableColumns ? null : '' }])
    })
  })

  it('enableFailoverSlots: the slot is one that standbys keep', async (t) => {
    await forEach(t, [false, true], async (enableFailoverSlots, one) => {
      const world = await worldWith(one, { enableFailoverSlots })
      await isFollowed(world)
      const slot = replicationName(world.pipe.id)
      const [found] = await world.query(`SELECT failover FROM pg_replication_slots WHERE slot_name = '${slot}'`)
      assert.equal(found?.failover, enableFailoverSlots)
    })
  })

  it('publicationName: it is followed, and none is made', async (t) => {
    const world = await worldWith(t, { publicationName: 'theirs' })
    await world.query('CREATE PUBLICATION theirs FOR TABLE orders')
    await isFollowed(world)
    await world.query('DELETE FROM orders WHERE id > 10')
    await world.until('changes are followed', () => world.replicas.shown('orders').length === 10)
    assert.deepEqual(await world.query('SELECT pubname FROM pg_publication'), [{ pubname: 'theirs' }])
  })

  it('replicationSlotName: its log is followed from where it is, and no slot is made', async (t) => {
    const world = await worldWith(t, {
      replicationMode: 'cdc_only',
      replicationSlotName: 'theirs',
      publicationName: 'p',
    })
    await world.query('CREATE PUBLICATION p FOR TABLE orders')
    await world.query("SELECT pg_create_logical_replication_slot('theirs', 'pgoutput')")
    await world.query("INSERT INTO orders VALUES (9001, 'before anybody followed', 1)")
    const { worker, ended } = world.start()
    await world.until('it is there', () => world.replicas.tables.has('orders') && rowsOf(world) === 1)
    assert.deepEqual(world.replicas.shown('orders'), [{ id: '9001', note: 'before anybody followed', amount: '1' }])
    assert.deepEqual(
      await world.query('SELECT slot_name FROM pg_replication_slots WHERE database = current_database()'),
      [{ slot_name: 'theirs' }],
    )
    worker.abort()
    await ended
    await world.until('the slot is free', async () => {
      const [slot] = await world.query("SELECT active FROM pg_replication_slots WHERE slot_name = 'theirs'")
      return slot?.active === false
    })
    await world.query("SELECT pg_drop_replication_slot('theirs')")
  })

  it('replicationMode: cdc loads and follows, snapshot only loads, cdc_only only follows', async (t) => {
    const expected = { cdc: 3_501, snapshot: 3_500, cdc_only: 1 }
    await forEach(t, ['cdc', 'snapshot', 'cdc_only'] as const, async (replicationMode, one) => {
      const world = await worldWith(one, { replicationMode })
      const slot = replicationName(world.pipe.id)
      const { ended } = world.start()
      if (replicationMode === 'snapshot') assert.deepEqual(await ended, { end: 'completed' })
      else {
        await world.until('it follows', () => world.tables.tables.get('orders')?.phase === 'following')
        await world.query("INSERT INTO orders VALUES (9001, 'later', 1)")
        await world.until('the change', () => world.replicas.shown('orders').some(({ id }) => id === '9001'))
      }
      const slots = await world.query(`SELECT 1 FROM pg_replication_slots WHERE slot_name = '${slot}'`)
      assert.equal(slots.length, replicationMode === 'snapshot' ? 0 : 1)
      assert.equal(rowsOf(world), expected[replicationMode])
    })
  })
})

describe('table mappings of a postgres source', () => {
  const loaded = async (t: TestContext, sql: string, mapping: TableMapping): Promise<ReplicationWorld> => {
    const world = await worldWith(t, {}, [mapping], sql)
    world.start()
    await world.until('it is loaded', () => rowsOf(world, mapping.targetTable) > 0)
    return world
  }
  const twice = `CREATE SCHEMA shop; CREATE TABLE orders (id int PRIMARY KEY); CREATE TABLE shop.orders (id int PRIMARY KEY);
    CREATE TABLE shop.items (id int PRIMARY KEY); INSERT INTO orders VALUES (1); INSERT INTO shop.orders VALUES (2);
    INSERT INTO shop.items VALUES (3)`

  it('sourceSchemaName and sourceTable say which table is loaded, targetTable where it goes', async (t) => {
    const mapping = tableMapping('orders', { sourceSchemaName: 'shop', targetTable: 'shop_orders' })
    const world = await loaded(t, twice, mapping)
    assert.deepEqual(world.replicas.shown('shop_orders'), [{ id: '2' }])
    assert.deepEqual([...world.replicas.tables.keys()], ['shop_orders'])
  })

  it('tableEngine is the engine of the table', async (t) => {
    await forEach(t, ['ReplacingMergeTree', 'MergeTree', 'Null'] as const, async (tableEngine, one) => {
      const world = await loaded(one, twice, tableMapping('orders', { tableEngine }))
      assert.equal(world.replicas.tables.get('orders')?.engine, tableEngine)
    })
  })

  it('sortingKeys sort the table before its primary key where useCustomSortingKey says so', async (t) => {
    const sql = `CREATE TABLE orders (id int PRIMARY KEY, day int); ALTER TABLE orders REPLICA IDENTITY FULL;
      INSERT INTO orders VALUES (1, 1)`
    await forEach(t, [false, true], async (useCustomSortingKey, one) => {
      const world = await loaded(one, sql, tableMapping('orders', { useCustomSortingKey, sortingKeys: ['day'] }))
      const expected = useCustomSortingKey ? ['day', 'id'] : ['id']
      assert.deepEqual(world.replicas.tables.get('orders')?.sortingKey, expected)
    })
  })

  it('excludedColumns are neither loaded nor followed', async (t) => {
    const sql = `CREATE TABLE orders (id int PRIMARY KEY, note text, secret text); INSERT INTO orders VALUES (1, 'n', 's')`
    const world = await loaded(t, sql, tableMapping('orders', { excludedColumns: ['secret'] }))
    await world.query("INSERT INTO orders VALUES (2, 'm', 't')")
    await world.until('the change', () => rowsOf(world) === 2)
    assert.deepEqual(world.replicas.shown('orders'), [
      { id: '1', note: 'n' },
      { id: '2', note: 'm' },
    ])
  })
})
