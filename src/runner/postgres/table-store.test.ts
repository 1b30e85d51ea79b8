// TableStore in both databases, and the in-memory one that other tests use.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { leastPipes, serviceOfPipes } from '../../../test/harness/pipes.ts'
import { onBothDatabases } from '../../../test/harness/test-app.ts'
import { MemoryTables } from '../../../test/runner-world/memory-tables.ts'
import type { CounterChanges } from '../../progress/pipe-counters.ts'
import type { WorkerLease } from '../../progress/store.ts'
import type { StoredTable } from '../../progress/tables/stored-table.ts'
import { StoreFailure } from '../classify-failure.ts'
import { zeroCounters } from '../counters.ts'
import { LeaseLost } from '../worker.ts'
import { guardTables } from './guard-tables.ts'
import { makeTableStore } from './make-table-store.ts'
import type { TableStore } from './table-store.ts'

const orders: StoredTable = {
  targetTable: 'orders',
  sourceSchemaName: 'public',
  sourceTable: 'Orders "of" people',
  sourceId: '16384',
  coverage: null,
  replaces: null,
  mappingDigest: 'digest',
  loadId: 'load-1',
  reloadRequestedAt: null,
  beginLsn: null,
  phase: 'snapshot',
  columns: [
    { name: 'id', number: 1, type: 'Int64', source: { typeId: 20, modifier: -1, revision: '731', labels: [] } },
  ],
  shape: { files: 'd41d8cd9', lastColumnNumber: 3, sortingKey: ['id'] },
  truncatedVersion: null,
  rowsEstimated: null,
  rowsLoaded: 0,
  rangeCount: null,
  rangesDone: 0,
  loadStartedAt: null,
  loadEndedAt: null,
}
const shadow: StoredTable = { ...orders, targetTable: 'orders_penstock_resync', replaces: 'orders', loadId: 'load-2' }
const counters: CounterChanges = { ...zeroCounters, rowsRead: 10, bytesRead: 100, rowsWritten: 10, inserts: 1 }

/** Several, in several statements, and not in order. */
const manyRanges = Array.from({ length: 61 }, (_, index) => ({ number: 60 - index, range: `{"from":${60 - index}}` }))

interface Kept {
  /** Store of a worker that has or had the lease. */
  store: TableStore
  /** Takes over the lease. */
  succeed(): Promise<TableStore>
  counters(): Promise<{ rowsRead: number; inserts: number }>
}

