// Tables changed at the source, in real engines: engines truncate values outside the range of their types without an error, so such
// values must never be sent.
import assert from 'node:assert/strict'
import { after, before, it, type TestContext } from 'node:test'
import { openReplicaTables } from '../../src/engine/replica-tables.ts'
import { type ReplicationWorld, tableMapping, worldOfTest } from '../runner-world/replication-world.ts'
import { type EmbeddedPostgres, startEmbedded } from '../sources/postgres-embedded.ts'
import { describeOnEngines, egress, pipeId } from './sink-world.ts'

let server: EmbeddedPostgres
before(async () => {
  server = await startEmbedded()
})
after(() => server?.stop())

const items = `CREATE TABLE items (id int PRIMARY KEY, small smallint, n int, price numeric(10,2), name varchar(20));
  INSERT INTO items SELECT i, -i, i, i + 0.25, 'name ' || i FROM generate_series(1, 20) i`
const widen = 'ALTER TABLE items ALTER small TYPE int, ALTER n TYPE bigint, ALTER price TYPE numeric(12,4)'
const wide = `INSERT INTO items (id, small, n, price, name) VALUES (21, 70000, 5000000000, 1.2345, 'wide')`

describeOnEngines('tables that are changed in PostgreSQL', (engines) => {
  let epoch = 0
  const open = async (t: TestContext, more: Parameters<typeof tableMapping>[1] = {}): Promise<ReplicationWorld> => {
    await engines.engine.query('DROP TABLE IF EXISTS pipes.items')
    const world = await worldOfTest(server, t, items, [tableMapping('items', more)])
    world.pipe = { ...world.pipe, destination: { ...world.pipe.destination, database: 'pipes' } }
    world.openTables = (signal) => {
      const access = engines.accessBy(engines.engine.port)
      return openReplicaTables(egress, access, { pipeId, workerIndex: 0, epoch: ++epoch }, { signal })
    }
    world.start()
    return world
  }
  const inEngine = (columns: string): Promise<string> =>
    engines.engine.query(`SELECT ${columns} FROM pipes.items FINAL WHERE _penstock_deleted = 0 ORDER BY id`)
  const inSource = async (world: ReplicationWorld, columns: string): Promise<string> => {
    const rows = await world.query(`SELECT ${columns} FROM items ORDER BY id`)
    return rows.map((row) => `${Object.values(row).join('\t')}\n`).join('')
  }
  const follows = (world: ReplicationWorld, columns: string): Promise<void> =>
    world.until('both are the same', async () => {
      const stored = await inEngine(columns).catch(() => undefined)
      // With as many decimals as an engine prints.
      const plain = (text: string): string =>
        text.replaceAll(/(\.\d*?)0+(?=[\t\n])/g, '$1').replaceAll(/\.(?=[\t\n])/g, '')
      return stored !== undefined && plain(stored) === plain(await inSource(world, columns))
    })

  it('are truncated by the engine (control)', async () => {
    await engines.engine.query('CREATE TABLE pipes.cut (n Int32, price Decimal(10, 2)) ENGINE = Memory')
    // An old engine refuses the decimal, and accepts the integer.
    const price = engines.isOld ? '1.23' : '1.2345'
    await engines.engine.query(`INSERT INTO pipes.cut FORMAT TabSeparated\n5000000000\t${price}\n`)
    const stored = await engines.engine.query('SELECT n, price FROM pipes.cut FORMAT TabSeparated')
    assert.equal(stored, '705032704\t1.23\n')
  })

  it('get wider types, and later other values, columns and keys', async (t) => {
    const world = await open(t)
    const all = 'id, small, n, price, name'
    await follows(world, all)
    await world.query(`${widen}; ${wide}`)
    await follows(world, all)
    await world.query('ALTER TABLE items ALTER name TYPE varchar(20) USING upper(name)')
    await follows(world, all)
    await world.query('ALTER TABLE items ADD more int NOT NULL DEFAULT 5')
    await follows(world, `${all}, more`)
    await engines.engine.query('ALTER TABLE pipes.items DROP COLUMN more')
    await world.query('UPDATE items SET small = 7 WHERE id = 7')
    await follows(world, `${all}, more`)
    await world.query(`ALTER TABLE items DROP CONSTRAINT items_pkey; ALTER TABLE items ADD PRIMARY KEY (id, n);
      ALTER TABLE items DROP more; ALTER TABLE items ADD more text; UPDATE items SET more = 'm', price = 3`)
    await follows(world, `${all}, more`)
    assert.equal(world.store.counters.rowsRefused, 0)
  })

  it('are not converted in an append-only table: the pipe reports the statement to run, and continues after it', async (t) => {
    const world = await open(t, { tableEngine: 'MergeTree' })
    const rows = (): Promise<string> => engines.engine.query('SELECT count(), max(n) FROM pipes.items')
    await world.until('all is loaded', async () => (await rows().catch(() => '')).startsWith('20'))
    await world.query(`${widen}; ${wide}`)
    // The number of messages before the last statement does not matter.
    for (const column of ['small', 'n', 'price']) {
      const statement = (): string | undefined =>
        world.statuses
          .map(({ reason }) => /run (ALTER TABLE .* MODIFY COLUMN .*)$/.exec(reason ?? '')?.[1])
          .findLast((text) => text?.includes(`\`${column}\``))
      await world.until(`a statement for ${column}`, () => statement() !== undefined)
      await engines.engine.query(statement()!)
    }
    await world.until('the last is there', async () => (await rows()) === '21\t5000000000\n')
  })
})
