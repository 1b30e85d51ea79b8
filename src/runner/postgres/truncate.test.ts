import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type ReplicationWorld, tableMapping, worldOfTest } from '../../../test/runner-world/replication-world.ts'
import { type EmbeddedPostgres, startEmbedded } from '../../../test/sources/postgres-embedded.ts'
import { EngineError } from '../../engine/engine.ts'

describe('a batch with a truncate that is sent again', () => {
  let server: EmbeddedPostgres
  before(async () => {
    server = await startEmbedded()
  })
  after(() => server.stop())

  const tables = `CREATE TABLE orders (id int PRIMARY KEY, note text); INSERT INTO orders VALUES (1, 'a');
    CREATE TABLE other (id int PRIMARY KEY, note text); INSERT INTO other VALUES (1, 'a')`
  const isLoaded = (world: ReplicationWorld): boolean => {
    const stored = [...world.tables.tables.values()]
    return stored.length === 2 && stored.every(({ phase }) => phase === 'following')
  }
  const ids = (world: ReplicationWorld): string =>
    world.replicas
      .shown('orders')
      .map(({ id }) => id)
      .join()

  it('has all rows when the truncated table was dropped from the engine', async (t) => {
    const world = await worldOfTest(server, t, tables, [tableMapping('orders'), tableMapping('other')])
    world.start()
    await world.until('all is loaded', () => isLoaded(world))
    world.replicas.tables.delete('other')
    await world.query(
      `BEGIN; INSERT INTO orders VALUES (2, 'b'); TRUNCATE other; INSERT INTO orders VALUES (3, 'c'); COMMIT`,
    )
    await world.query(`INSERT INTO orders VALUES (4, 'd')`)
    await world.until('the last is there', () => ids(world).endsWith('4'))
    assert.equal(ids(world), '1,2,3,4')
  })

  it('has all rows when the mapping of the truncated table was removed', async (t) => {
    const world = await worldOfTest(server, t, tables, [tableMapping('orders'), tableMapping('other')])
    const running = world.start()
    await world.until('all is loaded', () => isLoaded(world))
    const { promise: reached, resolve: reach } = Promise.withResolvers<void>()
    world.replicas.onInsert = (when, table, insert) => {
      if (table !== 'orders' || when !== 'before') return
      const text = Buffer.concat([...(insert.body() as Iterable<Uint8Array>)]).toString()
      if (!text.startsWith('3\t')) return
      reach()
      throw new EngineError('user', 'orders cannot be filled just now')
    }
    await world.query(
      `BEGIN; INSERT INTO orders VALUES (2, 'b'); TRUNCATE other; INSERT INTO orders VALUES (3, 'c'); COMMIT`,
    )
    await reached
    running.worker.stop()
    await running.ended
    world.replicas.onInsert = () => undefined
    world.source = { ...world.source, tableMappings: [tableMapping('orders')] }
    world.start()
    await world.query(`INSERT INTO orders VALUES (4, 'd')`)
    await world.until('the last is there', () => ids(world).endsWith('4'))
    assert.equal(ids(world), '1,2,3,4')
  })
})