function keeps(makeKept: () => Promise<Kept>): void {
  it('what was saved, and what replaces it', async () => {
    const { store } = await makeKept()
    assert.deepEqual(await store.listTables(), [])
    await store.saveTable(shadow)
    await store.saveTable(orders)
    assert.deepEqual(await store.listTables(), [orders, shadow])
    assert.deepEqual(await store.listRivals('orders'), [])
    const changed: StoredTable = {
      ...orders,
      sourceTable: 'other',
      mappingDigest: 'another',
      loadId: 'load-3',
      beginLsn: '16/B374D848',
      phase: 'following',
      columns: [],
      truncatedVersion: '18446744073709551615',
      rowsEstimated: 5_000_000_000,
      rowsLoaded: 5_000_000_001,
      rangeCount: 3,
      rangesDone: 3,
      loadStartedAt: '2026-11-02T10:00:00.000Z',
      loadEndedAt: '2026-11-02T11:00:00.000Z',
    }
    for (let twice = 0; twice < 2; twice++) await store.saveTable(changed)
    assert.deepEqual(await store.listTables(), [changed, shadow])
    for (let twice = 0; twice < 2; twice++) await store.removeTable('orders')
    assert.deepEqual(await store.listTables(), [shadow])
  })

  it('the ranges of a plan until each is done, in the order of their numbers', async () => {
    const { store } = await makeKept()
    await store.saveTable(orders)
    await store.saveTable(shadow)
    const plan = { ranges: manyRanges, rowsEstimated: 6_100_000 }
    for (let twice = 0; twice < 2; twice++) await store.planLoad('orders', plan)
    assert.deepEqual(await store.listRanges('orders'), manyRanges.toReversed())
    assert.deepEqual(await store.listRanges('orders_penstock_resync'), [])
    const [planned] = await store.listTables()
    assert.ok(Math.abs(Date.parse(planned!.loadStartedAt!) - Date.now()) < 60_000)
    const { rowsEstimated, rangeCount, rangesDone, rowsLoaded, loadEndedAt } = planned!
    assert.deepEqual([rowsEstimated, rangeCount, rangesDone, rowsLoaded, loadEndedAt], [6_100_000, 61, 0, 0, null])
    for (const number of [3, 0]) await store.finishRange('orders', { number, rows: 10, counters })
    assert.equal((await store.listRanges('orders')).length, 59)
    const odd = [{ number: 0, range: '"a\0\ud800' }]
    await store.planLoad('orders', { ranges: odd, rowsEstimated: null })
    assert.deepEqual(await store.listRanges('orders'), odd)
    const [again] = await store.listTables()
    assert.deepEqual([again!.rowsEstimated, again!.rangeCount, again!.rangesDone, again!.rowsLoaded], [null, 1, 0, 0])
    await store.removeTable('orders')
    assert.deepEqual(await store.listRanges('orders'), [])
  })

  it('what was counted of a range, once', async () => {
    const { store, counters: counted } = await makeKept()
    await store.saveTable(orders)
    await store.planLoad('orders', { ranges: manyRanges, rowsEstimated: null })
    for (const number of [1, 1, 2]) await store.finishRange('orders', { number, rows: 10, counters })
    const [table] = await store.listTables()
    assert.deepEqual([table!.rowsLoaded, table!.rangesDone, table!.rangeCount], [20, 2, 61])
    const { rowsRead, inserts } = await counted()
    assert.deepEqual([rowsRead, inserts], [20, 2])
  })

  it('the counts of a load when the table is saved without them', async () => {
    const { store } = await makeKept()
    await store.saveTable(orders)
    await store.planLoad('orders', { ranges: manyRanges, rowsEstimated: 600 })
    await store.finishRange('orders', { number: 1, rows: 10, counters })
    const [loaded] = await store.listTables()
    await store.saveTable({ ...orders, beginLsn: '0/1', phase: 'following', loadEndedAt: '2026-11-02T11:00:00.000Z' })
    const following = { beginLsn: '0/1', phase: 'following', loadEndedAt: '2026-11-02T11:00:00.000Z' }
    assert.deepEqual(await store.listTables(), [{ ...loaded, ...following }])
    assert.equal((await store.listRanges('orders')).length, 60)
    await store.saveTable({ ...orders, loadId: 'load-9' })
    assert.deepEqual(await store.listTables(), [{ ...orders, loadId: 'load-9' }])
    assert.equal((await store.listRanges('orders')).length, 60)
  })

  it('a shadow instead of the table that it replaces', async () => {
    const { store } = await makeKept()
    await store.saveTable(orders)
    await store.planLoad('orders', { ranges: manyRanges, rowsEstimated: null })
    await store.saveTable({ ...shadow, phase: 'swapping', beginLsn: '0/2' })
    await store.planLoad('orders_penstock_resync', { ranges: manyRanges.slice(0, 1), rowsEstimated: 10 })
    await store.finishRange('orders_penstock_resync', { number: 60, rows: 10, counters })
    for (let twice = 0; twice < 2; twice++) await store.finishSwap('orders_penstock_resync')
    const [table, ...others] = await store.listTables()
    assert.deepEqual(others, [])
    const { loadStartedAt, ...rest } = table!
    assert.notEqual(loadStartedAt, null)
    const { loadStartedAt: _, ...expected } = shadow
    assert.deepEqual(rest, {
      ...expected,
      targetTable: 'orders',
      replaces: null,
      phase: 'following',
      beginLsn: '0/2',
      rowsEstimated: 10,
      rowsLoaded: 10,
      rangeCount: 1,
      rangesDone: 1,
    })
    assert.deepEqual(await store.listRanges('orders'), [])
    // The table of a mapping is not a shadow.
    await store.finishSwap('orders')
    assert.equal((await store.listTables()).length, 1)
  })

  it('nothing of a worker that has lost its lease', async () => {
    const { store, succeed } = await makeKept()
    await store.saveTable(orders)
    await store.planLoad('orders', { ranges: manyRanges, rowsEstimated: null })
    const successor = await succeed()
    const before = await successor.listTables()
    const writes: (() => Promise<void>)[] = [
      () => store.saveTable(shadow),
      () => store.removeTable('orders'),
      () => store.planLoad('orders', { ranges: [], rowsEstimated: null }),
      () => store.finishRange('orders', { number: 1, rows: 10, counters }),
      () => store.finishSwap('orders_penstock_resync'),
    ]
    for (const write of writes) await assert.rejects(write, LeaseLost)
    assert.deepEqual(await successor.listTables(), before)
    assert.equal((await successor.listRanges('orders')).length, 61)
    await successor.finishRange('orders', { number: 1, rows: 10, counters })
    assert.equal((await successor.listTables())[0]!.rangesDone, 1)
  })
}

