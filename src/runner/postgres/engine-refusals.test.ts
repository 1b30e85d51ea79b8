import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { orders, tableMapping, worldOfTest } from '../../../test/runner-world/replication-world.ts'
import { type EmbeddedPostgres, startEmbedded } from '../../../test/sources/postgres-embedded.ts'
import { EngineError } from '../../engine/engine.ts'

describe('a pipe whose changes the engine does not take', () => {
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
    // Five times the patience of this world.
    const end = await Promise.race([running.ended, sleep(10_000)])
    assert.ok(world.statuses.some(({ state }) => state === 'degraded'))
    assert.deepEqual(end, { end: 'failed', reason: 'the user of the engine may not insert' })
  })
})
