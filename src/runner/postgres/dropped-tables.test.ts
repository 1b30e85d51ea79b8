import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import {
  orders,
  type ReplicationWorld,
  tableMapping,
  worldOfTest,
} from '../../../test/runner-world/replication-world.ts'
import { type EmbeddedPostgres, startEmbedded } from '../../../test/sources/postgres-embedded.ts'

describe('a table that is dropped from the engine while it is loaded', () => {
  let server: EmbeddedPostgres
  before(async () => {
    server = await startEmbedded()
  })
  after(() => server.stop())

  const isLoaded = (world: ReplicationWorld): boolean => {
    const tables = [...world.tables.tables.values()]
    return tables.length > 0 && tables.every(({ phase }) => phase === 'following')
  }

  it('is loaded from its beginning after a pause', async (t) => {
    const world = await worldOfTest(server, t, orders, [tableMapping('orders')], { initialLoadParallelism: 1 })
    const running = world.start()
    let count = 0
    world.replicas.onInsert = (when) => {
      if (when === 'after' && ++count === 2) running.worker.stop()
    }
    await running.ended
    world.replicas.onInsert = () => undefined
    assert.equal(isLoaded(world), false)
    world.replicas.tables.delete('orders')
    world.start()
    await world.until('all is loaded', () => isLoaded(world))
    assert.equal(world.replicas.shown('orders').length, 3500)
  })

  it('is loaded from its beginning when it is dropped during the load', async (t) => {
    const world = await worldOfTest(server, t, orders, [tableMapping('orders')], { initialLoadParallelism: 1 })
    let count = 0
    world.replicas.onInsert = (when) => {
      if (when === 'after' && ++count === 2) world.replicas.tables.delete('orders')
    }
    world.start()
    await world.until('all is loaded', () => isLoaded(world))
    assert.equal(world.replicas.shown('orders').length, 3500)
  })

  it('is reloaded when both it and the table that it replaces are dropped during the swap', async (t) => {
    const world = await worldOfTest(server, t, orders, [tableMapping('orders')])
    const running = world.start()
    await world.until('all is loaded', () => isLoaded(world))
    running.worker.stop()
    await running.ended
    const shadow = { targetTable: 'orders_penstock_resync', replaces: 'orders', phase: 'swapping' as const }
    world.tables.tables.set(shadow.targetTable, { ...world.tables.tables.get('orders')!, ...shadow })
    world.replicas.tables.clear()
    world.start()
    await world.until('all is loaded again', () => isLoaded(world) && world.replicas.tables.has('orders'))
    assert.equal(world.replicas.shown('orders').length, 3500)
  })

  it('does not replace a complete one', async (t) => {
    const world = await worldOfTest(server, t, orders, [tableMapping('orders')], { initialLoadParallelism: 1 })
    world.start()
    await world.until('all is loaded', () => isLoaded(world))
    assert.equal(world.replicas.shown('orders').length, 3500)
    world.tables.reloadRequestedAt = '2026-11-02T17:00:00.000Z'
    let count = 0
    const running = world.start()
    world.replicas.onInsert = (when, table) => {
      if (when === 'after' && table === 'orders_penstock_resync' && ++count === 2) running.worker.stop()
    }
    await running.ended
    world.replicas.onInsert = () => undefined
    assert.ok(world.replicas.tables.has('orders_penstock_resync'))
    world.replicas.tables.delete('orders_penstock_resync')
    world.start()
    await world.until('all is loaded', () => isLoaded(world))
    assert.equal(world.replicas.shown('orders').length, 3500)
  })
})
