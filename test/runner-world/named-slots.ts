// Pipe with a replication slot of the user whose publication is dropped and created again. Before PostgreSQL 18, the slot cannot
// decode changes that were written in between.
import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { replicationName } from '../../src/runner/postgres/names.ts'
import type { PostgresServer } from '../sources/postgres-world.ts'
import { type ReplicationWorld, tableMapping, worldOfTest } from './replication-world.ts'

export function describeNamedSlots(name: string, start: () => Promise<PostgresServer>): void {
  describe(`a replication slot of the user, ${name}`, () => {
    let server: PostgresServer
    before(async () => {
      server = await start()
    })
    after(() => server?.stop())

    const idsOf = (world: ReplicationWorld): string =>
      (world.replicas.tables.has('a') ? world.replicas.shown('a') : []).map(({ id }) => id).join()
    const open = async (
      t: TestContext,
      settings: { publicationName?: string; replicationMode?: 'cdc_only' },
      slot: string,
    ): Promise<ReplicationWorld> => {
      const sql = 'CREATE TABLE a (id int PRIMARY KEY); INSERT INTO a VALUES (1); CREATE PUBLICATION theirs FOR TABLE a'
      const world = await worldOfTest(server, t, sql, [tableMapping('a')], { ...settings, replicationSlotName: slot })
      await world.query(`SELECT pg_create_logical_replication_slot('${slot}', 'pgoutput')`)
      world.pipe.state = 'Running'
      world.start()
      await world.until('it waits for changes', () => world.statuses.at(-1)?.doing === 'Waiting for changes')
      await world.query('INSERT INTO a VALUES (2)')
      await world.until('changes arrive', () => idsOf(world).endsWith('2'))
      return world
    }

    /** Drops the slot: a database with a slot cannot be dropped. */
    const close = async (world: ReplicationWorld): Promise<void> => {
      await world.pause()
      const drop = `SELECT pg_drop_replication_slot('${world.source.settings.replicationSlotName}')`
      await world.until('the slot is dropped', () =>
        world.query(drop).then(
          () => true,
          () => false,
        ),
      )
    }

    for (const [whose, publicationName] of [
      ['of the pipe', undefined],
      ["of the user's", 'theirs'],
    ] as const) {
      for (const isPaused of [false, true]) {
        it(`is advanced when the publication ${whose} is dropped${isPaused ? ' while the pipe is paused' : ''}, and the copy reloaded`, async (t) => {
          const world = await open(t, publicationName ? { publicationName } : {}, `slot_${publicationName}_${isPaused}`)
          const publication = publicationName ?? replicationName(world.pipe.id)
          if (isPaused) await world.pause()
          await world.query(`DROP PUBLICATION ${publication}`)
          await world.query('INSERT INTO a VALUES (3)')
          await world.query('DELETE FROM a WHERE id = 1')
          await world.query('CREATE TABLE elsewhere AS SELECT generate_series(1, 10) AS id')
          if (publicationName) await world.query(`CREATE PUBLICATION ${publication} FOR TABLE a`)
          if (isPaused) world.start()
          await world.until('the copy is loaded again', () => idsOf(world) === '2,3')
          await world.query('INSERT INTO a VALUES (4)')
          await world.until('changes arrive', () => idsOf(world) === '2,3,4')
          assert.notEqual(world.tables.reloadRequestedAt, null)
          await close(world)
        })
      }
    }

    it('of a pipe without an initial load fails once, and continues without these changes when it is started', async (t) => {
      const world = await open(t, { publicationName: 'theirs', replicationMode: 'cdc_only' }, 'slot_only')
      await world.pause()
      await world.query('DROP PUBLICATION theirs')
      await world.query('INSERT INTO a VALUES (3)')
      await world.query('CREATE PUBLICATION theirs FOR TABLE a')
      assert.deepEqual(await world.start().ended, {
        end: 'failed',
        reason:
          'the publication theirs was dropped, and with it the changes until it was created again; ' +
          'start the pipe to go on without these changes, or make one with the replicationMode cdc, which loads the tables',
      })
      world.start()
      await world.query('INSERT INTO a VALUES (4)')
      await world.until('changes arrive', () => idsOf(world) === '2,4')
      await close(world)
    })
  })
}
