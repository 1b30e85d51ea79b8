// Reloads of PostgreSQL tables: on request, and after the slot or a table is gone.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { follows } from '../../../test/runner-world/replication-checks.ts'
import {
  orders,
  type ReplicationWorld,
  tableMapping,
  worldOfTest,
} from '../../../test/runner-world/replication-world.ts'
import { type EmbeddedPostgres, startEmbedded } from '../../../test/sources/postgres-embedded.ts'
import { EngineError } from '../../engine/engine.ts'
import { replicationName } from './names.ts'

describe('replication', () => {
  let server: EmbeddedPostgres
  before(async () => {
    server = await startEmbedded()
  })
  after(() => server.stop())

  const dropSlot = (world: ReplicationWorld): Promise<void> =>
    world.until('the slot can be dropped', () =>
      world.query(`SELECT pg_drop_replication_slot('${replicationName(world.pipe.id)}')`).then(
        () => true,
        () => false,
      ),
    )

  it('reloads everything into shadow tables and swaps them, on request', async (t) => {
    const world = await worldOfTest(server, t, orders, [tableMapping('orders')])
    world.start()
    await follows(world, 'orders')
    const table = world.replicas.tables.get('orders')
    table?.rows.splice(0, 1000)
    world.tables.reloadRequestedAt = '2026-11-15T10:00:00.000Z'
    world.start()
    await world.query('UPDATE orders SET amount = 12 WHERE id = 12')
    await world.until('it is another table', () => world.replicas.tables.get('orders') !== table)
    await follows(world, 'orders')
    await world.query('UPDATE orders SET amount = 13 WHERE id = 13')
    await follows(world, 'orders')
    assert.deepEqual([...world.replicas.tables.keys()], ['orders'])
    const again = world.replicas.tables.get('orders')
    world.start()
    await world.query('UPDATE orders SET amount = 14 WHERE id = 14')
    await follows(world, 'orders')
    assert.equal(world.replicas.tables.get('orders'), again)
  })

  it('reloads everything when its slot is gone', async (t) => {
    const world = await worldOfTest(server, t, orders, [tableMapping('orders')])
    const running = world.start()
    await follows(world, 'orders')
    running.worker.stop()
    await running.ended
    await dropSlot(world)
    await world.query('DELETE FROM orders WHERE id > 3000; UPDATE orders SET amount = 1 WHERE id < 20')
    world.start()
    await follows(world, 'orders')
  })

  it('does not empty a table that was swapped before the swap was recorded', async (t) => {
    const world = await worldOfTest(server, t, orders, [tableMapping('orders')])
    world.start()
    await follows(world, 'orders')
    const open = world.replicas.open.bind(world.replicas)
    let swaps = 0
    world.replicas.open = () => {
      const engine = open()
      return {
        ...engine,
        swap: async (tables, signal) => {
          await engine.swap(tables, signal)
          if (++swaps === 1) throw new EngineError('passing', 'the answer was lost')
        },
      }
    }
    world.tables.reloadRequestedAt = '2026-11-15T10:00:00.000Z'
    world.start()
    await world.until(
      'it was tried again',
      () => swaps === 2 && world.tables.tables.get('orders')?.phase === 'following',
    )
    await follows(world, 'orders')
    assert.equal(world.replicas.shown('orders').length, 3500)
  })

  it('reloads everything when its slot is lost during a load', async (t) => {
    const world = await worldOfTest(server, t, orders, [tableMapping('orders')])
    let inserts = 0
    world.replicas.onInsert = (when) => {
      if (when === 'after' && ++inserts === 2) running.worker.abort()
    }
    const running = world.start()
    await running.ended
    await dropSlot(world)
    await world.query('DELETE FROM orders WHERE id % 2 = 0')
    world.start()
    await follows(world, 'orders')
  })

  it('reports lost changes when it cannot reload', async (t) => {
    const world = await worldOfTest(server, t, orders, [tableMapping('orders')], { replicationMode: 'cdc_only' })
    const running = world.start()
    await world.until('it follows', () => world.statuses.at(-1)?.state === 'running')
    running.worker.stop()
    await running.ended
    await dropSlot(world)
    const end = await world.start().ended
    assert.ok(end.end === 'failed' && /is gone, and with it the changes/.test(end.reason), JSON.stringify(end))
  })

  it('loads a table again that is gone from the engine', async (t) => {
    const world = await worldOfTest(server, t, orders, [tableMapping('orders')])
    world.start()
    await follows(world, 'orders')
    world.replicas.tables.delete('orders')
    await world.query('UPDATE orders SET amount = 1 WHERE id = 1')
    await follows(world, 'orders')
  })

  it('does not fill a table of another pipe', async (t) => {
    const world = await worldOfTest(server, t, orders, [tableMapping('orders')])
    world.tables.rivals = [
      { name: 'elsewhere', database: 'other' },
      { name: 'first', database: 'shop' },
    ]
    world.pipe = { ...world.pipe, state: 'Provisioning' }
    const end = await world.start().ended
    assert.ok(
      end.end === 'failed' && end.reason.startsWith('the pipe "first" fills the table "orders"'),
      JSON.stringify(end),
    )
  })
})
