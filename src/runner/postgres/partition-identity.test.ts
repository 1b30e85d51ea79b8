// Partitions have their own replica identities, which the log does not show. A copy sorted by more than its primary key needs the
// whole old row from each.
import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { type ReplicationWorld, tableMapping, worldOfTest } from '../../../test/runner-world/replication-world.ts'
import { type EmbeddedPostgres, startEmbedded } from '../../../test/sources/postgres-embedded.ts'

describe('partitions of a table that is sorted by more than its primary key', () => {
  let server: EmbeddedPostgres
  before(async () => {
    server = await startEmbedded()
  })
  after(() => server.stop())

  const isEqual = async (world: ReplicationWorld): Promise<boolean> => {
    const rows = await world.query('SELECT id, name FROM p ORDER BY id')
    const shown = world.replicas.tables.has('p') ? world.replicas.shown('p') : []
    const texts = shown.map(({ id, name }) => `${id} ${name}`).toSorted()
    return (
      texts.join() ===
      rows
        .map(({ id, name }) => `${id} ${name}`)
        .toSorted()
        .join()
    )
  }
  const untilEqual = (world: ReplicationWorld): Promise<void> =>
    world.until('copy and source are equal', () => isEqual(world))
  const open = async (t: TestContext, sortingKeys = ['name']): Promise<ReplicationWorld> => {
    const world = await worldOfTest(
      server,
      t,
      `CREATE TABLE p (id int PRIMARY KEY, name text NOT NULL) PARTITION BY RANGE (id);
       CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (100);
       ALTER TABLE p REPLICA IDENTITY FULL; ALTER TABLE p1 REPLICA IDENTITY FULL;
       INSERT INTO p SELECT i, 'n' || i FROM generate_series(1, 5) i`,
      [tableMapping('p', { useCustomSortingKey: true, sortingKeys })],
    )
    world.start()
    await untilEqual(world)
    return world
  }
  const loadIds = (world: ReplicationWorld): string[] => [...world.tables.tables.values()].map(({ loadId }) => loadId)
  const isReported = (world: ReplicationWorld): boolean =>
    /replica identity does not have public\.p\.name/.test(world.statuses.at(-1)?.reason ?? '')
  const create =
    'CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (100) TO (200); INSERT INTO p VALUES (101, $$a$$), (102, $$b$$)'
  const changes = `UPDATE p SET name = 'other' WHERE id = 101; DELETE FROM p WHERE id = 102`
  const fix = 'ALTER TABLE p2 REPLICA IDENTITY FULL'

  it('have it loaded again when one that was created by default is given the identity that it needs', async (t) => {
    const world = await open(t)
    await world.query(`${create}; ${changes}`)
    await world.until('it is reported', () => isReported(world))
    assert.match(world.statuses.at(-1)?.reason ?? '', /REPLICA IDENTITY FULL, for every partition too/)
    await world.query(fix)
    await untilEqual(world)
  })

  for (const [what, sql] of [
    ['an update', `UPDATE p SET name = 'other' WHERE id = 101`],
    ['an update of the primary key', `UPDATE p SET id = 103, name = 'other' WHERE id = 101`],
    ['a delete', 'DELETE FROM p WHERE id = 102'],
  ] as const) {
    it(`have it loaded again for ${what} without the old row while the pipe was paused`, async (t) => {
      const world = await open(t)
      // As if its identity was already known: only the log shows that it was another one.
      await world.query(`${create}; ${fix}`)
      await untilEqual(world)
      await world.until('it is known', async () => {
        const [row] = await world.query(`SELECT 'p2'::regclass::oid::text AS id`)
        return world.tables.tables.get('p')?.coverage?.includes(`"${row?.id}"`) ?? false
      })
      await world.pause()
      const before = loadIds(world)
      await world.query(`ALTER TABLE p2 REPLICA IDENTITY DEFAULT; ${sql}; ${fix}`)
      world.start()
      await untilEqual(world)
      assert.notDeepEqual(loadIds(world), before)
      assert.match(
        world.statuses.map(({ reason }) => reason).join(),
        /updates of public\.p came without the key of the row, because its replica identity was changed/,
      )
    })
  }

  it('have it loaded again when a new or a known one is altered', async (t) => {
    const world = await open(t)
    let before = loadIds(world)
    await world.pause()
    await world.query(create)
    await world.query(fix)
    world.start()
    await world.until('it is loaded again', () => loadIds(world).length === 1 && loadIds(world)[0] !== before[0])
    await untilEqual(world)
    before = loadIds(world)
    await world.query(
      `CREATE UNIQUE INDEX p2_both ON p2 (id, name); ALTER TABLE p2 REPLICA IDENTITY USING INDEX p2_both`,
    )
    await world.until('it is loaded again', () => loadIds(world).length === 1 && loadIds(world)[0] !== before[0])
    await untilEqual(world)
  })

  it('do not where the primary key is enough', async (t) => {
    const world = await open(t, ['id'])
    const before = loadIds(world)
    await world.query(`${create}; ${changes}`)
    await untilEqual(world)
    await world.query(fix)
    await world.query('UPDATE p SET id = 150 WHERE id = 101')
    await untilEqual(world)
    const known = (): number => Object.keys(JSON.parse(world.tables.tables.get('p')?.coverage ?? '').partitions).length
    await world.until('it is known', () => known() === 2)
    assert.deepEqual(loadIds(world), before)
  })
})