describe('the tables of a pipe in memory keep', () => {
  keeps(async () => {
    const tables = new MemoryTables()
    return {
      store: tables.of({ epoch: 1 }),
      succeed: async () => tables.of({ epoch: 2 }),
      counters: async () => tables.counters,
    }
  })
})

onBothDatabases('the tables of a pipe keep', (app) => {
  async function makeKept() {
    const service = await serviceOfPipes(app())
    const { organizationId } = service
    const { id: pipeId } = await service.create(leastPipes.postgres)
    const { database } = app().app
    const take = async (runnerId: string, nowMs: number): Promise<TableStore> => {
      const [now, expiresAt] = [nowMs, nowMs + 15_000].map((ms) => new Date(ms).toISOString()) as [string, string]
      const claim = { organizationId, pipeId, runnerId, now, expiresAt, limit: 1 }
      const { epoch } = await database.write('claimWorkers', claim, organizationId)
      const lease: WorkerLease = { organizationId, pipeId, workerIndex: 0, epoch }
      return makeTableStore(database, lease)
    }
    return {
      ...service,
      pipeId,
      store: await take('one', 0),
      succeed: () => take('another', 20_000),
      counters: async () => {
        const [row] = await app().query<{ rows_read: number; inserts: number }>(
          `SELECT rows_read, inserts FROM pipe_figures WHERE pipe_id = '${pipeId}'`,
        )
        return { rowsRead: Number(row?.rows_read), inserts: Number(row?.inserts) }
      },
    }
  }

  keeps(makeKept)

  it('nothing of a pipe that is deleted', async () => {
    const { store, send, pipeId } = await makeKept()
    await store.saveTable(orders)
    await store.planLoad('orders', { ranges: manyRanges, rowsEstimated: null })
    await app().query(`UPDATE pipes SET state = 'Paused' WHERE id = '${pipeId}'`)
    assert.equal((await send('DELETE', `/${pipeId}`)).status, 200)
    assert.deepEqual(await app().query(`SELECT * FROM pipe_tables WHERE pipe_id = '${pipeId}'`), [])
    assert.deepEqual(await app().query(`SELECT * FROM pipe_table_ranges WHERE pipe_id = '${pipeId}'`), [])
    await assert.rejects(store.saveTable(orders), LeaseLost)
  })
})

describe('guarded tables', () => {
  it('fail as the store of a worker does, and make no calls after the end', async () => {
    const tables = new MemoryTables()
    const store = tables.of({ epoch: 1 })
    const ending = new AbortController()
    const guarded = guardTables(store, ending.signal)
    await guarded.saveTable(orders)
    await guarded.planLoad('orders', { ranges: manyRanges, rowsEstimated: null })
    await guarded.finishRange('orders', { number: 0, rows: 1, counters })
    assert.equal((await guarded.listRanges('orders')).length, 60)
    await assert.rejects(guarded.planLoad('nothing', { ranges: [], rowsEstimated: null }), StoreFailure)
    await guarded.saveTable(shadow)
    await guarded.finishSwap(shadow.targetTable)
    await guarded.removeTable('orders')
    assert.deepEqual(await guarded.listTables(), [])
    tables.of({ epoch: 2 })
    await assert.rejects(guarded.saveTable(orders), LeaseLost)
    ending.abort(new Error('ended'))
    await assert.rejects(guarded.listTables(), /ended/)
  })
})
