// Log tables (MergeTree) keep every change as a row and do not merge rows, so load and stream must not overlap.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  orders,
  type ReplicationWorld,
  tableMapping,
  worldOfTest,
} from '../../../test/runner-world/replication-world.ts'
import { type EmbeddedPostgres, startEmbedded } from '../../../test/sources/postgres-embedded.ts'

describe('a log table', () => {
  let server: EmbeddedPostgres
  before(async () => {
    server = await startEmbedded()
  })
  after(() => server.stop())

  const events = `CREATE TABLE events (id int PRIMARY KEY); INSERT INTO events SELECT generate_series(1, 100)`
  const mappings = [tableMapping('orders'), tableMapping('events', { tableEngine: 'MergeTree' })]
  const idsOf = (world: ReplicationWorld): number[] =>
    (world.replicas.tables.get('events')?.rows ?? []).map(({ id }) => Number(id)).toSorted((a, b) => a - b)
  const isLoaded = (world: ReplicationWorld): boolean =>
    world.tables.tables.size === 2 && [...world.tables.tables.values()].every(({ phase }) => phase === 'following')
  const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1)
  const insert = (world: ReplicationWorld, first: number): Promise<unknown> =>
    world.query(`INSERT INTO events SELECT generate_series(${first}, ${first + 99})`)

  const waiting = `SELECT FROM pg_locks WHERE locktype = 'transactionid' AND NOT granted`

  for (const [how, end] of [
    ['stopped', 'stop'],
    ['killed', 'abort'],
  ] as const) {
    it(`has each row once when the pipe is ${how} while another table is loading`, async (t) => {
      const world = await worldOfTest(server, t, `${orders}; ${events}`, mappings, { initialLoadParallelism: 1 })
      const running = world.start()
      const streamed = Promise.withResolvers<void>()
      world.replicas.onInsert = async (when, table) => {
        if (when === 'after' && table === 'events') streamed.resolve()
        if (when !== 'after' || table !== 'orders') return
        await insert(world, 101)
        await streamed.promise
        running.worker[end]()
      }
      await running.ended
      world.replicas.onInsert = () => undefined
      assert.deepEqual(idsOf(world), upTo(200).slice(100))
      world.start()
      await world.until('all is loaded', () => isLoaded(world))
      await insert(world, 201)
      await world.until('the last rows are there', () => idsOf(world).includes(300))
      assert.deepEqual(idsOf(world), upTo(300))
    })
  }

  it('has each row once when its load waits for another transaction', async (t) => {
    const world = await worldOfTest(server, t, `${orders}; ${events}; CREATE TABLE other (id int)`, mappings)
    world.source.tableMappings = mappings.slice(0, 1)
    const running = world.start()
    await world.until('the first is loaded', () => world.tables.tables.get('orders')?.phase === 'following')
    running.worker.stop()
    await running.ended
    world.source.tableMappings = mappings
    const writing = world.query('BEGIN; INSERT INTO other VALUES (1); SELECT pg_sleep(600); COMMIT').catch(String)
    const writer = `SELECT pid FROM pg_locks WHERE relation = 'other'::regclass AND pid <> pg_backend_pid()`
    await world.until('somebody writes', async () => (await world.query(writer)).length > 0)
    world.start()
    await world.until('the load waits', async () => (await world.query(waiting)).length > 0)
    await insert(world, 101)
    // Longer than the stream waits for the load of a copy.
    await sleep(500)
    await world.query(`SELECT pg_cancel_backend(pid) FROM (${writer}) writer`)
    assert.match(await writing.then(String), /canceling statement/)
    await world.until('all is loaded', () => isLoaded(world))
    await insert(world, 201)
    await world.until('the last rows are there', () => idsOf(world).includes(300))
    assert.deepEqual(idsOf(world), upTo(300))
  })
})
