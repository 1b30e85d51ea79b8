// Changes at the source that are not in the log: the copy is repaired, or the pipe reports why it differs.
import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { type ReplicationWorld, tableMapping, worldOfTest } from '../../../test/runner-world/replication-world.ts'
import { type EmbeddedPostgres, startEmbedded } from '../../../test/sources/postgres-embedded.ts'
import { replicationName } from './names.ts'

let server: EmbeddedPostgres
before(async () => {
  server = await startEmbedded()
})
after(() => server.stop())

const idsOf = (world: ReplicationWorld, table: string): string =>
  world.replicas.tables.has(table)
    ? world.replicas
        .shown(table)
        .map(({ id }) => Number(id))
        .toSorted((one, other) => one - other)
        .join()
    : ''
/** Copy and source have the same rows of each mapping. */
const isEqual = async (world: ReplicationWorld): Promise<boolean> => {
  for (const { sourceTable, targetTable } of world.source.tableMappings) {
    const rows = await world.query(`SELECT id FROM ${sourceTable} ORDER BY id`)
    if (rows.map(({ id }) => id).join() !== idsOf(world, targetTable)) return false
  }
  return true
}
const untilEqual = (world: ReplicationWorld): Promise<void> =>
  world.until('copy and source are equal', () => isEqual(world))
const loadsOf = (world: ReplicationWorld): string[] =>
  [...world.tables.tables.values()].map(({ targetTable, loadId }) => `${targetTable} ${loadId}`)
const reasonsOf = (world: ReplicationWorld): string =>
  world.statuses
    .map(({ reason }) => reason)
    .filter(Boolean)
    .join('\n')

describe('a publication of the pipe', () => {
  const tables = ['a', 'b']
    .map((name) => `CREATE TABLE ${name} (id int PRIMARY KEY); INSERT INTO ${name} SELECT generate_series(1, 9)`)
    .join('; ')
  const open = async (t: TestContext): Promise<{ world: ReplicationWorld; publication: string }> => {
    const world = await worldOfTest(server, t, tables, [tableMapping('a'), tableMapping('b')])
    world.start()
    await untilEqual(world)
    return { world, publication: replicationName(world.pipe.id) }
  }

  it('that loses a table gets it back, and that table alone is loaded again', async (t) => {
    const { world, publication } = await open(t)
    const before = loadsOf(world)
    await world.query(
      `ALTER PUBLICATION ${publication} DROP TABLE b; INSERT INTO b VALUES (10); INSERT INTO a VALUES (10)`,
    )
    await untilEqual(world)
    assert.match(reasonsOf(world), /publication .* has left out changes of public\.b/)
    const now = loadsOf(world)
    assert.deepEqual(
      now.map((load, index) => load === before[index]),
      [true, false],
    )
  })

  it('that loses a table and gets it back between two catalog queries has that table loaded again', async (t) => {
    const { world, publication } = await open(t)
    await world.query(`ALTER PUBLICATION ${publication} DROP TABLE b; INSERT INTO b VALUES (10)`)
    await world.query(`ALTER PUBLICATION ${publication} ADD TABLE b`)
    await untilEqual(world)
  })

  it('that loses a table while the pipe is paused has that table loaded again', async (t) => {
    const { world, publication } = await open(t)
    await world.pause()
    await world.query(`ALTER PUBLICATION ${publication} DROP TABLE b; INSERT INTO b VALUES (10)`)
    world.start()
    await untilEqual(world)
  })

  it('that left out a delete does not leave its row, however long the load waits for its begin', async (t) => {
    const { world, publication } = await open(t)
    await world.query('CREATE TABLE other (id int)')
    await world.pause()
    await world.query('INSERT INTO b VALUES (10)')
    await world.query(`ALTER PUBLICATION ${publication} DROP TABLE b; DELETE FROM b WHERE id = 10`)
    const writing = world.query('BEGIN; INSERT INTO other VALUES (1); SELECT pg_sleep(2); COMMIT')
    const writers = `SELECT FROM pg_locks WHERE relation = 'other'::regclass AND pid <> pg_backend_pid()`
    await world.until('somebody writes', async () => (await world.query(writers)).length > 0)
    world.start()
    await writing
    await world.query('INSERT INTO b VALUES (11)')
    await world.until('later changes come', () => idsOf(world, 'b').endsWith('11'))
    await untilEqual(world)
  })

  it('that gets fewer operations, a row filter or a column list is repaired', async (t) => {
    const { world, publication } = await open(t)
    await world.query('ALTER TABLE b REPLICA IDENTITY FULL')
    let last = 10
    for (const change of [`SET (publish = 'insert')`, 'SET TABLE a, b WHERE (id < 5)', 'SET TABLE a (id), b']) {
      await world.query(`ALTER PUBLICATION ${publication} ${change}`)
      await world.query(`INSERT INTO b VALUES (${++last}); DELETE FROM b WHERE id = ${last - 1} OR id = ${last % 10}`)
      await untilEqual(world)
      await world.until('the pipe is well', () => world.statuses.at(-1)?.state === 'running')
    }
    const whole = 'SELECT FROM pg_publication_rel WHERE prqual IS NULL AND prattrs IS NULL'
    await world.until('all is published', async () => (await world.query(whole)).length === 2)
  })

  it('that is dropped is created again with a new slot, and everything is loaded again', async (t) => {
    const { world, publication } = await open(t)
    await world.query(`DROP PUBLICATION ${publication}; INSERT INTO b VALUES (10)`)
    await untilEqual(world)
    await world.query('INSERT INTO a VALUES (11)')
    await untilEqual(world)
  })

  it('that is dropped while the pipe is paused is created again', async (t) => {
    const { world, publication } = await open(t)
    await world.pause()
    await world.query(`INSERT INTO b VALUES (10); DROP PUBLICATION ${publication}; INSERT INTO b VALUES (11)`)
    await world.query(`CREATE PUBLICATION ${publication} FOR ALL TABLES; INSERT INTO a VALUES (10)`)
    world.start()
    await untilEqual(world)
    await world.query('INSERT INTO a VALUES (11)')
    await untilEqual(world)
  })

  it('does not publish what inherits from a table', async (t) => {
    const world = await worldOfTest(
      server,
      t,
      `CREATE TABLE a (id int PRIMARY KEY); CREATE TABLE child () INHERITS (a)`,
      [tableMapping('a')],
    )
    world.start()
    await world.until('it is loaded', () => world.replicas.tables.has('a'))
    const members = await world.query('SELECT tablename FROM pg_publication_tables')
    assert.deepEqual(members, [{ tablename: 'a' }])
  })
})

