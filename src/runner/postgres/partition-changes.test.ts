// Mapped partitions, unlogged partitions and log tables: no change is lost without a report.
import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ReplicationWorld, tableMapping, worldOfTest } from '../../../test/runner-world/replication-world.ts'
import { type EmbeddedPostgres, startEmbedded } from '../../../test/sources/postgres-embedded.ts'
import type { PostgresSource } from '../../source-shapes/postgres-source.ts'
import type { TableMapping } from '../../source-shapes/table-mappings.ts'
import { replicationName } from './names.ts'

let server: EmbeddedPostgres
before(async () => {
  server = await startEmbedded()
})
after(() => server.stop())

const parts = `CREATE TABLE p (id int PRIMARY KEY) PARTITION BY RANGE (id);
  CREATE TABLE p0 PARTITION OF p FOR VALUES FROM (0) TO (100);
  CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (100) TO (200);
  INSERT INTO p SELECT generate_series(1, 5); INSERT INTO p SELECT generate_series(101, 105)`
const idsOf = (world: ReplicationWorld, table: string): string =>
  (world.replicas.tables.has(table) ? world.replicas.shown(table) : [])
    .map(({ id }) => Number(id))
    .toSorted((one, other) => one - other)
    .join()
const inSource = async (world: ReplicationWorld, table: string): Promise<string> =>
  (await world.query(`SELECT id FROM ${table} ORDER BY id`)).map(({ id }) => id).join()
const untilEqual = (world: ReplicationWorld): Promise<void> =>
  world.until('copies and sources are equal', async () => {
    for (const { sourceTable, targetTable } of world.source.tableMappings) {
      if ((await inSource(world, sourceTable)) !== idsOf(world, targetTable)) return false
    }
    return true
  })
const untilReported = (world: ReplicationWorld, reason: RegExp): Promise<void> =>
  world.until(`${reason} is reported`, () => reason.test(world.statuses.at(-1)?.reason ?? ''))

type Settings = Partial<PostgresSource['settings']>
const open = async (
  t: TestContext,
  mappings: TableMapping[],
  { sql = parts, ...settings }: Settings & { sql?: string } = {},
): Promise<ReplicationWorld> => {
  const world = await worldOfTest(server, t, sql, mappings, settings)
  // A pipe that has run needs time.
  world.pipe.state = 'Running'
  world.start()
  await untilEqual(world)
  return world
}

describe('a mapped partition', () => {
  const changes = (first: number): string =>
    `INSERT INTO p0 VALUES (${first}); DELETE FROM p0 WHERE id = ${first - 10}; INSERT INTO p VALUES (${first + 100})`

  it('is rejected when its partitioned table is mapped too', async (t) => {
    const world = await worldOfTest(server, t, parts, [tableMapping('p'), tableMapping('p0')])
    const end = await Promise.race([world.start().ended, sleep(10_000)])
    assert.deepEqual(end, {
      end: 'failed',
      reason:
        'changes of a partition come in the name of its partitioned table, which is mapped beside public.p0; map the partitioned table, or its partitions, and not both',
    })
  })

  for (const [what, change, undo] of [
    ['is', 'ADD TABLE p', undefined],
    ['is with its whole schema', 'ADD TABLES IN SCHEMA public', undefined],
    ['was briefly', 'ADD TABLE p', 'DROP TABLE p'],
  ] as const) {
    it(`is loaded again when its partitioned table ${what} in the publication of the pipe`, async (t) => {
      const world = await open(t, [tableMapping('p0')])
      const alter = `ALTER PUBLICATION ${replicationName(world.pipe.id)}`
      for (const isPaused of [false, true]) {
        if (isPaused) await world.pause()
        await world.query(`${alter} ${change}`)
        await world.query(changes(isPaused ? 22 : 12))
        if (undo) await world.query(`${alter} ${undo}`)
        if (isPaused) world.start()
        await untilEqual(world)
        await world.query(changes(isPaused ? 32 : 42))
        await untilEqual(world)
      }
      await world.until('the publication is as it was', async () => {
        const members = await world.query('SELECT tablename FROM pg_publication_tables')
        return members.map(({ tablename }) => tablename).join() === 'p0'
      })
    })
  }

  it('has the publication of the pipe repaired before a change arrives', async (t) => {
    const world = await open(t, [tableMapping('p0')])
    await world.query(`ALTER PUBLICATION ${replicationName(world.pipe.id)} ADD TABLE p`)
    const members = 'SELECT tablename FROM pg_publication_tables'
    await world.until('it is', async () => (await world.query(members))[0]?.tablename === 'p0')
    await world.query(changes(12))
    await untilEqual(world)
  })

  it('is reported when its partitioned table is in a publication of the user', async (t) => {
    const sql = `${parts}; CREATE PUBLICATION theirs FOR TABLE p0 WITH (publish_via_partition_root = true)`
    const world = await open(t, [tableMapping('p0')], { sql, publicationName: 'theirs' })
    await world.query('ALTER PUBLICATION theirs ADD TABLE p')
    await world.query(changes(12))
    await untilReported(
      world,
      /does not publish public\.p0; .* where the partitioned table is published too, map that one, or/,
    )
    await world.query('ALTER PUBLICATION theirs DROP TABLE p')
    await untilEqual(world)
  })
})

