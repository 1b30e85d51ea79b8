// Schema changes and values that are not in the log: the copy equals the source, or the pipe reports why it does not.
import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import type { MemoryRow } from '../../../test/runner-world/memory-replicas.ts'
import { type ReplicationWorld, tableMapping, worldOfTest } from '../../../test/runner-world/replication-world.ts'
import { type EmbeddedPostgres, startEmbedded } from '../../../test/sources/postgres-embedded.ts'

const items = `CREATE TYPE mood AS ENUM ('sad', 'glad');
  CREATE TABLE items (id int PRIMARY KEY, small smallint, n int, price numeric(10,2), name varchar(20), feeling mood,
    other text NOT NULL DEFAULT 'o');
  INSERT INTO items SELECT i, -i, i, i + 0.25, 'name ' || i, 'glad' FROM generate_series(1, 20) i`

describe('a table that is changed at the source', () => {
  let server: EmbeddedPostgres
  before(async () => {
    server = await startEmbedded()
  })
  after(() => server.stop())

  /** The columns that the source has, as the copy has them. */
  const inCopy = async (world: ReplicationWorld, table: string): Promise<[MemoryRow[], MemoryRow[]]> => {
    const [first] = await world.query(
      `SELECT coalesce(json_agg(t ORDER BY t.id, t.n), '[]')::text AS rows FROM (SELECT * FROM ${table}) t`,
    )
    // As text: numbers of JSON are not those of PostgreSQL.
    const exact = String(first?.rows).replaceAll(/:(-?[\d.]+)(?=[,}])/g, ':"$1"')
    const source = JSON.parse(exact) as MemoryRow[]
    const shown = world.replicas.tables.has(table) ? world.replicas.shown(table) : []
    const names = Object.keys(source[0] ?? {})
    return [source, shown.map((row) => Object.fromEntries(names.map((name) => [name, row[name] ?? null])))]
  }
  const follows = (world: ReplicationWorld, table = 'items'): Promise<void> =>
    world.until(`${table} is the same`, async () => {
      const [source, copy] = await inCopy(world, table)
      return JSON.stringify(source) === JSON.stringify(copy)
    })
  const isReported = (world: ReplicationWorld, part: string): Promise<void> =>
    world.until(`${part} is reported`, () => world.statuses.some(({ reason }) => reason?.includes(part) ?? false))

  const loaded = async (t: TestContext, sql = items, mappings = [tableMapping('items')]): Promise<ReplicationWorld> => {
    const world = await worldOfTest(server, t, sql, mappings)
    world.start()
    await follows(world)
    return world
  }

  const wide = `INSERT INTO items (id, small, n, price) VALUES (21, 70000, 5000000000, 1.2345)`
  const widen = 'ALTER TABLE items ALTER small TYPE int, ALTER n TYPE bigint, ALTER price TYPE numeric(12,4)'

  it('gets wider types before its first change since the pipe connected, and no value is cut', async (t) => {
    const world = await loaded(t)
    await world.query(`${widen}; ${wide}`)
    await follows(world)
    assert.deepEqual(world.replicas.shown('items').at(-1), {
      ...world.replicas.shown('items')[0],
      id: '21',
      small: '70000',
      n: '5000000000',
      price: '1.2345',
      name: null,
      feeling: null,
    })
    // No insert was tried with the narrower columns.
    assert.equal(world.store.counters.rowsRefused, 0)
    await world.query('UPDATE items SET n = 6000000000 WHERE id = 3')
    await follows(world)
  })

  it('gets wider types while the pipe is paused, with changes before and after', async (t) => {
    const world = await worldOfTest(server, t, items, [tableMapping('items')])
    const running = world.start()
    await follows(world)
    running.worker.stop()
    await running.ended
    await world.query(`UPDATE items SET n = 7 WHERE id = 7; ${widen}; ${wide}`)
    world.start()
    await follows(world)
  })

  it('has what is not in the log, whatever statement changed it', async (t) => {
    const statements = {
      type_using: "ALTER TABLE type_using ALTER n TYPE text USING 'n' || n",
      same_type_using: 'ALTER TABLE same_type_using ALTER name TYPE varchar(20) USING upper(name)',
      narrower: 'ALTER TABLE narrower ALTER n TYPE smallint USING -n',
      other_column: "BEGIN; ALTER TABLE other_column DROP n; ALTER TABLE other_column ADD n text DEFAULT 'x'; COMMIT",
      same_column: 'ALTER TABLE same_column DROP n; ALTER TABLE same_column ADD n int',
      with_default: 'ALTER TABLE with_default ADD more int NOT NULL DEFAULT 5',
      numbered: 'ALTER TABLE numbered ADD more int GENERATED ALWAYS AS IDENTITY',
      computed: 'ALTER TABLE computed ALTER twice DROP EXPRESSION',
      enum_renamed: "ALTER TYPE mood RENAME VALUE 'glad' TO 'happy'",
      names_swapped: `ALTER TABLE names_swapped RENAME n TO m; ALTER TABLE names_swapped RENAME small TO n;
        ALTER TABLE names_swapped RENAME m TO small`,
      may_be_null:
        'ALTER TABLE may_be_null ALTER other DROP NOT NULL; UPDATE may_be_null SET other = NULL WHERE id = 2',
      other_key: `ALTER TABLE other_key DROP CONSTRAINT other_key_pkey; ALTER TABLE other_key ADD PRIMARY KEY (id, n);
        INSERT INTO other_key (id, n) VALUES (1, 100)`,
    }
    const tables = Object.keys(statements)
    const computed = 'ALTER TABLE computed ADD twice int GENERATED ALWAYS AS (id * 2) STORED'
    const world = await worldOfTest(
      server,
      t,
      `${items}; ${tables.map((table) => `CREATE TABLE ${table} (LIKE items INCLUDING ALL)`).join(';')};
       ${computed}; ${tables.map((table) => `INSERT INTO ${table} SELECT * FROM items`).join(';')}`,
      tables.map((table) => tableMapping(table)),
    )
    world.start()
    const isLoaded = (): boolean =>
      tables.every((table) => world.tables.tables.get(table)?.phase === 'following') &&
      tables.every((table) => world.replicas.shown(table).length === 20)
    await world.until('all are loaded', isLoaded)
    for (const statement of Object.values(statements)) await world.query(statement)
    for (const table of tables) await follows(world, table)
    for (const table of tables) {
      await world.query(`UPDATE ${table} SET price = 9 WHERE id = 1; DELETE FROM ${table} WHERE id = 2`)
    }
    for (const table of tables) await follows(world, table)
  })

  it('has rows of a composite type as they are printed now', async (t) => {
    const sql = `CREATE TYPE pair AS (x int, y int); CREATE TABLE pairs (id int PRIMARY KEY, one pair, many pair[]);
      INSERT INTO pairs VALUES (1, (1, 2), ARRAY[(3, 4)::pair])`
    const world = await worldOfTest(server, t, sql, [tableMapping('pairs')])
    world.start()
    const isSame = async (): Promise<boolean> => {
      const [row] = await world.query('SELECT one::text AS one FROM pairs')
      return world.replicas.tables.has('pairs') && world.replicas.shown('pairs')[0]?.one === row?.one
    }
    await world.until('it is loaded', isSame)
    for (const change of ['ADD ATTRIBUTE z int', 'DROP ATTRIBUTE x']) {
      await world.query(`ALTER TYPE pair ${change}`)
      await world.until('it is loaded again', isSame)
    }
  })

  it('is not loaded again for what changes no value', async (t) => {
    const world = await loaded(t)
    const { loadId } = world.tables.tables.get('items')!
    await world.query(`ALTER TABLE items ALTER name TYPE varchar(40), ADD note text, ALTER n SET NOT NULL;
      ALTER TYPE mood ADD VALUE 'calm'`)
    await world.query('ALTER TABLE items ALTER name TYPE text')
    await world.query(`UPDATE items SET name = repeat('n', 30), note = 'n' WHERE id = 4`)
    await follows(world)
    await world.query('VACUUM FULL items')
    await world.query('UPDATE items SET price = 3 WHERE id = 5')
    await follows(world)
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    world.start()
    await world.query('UPDATE items SET price = 4 WHERE id = 5')
    await follows(world)
    assert.equal(world.tables.tables.get('items')?.loadId, loadId)
  })

  it('has a column that was dropped from the copy: it comes back with its values', async (t) => {
    const world = await loaded(t)
    const copy = world.replicas.tables.get('items')!
    copy.columns.splice(
      copy.columns.findIndex(({ name }) => name === 'n'),
      1,
    )
    for (const row of copy.rows) delete row.n
    await world.query('UPDATE items SET price = 3 WHERE id = 5')
    await follows(world)
  })

  it('is followed under its id while it has another name for a while', async (t) => {
    const world = await worldOfTest(server, t, items, [tableMapping('items')])
    const running = world.start()
    await follows(world)
    running.worker.stop()
    await running.ended
    await world.query(`ALTER TABLE items RENAME TO elsewhere; UPDATE elsewhere SET price = 1;
      ALTER TABLE elsewhere RENAME TO items`)
    world.start()
    await follows(world)
  })

  it('reports the statement to run when a log table gets another type', async (t) => {
    const world = await loaded(t, items, [
      tableMapping('items'),
      tableMapping('items', { targetTable: 'log', tableEngine: 'MergeTree' }),
    ])
    await world.query(`${widen}; ${wide}`)
    await isReported(world, 'MODIFY')
    assert.ok(world.replicas.tables.get('log')?.rows.every(({ n }) => Number(n) <= 20))
  })

  it('reports that another key needs another table when nothing is loaded', async (t) => {
    const world = await worldOfTest(server, t, items, [tableMapping('items')], { replicationMode: 'cdc_only' })
    world.start()
    await world.until('it follows', () => world.statuses.at(-1)?.state === 'running')
    await world.query('UPDATE items SET price = 1')
    await follows(world)
    await world.query(
      'ALTER TABLE items DROP CONSTRAINT items_pkey; ALTER TABLE items ADD PRIMARY KEY (id, other); UPDATE items SET price = 2',
    )
    await isReported(world, 'is sorted by (id), and the key of the source is now (id, other)')
  })

  it('reports a lost replica identity that its sorting key needs, and is reloaded when it is back', async (t) => {
    const mapping = tableMapping('items', { useCustomSortingKey: true, sortingKeys: ['name'] })
    const sql = `${items}; ALTER TABLE items ALTER name SET NOT NULL; ALTER TABLE items REPLICA IDENTITY FULL`
    const world = await loaded(t, sql, [mapping])
    await world.query(`ALTER TABLE items REPLICA IDENTITY DEFAULT; UPDATE items SET name = 'other' WHERE id = 6`)
    await isReported(world, 'the replica identity does not have public.items.name')
    await world.query('ALTER TABLE items REPLICA IDENTITY FULL')
    await follows(world)
  })
})