describe("a publication of the user's", () => {
  const open = async (t: TestContext, mode: 'cdc' | 'cdc_only' = 'cdc'): Promise<ReplicationWorld> => {
    const world = await worldOfTest(
      server,
      t,
      'CREATE TABLE a (id int PRIMARY KEY); INSERT INTO a VALUES (1); CREATE PUBLICATION theirs FOR TABLE a',
      [tableMapping('a')],
      { publicationName: 'theirs', replicationMode: mode },
    )
    world.pipe.state = 'Running'
    world.start()
    await world.until('changes are awaited', () => world.statuses.some(({ doing }) => doing === 'Waiting for changes'))
    return world
  }

  for (const [what, change, undo, reason] of [
    ['loses a table', 'DROP TABLE a', 'ADD TABLE a', /does not publish public\.a/],
    [
      'leaves out truncates',
      `SET (publish = 'insert, update, delete')`,
      `SET (publish = 'insert, update, delete, truncate')`,
      /leaves out truncates/,
    ],
    ['filters rows', 'SET TABLE a WHERE (id < 5)', 'SET TABLE a', /filters the rows of public\.a/],
  ] as const) {
    it(`that ${what} is reported until it is fixed; then the missed changes are loaded`, async (t) => {
      const world = await open(t)
      await world.query(`ALTER PUBLICATION theirs ${change}; INSERT INTO a VALUES (10)`)
      await world.until('it is reported', () => reason.test(world.statuses.at(-1)?.reason ?? ''))
      assert.equal(world.statuses.at(-1)?.state, 'degraded')
      await world.query(`ALTER PUBLICATION theirs ${undo}`)
      await untilEqual(world)
    })
  }

  it('that is dropped and created again has everything loaded again', async (t) => {
    const world = await open(t)
    await world.query('DROP PUBLICATION theirs; INSERT INTO a VALUES (10)')
    await world.until('it is reported', () => /has no publication theirs/.test(world.statuses.at(-1)?.reason ?? ''))
    await world.query('CREATE PUBLICATION theirs FOR ALL TABLES')
    await untilEqual(world)
  })

  it('of a pipe that loads nothing fails it, until it is started again', async (t) => {
    const world = await open(t, 'cdc_only')
    await world.query('ALTER PUBLICATION theirs DROP TABLE a; INSERT INTO a VALUES (10)')
    await world.query('ALTER PUBLICATION theirs ADD TABLE a')
    assert.deepEqual(await world.running?.ended, {
      end: 'failed',
      reason:
        'the publication theirs was changed, and has left out changes of public.a; start the pipe to go on without these changes, or make one that loads its tables',
    })
    world.start()
    await world.query('INSERT INTO a VALUES (11)')
    await world.until('changes come again', () => idsOf(world, 'a') === '11')
  })
})

