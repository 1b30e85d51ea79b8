// Rows that the tables of a postgres pipe refused are tried again, from several tables, and never bring back what is gone.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type PaperEngine, startPaperEngine } from '../../../test/paper-engine.ts'
import { MemoryStore } from '../../../test/runner-world/memory-store.ts'
import { MemoryTables } from '../../../test/runner-world/memory-tables.ts'
import { makeRunnerWorld } from '../../../test/runner-world.ts'
import { openBadRows } from '../../engine/bad-rows.ts'
import { type BadRow, EngineError } from '../../engine/engine.ts'
import type { ReplicaTables } from '../../engine/replica-tables.ts'
import { openSink } from '../../engine/sink.ts'
import { Egress } from '../../lib/egress.ts'
import { Secret } from '../../lib/secret.ts'
import { rangeToken } from './names.ts'
import { replayTables } from './replay-tables.ts'
import type { StoredTable } from './table-store.ts'
import { versionOf } from './versions.ts'

const egress = new Egress({ allowLoopback: true, deniedPlaces: [] })
const { signal } = new AbortController()
const { parts: common } = makeRunnerWorld({
  kind: 'kafka',
  options: {},
  makeSource: () => assert.fail('a replay reads no source'),
})
const pipe = { ...common.pipe, kind: 'postgres' as const, destination: { database: 'default', columns: [] } }
const place = { pipeId: pipe.id, slot: 0, epoch: 1 }

function tableOf(targetTable: string, change: Partial<StoredTable> = {}): StoredTable {
  return {
    targetTable,
    sourceSchemaName: 'public',
    sourceTable: targetTable,
    replaces: null,
    mappingDigest: 'digest',
    loadId: 'load',
    reloadRequestedAt: null,
    beginLsn: '0/64',
    phase: 'following',
    columns: [
      { name: 'id', number: 1, type: 'UInt64' },
      { name: 'note', number: 2, type: 'String' },
    ],
    truncatedVersion: null,
    rowsEstimated: null,
    rowsLoaded: 0,
    rangeCount: 2,
    rangesDone: 2,
    loadStartedAt: null,
    loadEndedAt: null,
    ...change,
  }
}

let kept = 0
/** A line that was refused, with the fields that the table had then. */
function refused(id: number, version: bigint, more: Partial<BadRow> = {}): BadRow {
  return {
    id: `penstock-token-${kept++}`,
    partition: 'public.orders',
    position: `change ${id}`,
    raw: Buffer.from(`row ${id}\t${id}\t${version}\t0`),
    meta: JSON.stringify({ fields: ['note', 'id', '_penstock_version', '_penstock_deleted'] }),
    reason: 'it did not fit',
    at: new Date(Date.UTC(2026, 10, 15, 12, 0, kept)).toISOString(),
    ...more,
  }
}