describe('what is unlogged for a time', () => {
  it('is reported of a partition, and loaded again', async (t) => {
    const world = await open(t, [tableMapping('p')])
    await world.query(
      'CREATE UNLOGGED TABLE p9 PARTITION OF p FOR VALUES FROM (900) TO (1000); INSERT INTO p VALUES (901)',
    )
    await untilReported(world, /not in the write-ahead log: public\.p; .*SET LOGGED for each of its partitions/)
    await world.query('INSERT INTO p VALUES (902)')
    await world.query('ALTER TABLE p9 SET LOGGED')
    await untilEqual(world)
  })

  it('is reported of a table that a publication of the user has with all others, and loaded again', async (t) => {
    const sql = `CREATE TABLE a (id int PRIMARY KEY); INSERT INTO a VALUES (1); CREATE PUBLICATION theirs FOR ALL TABLES`
    const world = await open(t, [tableMapping('a')], { sql, publicationName: 'theirs' })
    await world.query('ALTER TABLE a SET UNLOGGED')
    await world.query('INSERT INTO a VALUES (2)')
    await untilReported(world, /not in the write-ahead log: public\.a; run ALTER TABLE "public"\."a" SET LOGGED/)
    await world.query('ALTER TABLE a SET LOGGED')
    await untilEqual(world)
  })
})

describe('a log table that lacks changes', () => {
  const log = tableMapping('p', { tableEngine: 'MergeTree' })
  const reasonsOf = (world: ReplicationWorld): string => world.store.losses.map(({ reason }) => reason).join('\n')
  /** No row is lost or duplicated, and later changes arrive. */
  const isKept = async (world: ReplicationWorld, loadId: string, history: string): Promise<void> => {
    await world.query('INSERT INTO p VALUES (50)')
    await world.until('later changes come', () => idsOf(world, 'p').split(',').includes('50'))
    const rows = world.replicas.tables.get('p')!.rows.map(({ id, _penstock_deleted }) => `${id} ${_penstock_deleted}`)
    assert.equal(rows.join(), `${history},50 0`)
    assert.equal(world.tables.tables.get('p')?.loadId, loadId)
  }
  const loaded = '1 0,2 0,3 0,4 0,5 0,101 0,102 0,103 0,104 0,105 0'
  const openLog = async (t: TestContext): Promise<{ world: ReplicationWorld; loadId: string }> => {
    const world = await open(t, [log], { initialLoadParallelism: 1 })
    return { world, loadId: world.tables.tables.get('p')!.loadId }
  }

  it('stays as it is when the publication leaves it out, and the loss is reported', async (t) => {
    const { world, loadId } = await openLog(t)
    await world.query('DELETE FROM p WHERE id = 1')
    await world.until('the delete is there', () => world.replicas.tables.get('p')?.rows.length === 11)
    await world.query(`ALTER PUBLICATION ${replicationName(world.pipe.id)} DROP TABLE p; INSERT INTO p VALUES (6)`)
    await world.until('the loss is reported', () => world.store.losses.length > 0)
    assert.match(reasonsOf(world), /^the publication .* was changed, and has left out changes of public\.p$/)
    await isKept(world, loadId, `${loaded},1 1`)
    world.start()
    await world.query('DELETE FROM p WHERE id = 50')
    await world.until('the delete is there', () => world.replicas.tables.get('p')?.rows.length === 13)
    assert.equal(world.store.losses.length, 1)
  })

  it('stays as it is when a partition was filled while it was detached, and the loss is reported', async (t) => {
    const { world, loadId } = await openLog(t)
    await world.query(`ALTER TABLE p DETACH PARTITION p1; INSERT INTO p1 VALUES (106);
      ALTER TABLE p ATTACH PARTITION p1 FOR VALUES FROM (100) TO (200)`)
    await world.until('the loss is reported', () => world.store.losses.length > 0)
    assert.match(reasonsOf(world), /a partition of public\.p was attached, detached, dropped or rewritten/)
    await isKept(world, loadId, loaded)
  })

  it('stays as it is when the publication or the slot is dropped, and the loss is reported', async (t) => {
    const { world, loadId } = await openLog(t)
    const own = replicationName(world.pipe.id)
    await world.query(`DROP PUBLICATION ${own}; INSERT INTO p VALUES (6)`)
    await world.until('the loss is reported', () => world.store.losses.length > 0)
    assert.match(reasonsOf(world), /the publication .* was dropped, and with it changes of public\.p/)
    await world.until('changes are awaited', () => world.statuses.at(-1)?.doing === 'Waiting for changes')
    await world.pause()
    await world.until('the slot is dropped', () =>
      world.query(`SELECT pg_drop_replication_slot('${own}'); INSERT INTO p VALUES (7)`).then(
        () => true,
        () => false,
      ),
    )
    world.start()
    await world.until('the loss is reported', () => world.store.losses.length > 1)
    assert.match(reasonsOf(world), /the replication slot .* was lost, and with it changes of public\.p/)
    await world.until('changes are awaited', () => world.statuses.at(-1)?.doing === 'Waiting for changes')
    await isKept(world, loadId, loaded)
  })

  it('stays as it is when another table gets the name, and the loss is reported', async (t) => {
    const { world, loadId } = await openLog(t)
    await world.query('DROP TABLE p; CREATE TABLE p (id int PRIMARY KEY); INSERT INTO p VALUES (1)')
    await world.until('the loss is reported', () => world.store.losses.length > 0)
    assert.match(reasonsOf(world), /another table was called public\.p/)
    await world.until('it is well again', () => world.statuses.at(-1)?.state === 'running')
    await isKept(world, loadId, loaded)
  })
})
