import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { orders, tableMapping, worldOfTest } from '../../../test/runner-world/replication-world.ts'
import { type EmbeddedPostgres, startEmbedded } from '../../../test/sources/postgres-embedded.ts'
import { EngineError } from '../../engine/engine.ts'

describe('a pipe whose changes the engine rejects', () => {
  let server: EmbeddedPostgres
  before(async () => {
    server = await startEmbedded()
  })
  after(() => server.stop())

  it('is Degraded for a while, and fails when only the user can help', async (t) => {
    const world = await worldOfTest(server, t, orders, [tableMapping('orders')])
    const running = world.start()
    await world.until('all is loaded', () =>
      [...world.tables.tables.values()].some(({ phase }) => phase === 'following'),
    )
    world.replicas.onInsert = () => {
      throw new EngineError('user', 'the user of the engine may not insert')
    }
    world.statuses.length = 0
    await world.query('UPDATE orders SET amount = 1 WHERE id = 1')
    // Five times the retry time of this test.
    const end = await Promise.race([running.ended, sleep(10_000)])
    assert.ok(world.statuses.some(({ state }) => state === 'degraded'))
    assert.deepEqual(end, { end: 'failed', reason: 'the user of the engine may not insert' })
  })

  it('reports the growing WAL retained by the source while the engine is unreachable', async (t) => {
    const world = await worldOfTest(server, t, orders, [tableMapping('orders')])
    world.times = { stalledMs: 100 }
    world.start()
    await world.until('all is loaded', () =>
      [...world.tables.tables.values()].some(({ phase }) => phase === 'following'),
    )
    world.openTables = async () => {
      throw new EngineError('passing', 'the engine cannot be reached')
    }
    await world.pause()
    world.statuses.length = 0
    world.start()
    const grows = async (leastBytes: number): Promise<void> => {
      await world.query('INSERT INTO orders SELECT i + (SELECT max(id) FROM orders) FROM generate_series(1, 5000) i')
      await world.until('the growth is reported', () => (world.statuses.at(-1)?.retainedBytes ?? 0) > leastBytes)
    }
    await grows(0)
    await grows((world.statuses.at(-1)?.retainedBytes ?? 0) + 100_000)
  })
})