describe('a source whose catalog cannot be read', () => {
  const blind = /; changes of publications, partitions and types are not noticed$/

  it('is reported while rows arrive, until it can be read', async (t) => {
    await server.query(`CREATE ROLE watcher LOGIN REPLICATION PASSWORD 'watcher'`)
    const watcher = { username: 'watcher', password: 'watcher' }
    const sql = `CREATE TABLE a (id int PRIMARY KEY); INSERT INTO a VALUES (1); CREATE PUBLICATION theirs FOR TABLE a;
      GRANT SELECT ON a TO watcher`
    const settings = { publicationName: 'theirs' }
    const world = await worldOfTest({ ...server, superuser: watcher }, t, sql, [tableMapping('a')], settings)
    world.start()
    await untilEqual(world)
    const last = (): string => `${world.statuses.at(-1)?.state} ${world.statuses.at(-1)?.reason ?? ''}`
    let id = 1
    for (const [change, undo, reason] of [
      ['REVOKE SELECT ON a FROM watcher', 'GRANT SELECT ON a TO watcher', /the user may not read public\.a/],
      [`ALTER ROLE watcher PASSWORD 'other'`, `ALTER ROLE watcher PASSWORD 'watcher'`, /password/],
    ] as const) {
      await world.query(change)
      await world.until('it is reported', () => blind.test(last()))
      assert.match(last(), reason)
      await world.query(`INSERT INTO a VALUES (${++id})`)
      await untilEqual(world)
      assert.match(last(), /^degraded /)
      await world.query(undo)
      await world.until('it is well', () => last() === 'running ')
    }
    await world.query('ALTER PUBLICATION theirs DROP TABLE a')
    await world.until('a change is noticed', () => /does not publish public\.a/.test(last()))
  })
})

describe('partitions', () => {
  const parts = `CREATE TABLE p (id int PRIMARY KEY) PARTITION BY RANGE (id);
    CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (100);
    CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (100) TO (200);
    INSERT INTO p SELECT generate_series(1, 5); INSERT INTO p SELECT generate_series(101, 105)`
  const open = async (t: TestContext): Promise<ReplicationWorld> => {
    const world = await worldOfTest(server, t, parts, [tableMapping('p')])
    world.start()
    await untilEqual(world)
    return world
  }
  const filled = (name: string, from: number): string =>
    `CREATE TABLE ${name} (id int PRIMARY KEY); INSERT INTO ${name} VALUES (${from})`
  const attach = (name: string, from: number): string =>
    `ALTER TABLE p ATTACH PARTITION ${name} FOR VALUES FROM (${from}) TO (${from + 100})`

  it('that are attached with rows, truncated, detached or dropped have the table loaded again', async (t) => {
    const world = await open(t)
    for (const change of [
      'TRUNCATE p2',
      `${filled('p3', 200)}; ${attach('p3', 200)}`,
      `BEGIN; ${filled('p4', 300)}; ${attach('p4', 300)}; COMMIT`,
      `BEGIN; CREATE TABLE p5 (id int PRIMARY KEY); SAVEPOINT s; INSERT INTO p5 VALUES (400); RELEASE s; ${attach('p5', 400)}; COMMIT`,
      `CREATE TABLE p6 (id int PRIMARY KEY) PARTITION BY RANGE (id);
       CREATE TABLE p61 PARTITION OF p6 FOR VALUES FROM (500) TO (550); INSERT INTO p6 VALUES (501); ${attach('p6', 500)}`,
      `ALTER TABLE p DETACH PARTITION p3; UPDATE p3 SET id = 201; ${attach('p3', 200)}`,
      'ALTER TABLE p DETACH PARTITION p4',
      'DROP TABLE p5',
    ]) {
      await world.query(change)
      await untilEqual(world)
    }
    await world.query('INSERT INTO p VALUES (6)')
    await untilEqual(world)
    assert.match(reasonsOf(world), /a partition of public\.p was attached, detached, dropped or rewritten/)
  })

  it('that change while the pipe is paused have the table loaded again', async (t) => {
    const world = await open(t)
    await world.pause()
    await world.query(`TRUNCATE p2; ${filled('p3', 200)}; ${attach('p3', 200)}`)
    world.start()
    await untilEqual(world)
  })

  it('whose rows are all in the log do not', async (t) => {
    const world = await open(t)
    const before = loadsOf(world)
    await world.query(`CREATE TABLE p3 PARTITION OF p FOR VALUES FROM (200) TO (300); INSERT INTO p VALUES (201)`)
    await world.query(
      `BEGIN; CREATE TABLE p4 PARTITION OF p FOR VALUES FROM (300) TO (400); INSERT INTO p VALUES (301); COMMIT`,
    )
    await world.query(
      `CREATE TABLE p5 (LIKE p INCLUDING ALL); ALTER TABLE p ATTACH PARTITION p5 FOR VALUES FROM (400) TO (500)`,
    )
    await world.query(`CREATE TABLE p6 PARTITION OF p FOR VALUES FROM (500) TO (700) PARTITION BY RANGE (id);
      CREATE TABLE p61 PARTITION OF p6 FOR VALUES FROM (500) TO (600); INSERT INTO p VALUES (501)`)
    await untilEqual(world)
    const coverage = (): string => world.tables.tables.get('p')?.coverage ?? ''
    await world.until('they are known', () => Object.keys(JSON.parse(coverage()).partitions).length === 7)
    assert.deepEqual(loadsOf(world), before)
    assert.equal(reasonsOf(world), '')
  })
})