describe('refused rows of a postgres pipe', () => {
  let engine: PaperEngine
  before(async () => {
    engine = await startPaperEngine()
  })
  after(() => engine.close())

  const accessOf = () => {
    const { protocol, host, port, username, password } = engine
    return { protocol, host, port, username, password: new Secret(password) }
  }
  const sinkTo = (table: string) => {
    const types = { id: 'UInt64', note: 'String', _penstock_version: 'UInt64', _penstock_deleted: 'UInt8' }
    const columns = Object.entries(types).map(([name, type]) => ({ name, type }))
    const definition = { engine: { type: 'MergeTree' as const }, sortingKey: ['id'] }
    return openSink(egress, accessOf(), { database: 'default', table, columns, definition }, place, { signal })
  }

  /** Makes the table and keeps the rows beside it. */
  async function keep(table: string, rows: BadRow[]): Promise<void> {
    const sink = await sinkTo(table)
    await sink.keepBadRows(rows, signal)
    await sink.close()
  }

  async function replay(stored: StoredTable[]): Promise<void> {
    const tables = new MemoryTables()
    for (const table of stored) tables.tables.set(table.targetTable, table)
    const openTables = async () =>
      ({
        openSink: (table, opening) => openSink(egress, accessOf(), table, place, { signal: opening }),
        close: async () => undefined,
      }) as Pick<ReplicaTables, 'openSink' | 'close'> as ReplicaTables
    const store = new MemoryStore().of({ slot: 0, slots: 1, epoch: 1 })
    const parts = { ...common, pipe, egress, store, tables: tables.of({ epoch: 1 }), access: accessOf(), openTables }
    await replayTables(parts, { signal })
    assert.deepEqual(await store.listDeliveries(), [])
  }

  const idsIn = (table: string) =>
    engine
      .rows(table)
      .map(({ id }) => Number(id))
      .toSorted((one, other) => one - other)

  async function countKept(table: string): Promise<number> {
    const badRows = await openBadRows(egress, accessOf(), { database: 'default', table })
    try {
      return await badRows.count(pipe.id)
    } finally {
      await badRows.close()
    }
  }

  it('go to their tables, with their versions, in the order of the fields of now', async () => {
    await keep('orders', [refused(1, versionOf(200n, 1)), refused(2, versionOf(201n, 7))])
    await keep('items', [refused(3, versionOf(202n, 1))])
    await keep('others', [refused(9, versionOf(202n, 1))])
    await replay([tableOf('orders'), tableOf('items'), tableOf('untouched')])
    assert.deepEqual([idsIn('orders'), idsIn('items'), idsIn('others')], [[1, 2], [3], []])
    const [row] = engine.rows('items')
    assert.deepEqual([row?.note, String(row?._penstock_version)], ['row 3', String(versionOf(202n, 1))])
    assert.deepEqual([await countKept('orders'), await countKept('items'), await countKept('others')], [0, 0, 1])
    await replay([tableOf('orders'), tableOf('items')])
    assert.deepEqual([idsIn('orders'), idsIn('items')], [[1, 2], [3]])
  })

  it('of a table that took the place of another are found by the name that it had', async () => {
    await keep('swapped', [])
    await keep('swapped_penstock_resync', [refused(1, versionOf(200n, 1))])
    const shadow = tableOf('swapped_penstock_resync', { replaces: 'swapped', phase: 'snapshot' })
    await replay([tableOf('swapped'), shadow])
    assert.deepEqual(
      [idsIn('swapped'), idsIn('swapped_penstock_resync')],
      [[], [1]],
      'as long as it has it, they go there',
    )
    await keep('swapped_penstock_resync', [refused(2, versionOf(200n, 1))])
    await replay([tableOf('swapped')])
    assert.deepEqual([idsIn('swapped'), idsIn('swapped_penstock_resync')], [[2], [1]])
  })

  it('are not brought back when a later load, or a truncate, has made them void', async () => {
    const truncatedVersion = String(versionOf(300n, 5))
    await keep('loaded', [
      refused(1, versionOf(99n, 3)),
      refused(2, versionOf(100n, 0)),
      refused(3, versionOf(101n, 1)),
    ])
    await keep('truncated', [
      refused(1, versionOf(299n, 9)),
      refused(2, versionOf(300n, 4)),
      refused(3, versionOf(300n, 6)),
    ])
    await replay([tableOf('loaded'), tableOf('truncated', { truncatedVersion })])
    assert.deepEqual([idsIn('loaded'), idsIn('truncated')], [[2, 3], [3]])
    assert.deepEqual([await countKept('loaded'), await countKept('truncated')], [0, 0])
  })

  it('of a pipe that only loads are those of its last load', async () => {
    const ofLoad = (id: number, loadId: string, number: number) =>
      refused(id, 0n, { id: `${rangeToken(loadId, number)}-${id}` })
    await keep('once', [ofLoad(1, 'before', 0), ofLoad(2, 'load', 0), ofLoad(3, 'load', 1), ofLoad(4, 'before', 1)])
    await replay([tableOf('once', { beginLsn: '0/0' })])
    assert.deepEqual(idsIn('once'), [2, 3])
    assert.equal(await countKept('once'), 0)
  })

  it('of one table that is gone do not hold up those of another, and are told', async () => {
    await keep('a_gone', [refused(1, versionOf(200n, 1))])
    await keep('b_there', [refused(2, versionOf(200n, 1))])
    engine.tables.delete('default.a_gone')
    await assert.rejects(
      replay([tableOf('a_gone'), tableOf('b_there')]),
      (error) => error instanceof EngineError && error.kind === 'user' && /a_gone/.test(error.message),
    )
    assert.deepEqual(idsIn('b_there'), [2])
    assert.equal(await countKept('a_gone'), 1)
  })
})
