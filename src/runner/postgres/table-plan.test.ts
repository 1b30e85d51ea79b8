import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { tableMapping } from '../../../test/runner-world/replication-world.ts'
import type { StoredTable } from '../../progress/tables/stored-table.ts'
import type { TableMapping } from '../../source-shapes/table-mappings.ts'
import { mappingDigest, planTables, type TablePlanParts } from './table-plan.ts'

describe('the plan of the tables of a pipe', () => {
  const orders = tableMapping('orders')
  let ids = 0
  const plan = (mappings: TableMapping[], stored: StoredTable[], more: Partial<TablePlanParts> = {}) =>
    planTables({
      mappings,
      stored,
      mode: 'cdc',
      reloadRequestedAt: null,
      sourceIdOf: () => '16384',
      isWithoutKey: () => false,
      coverageOf: () => 'covered',
      lacksChanges: (_, { coverage }) => coverage === 'lost',
      findChange: () => undefined,
      newId: () => `load-${++ids}`,
      ...more,
    })
  const first = (mapping: TableMapping, more: Partial<StoredTable> = {}): StoredTable => {
    const [filled] = plan([mapping], []).filled
    assert.ok(filled)
    return { ...filled.stored, phase: 'following', ...more }
  }
  /** `new orders`, `kept orders_penstock_resync`, `removed items` */
  const summary = ({ filled, removed }: ReturnType<typeof planTables>): string[] => [
    ...filled.map(
      ({ stored, isNew, like }) => `${isNew ? 'new' : 'kept'} ${stored.targetTable}${like ? ' alike' : ''}`,
    ),
    ...removed.map(({ targetTable }) => `removed ${targetTable}`),
  ]

  it('loads what was never filled, except with cdc_only', () => {
    assert.deepEqual(summary(plan([orders], [])), ['new orders'])
    assert.equal(plan([orders], []).filled[0]?.stored.phase, 'snapshot')
    assert.equal(plan([orders], [], { mode: 'cdc_only' }).filled[0]?.stored.phase, 'following')
  })

  it('begins again with a load that was interrupted when rows cannot be distinguished', () => {
    const log = tableMapping('orders', { tableEngine: 'MergeTree' })
    for (const [mapping, mode, isWithoutKey, expected] of [
      [orders, 'cdc', true, 'kept orders'],
      [log, 'cdc', false, 'new orders_penstock_resync alike'],
      [log, 'snapshot', false, 'kept orders'],
      [log, 'snapshot', true, 'new orders_penstock_resync alike'],
      [orders, 'snapshot', true, 'new orders_penstock_resync alike'],
    ] as const) {
      const stored = first(mapping, { phase: 'snapshot', beginLsn: '0/0' })
      assert.deepEqual(summary(plan([mapping], [stored], { mode, isWithoutKey: () => isWithoutKey })), [expected])
    }
  })

  it('keeps what is filled, and forgets what is not mapped any more', () => {
    const items = first(tableMapping('items'))
    assert.deepEqual(summary(plan([orders], [first(orders), items])), ['kept orders', 'removed items'])
  })

  it('loads a table that was changed at the source beside the one that is there, which is no longer filled', () => {
    for (const isSameType of [true, false]) {
      const findChange = (_: TableMapping, { loadId }: StoredTable) =>
        loadId === 'before' ? { isSameType } : undefined
      const present = first(orders, { loadId: 'before' })
      const planned = plan([orders], [present], { findChange })
      assert.deepEqual(summary(planned), [`new orders_penstock_resync${isSameType ? ' alike' : ''}`])
      const shadow = planned.filled[0]!.stored
      assert.deepEqual(summary(plan([orders], [present, shadow], { findChange })), ['kept orders_penstock_resync'])
      // Changed again before the swap.
      assert.deepEqual(summary(plan([orders], [present, { ...shadow, loadId: 'before' }], { findChange })), [
        `new orders_penstock_resync${isSameType ? ' alike' : ''}`,
        'removed orders_penstock_resync',
      ])
    }
  })

  it('loads a mapping that was replaced beside the table that is there, which is no longer filled', () => {
    const replaced = { ...orders, excludedColumns: ['note'] }
    const [shadow] = plan([replaced], [first(orders)]).filled
    assert.deepEqual(summary(plan([replaced], [first(orders)])), ['new orders_penstock_resync'])
    assert.equal(shadow?.stored.replaces, 'orders')
    assert.deepEqual(summary(plan([replaced], [first(orders), shadow!.stored])), ['kept orders_penstock_resync'])
    const again = { ...orders, excludedColumns: ['note', 'amount'] }
    assert.deepEqual(summary(plan([again], [first(orders), shadow!.stored])), [
      'new orders_penstock_resync',
      'removed orders_penstock_resync',
    ])
  })

  it('loads another table that has got the name beside the one that is there, which is no longer filled', () => {
    const other = { sourceIdOf: () => '16999' }
    const planned = plan([orders], [first(orders)], other)
    assert.deepEqual(summary(planned), ['new orders_penstock_resync'])
    assert.deepEqual(planned.idle, [first(orders, { loadId: planned.idle[0]!.loadId })])
    const shadow = planned.filled[0]!.stored
    assert.equal(shadow.sourceId, '16999')
    assert.deepEqual(summary(plan([orders], [first(orders), shadow], other)), ['kept orders_penstock_resync'])
    assert.deepEqual(summary(plan([orders], [first(orders), shadow])), [
      'kept orders',
      'removed orders_penstock_resync',
    ])
  })

  it('assigns a table stored by an older version to its name, and stores the OID', () => {
    const { filled } = plan([orders], [first(orders, { sourceId: null })])
    assert.deepEqual(
      filled.map(({ stored, isNew, isChanged }) => [stored.sourceId, isNew, isChanged]),
      [['16384', false, true]],
    )
    assert.equal(plan([orders], [first(orders)]).filled[0]?.isChanged, false)
  })

  it('goes on with a shadow that is alone', () => {
    const shadow = first(orders, { targetTable: 'orders_penstock_resync', replaces: 'orders', phase: 'snapshot' })
    assert.deepEqual(summary(plan([orders], [shadow])), ['kept orders_penstock_resync'])
    assert.deepEqual(summary(plan([tableMapping('items')], [shadow])), ['new items', 'removed orders_penstock_resync'])
  })

  it('loads everything again once for each request, and goes on filling what is there', () => {
    const requested = { reloadRequestedAt: '2026-11-15T10:00:00.000Z' }
    const present = first(orders)
    const planned = plan([orders], [present], requested)
    assert.deepEqual(summary(planned), ['kept orders', 'new orders_penstock_resync alike'])
    const shadow = planned.filled[1]!.stored
    assert.deepEqual(summary(plan([orders], [present, shadow], requested)), [
      'kept orders',
      'kept orders_penstock_resync',
    ])
    const swapped: StoredTable = { ...shadow, targetTable: 'orders', replaces: null, phase: 'following' }
    assert.deepEqual(summary(plan([orders], [swapped], requested)), ['kept orders'])
    // A table that is not loaded yet is reloaded instead.
    const loading: StoredTable = { ...present, phase: 'snapshot' }
    assert.deepEqual(summary(plan([orders], [loading], requested)), ['new orders_penstock_resync alike'])
    const older = { ...shadow, reloadRequestedAt: '2026-11-14T10:00:00.000Z' }
    assert.deepEqual(summary(plan([orders], [present, older], requested)), [
      'kept orders',
      'new orders_penstock_resync alike',
      'removed orders_penstock_resync',
    ])
  })

  it('reloads nothing with cdc_only', () => {
    const requested = { reloadRequestedAt: '2026-11-15T10:00:00.000Z', mode: 'cdc_only' as const }
    const { filled, removed } = plan([{ ...orders, excludedColumns: ['note'] }], [first(orders)], requested)
    assert.deepEqual(summary({ filled, removed, idle: [] }), ['kept orders'])
    assert.deepEqual(summary(plan([orders], [first(orders)], requested)), ['kept orders'])
    assert.equal(filled[0]?.stored.mappingDigest, mappingDigest({ ...orders, excludedColumns: ['note'] }))
  })
})
