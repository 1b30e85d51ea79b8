// Replay of rejected rows of a postgres pipe: it never brings back deleted or truncated rows.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { TestEngine } from '../../../test/fakes/engine-front.ts'
import { openEmbeddedEngine } from '../../../test/harness/embedded-engine.ts'
import { MemoryStore } from '../../../test/runner-world/memory-store.ts'
import { MemoryTables } from '../../../test/runner-world/memory-tables.ts'
import { makeRunnerWorld } from '../../../test/runner-world/runner-world.ts'
import { openBadRows } from '../../engine/bad-rows.ts'
import { type BadRow, EngineError, type Sink } from '../../engine/engine.ts'
import type { ReplicaTables } from '../../engine/replica-tables.ts'
import { openSink } from '../../engine/sink.ts'
import { Egress } from '../../lib/egress.ts'
import { Secret } from '../../lib/secret.ts'
import type { StoredTable } from '../../progress/tables/stored-table.ts'
import { shadowName } from './names.ts'
import { replayTables } from './replay-tables.ts'
import { versionOf } from './row-version.ts'
import type { TableStore } from './table-store.ts'

const egress = new Egress({ allowLoopback: true, allowPlaintext: true, deniedAddresses: [] })
const { signal } = new AbortController()
const { parts: common } = makeRunnerWorld({
  kind: 'kafka',
  options: {},
  makeSource: () => assert.fail('a replay reads no source'),
})
const lease = { pipeId: common.pipe.id, workerIndex: 0, epoch: 1 }

function tableOf(targetTable: string, change: Partial<StoredTable> = {}): StoredTable {
  return {
    targetTable,
    sourceSchemaName: 'public',
    sourceTable: targetTable,
    sourceId: '16384',
    coverage: null,
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
    shape: null,
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

function shadowOf(replaces: string, change: Partial<StoredTable> = {}): StoredTable {
  return tableOf(shadowName(replaces), { replaces, phase: 'snapshot', loadId: 'next', beginLsn: '0/1F4', ...change })
}

interface Means {
  store?: MemoryStore
  /** Runs when rows are first tried out. */
  onTryOut?(tables: TableStore): Promise<void>
  /** Inserts arrive but their response is lost. */
  isInsertLost?: boolean
}

let kept = 0
/** A rejected line, with the fields that the table had then. */
function rejected(id: number, version: bigint, { loadId = 'load' }: { loadId?: string | null } = {}): BadRow {
  const fields = ['note', 'id', '_penstock_version', '_penstock_deleted']
  return {
    id: `penstock-token-${kept++}`,
    partition: 'public.orders',
    position: `change ${id}`,
    raw: Buffer.from(`row ${id}\t${id}\t${version}\t0`),
    meta: JSON.stringify(loadId === null ? { fields } : { fields, loadId }),
    reason: 'out of range',
    at: new Date(Date.UTC(2026, 10, 15, 12, 0, kept)).toISOString(),
  }
}

describe('rejected rows of a postgres pipe', () => {
  let engine: TestEngine
  before(async () => {
    engine = await openEmbeddedEngine()
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
    return openSink(egress, accessOf(), { database: engine.database, table, columns, definition }, lease, { signal })
  }

  /** Creates the table and stores the rejected rows beside it. */
  async function keep(table: string, rows: BadRow[]): Promise<void> {
    const sink = await sinkTo(table)
    await sink.keepBadRows(rows, signal)
    await sink.close()
  }

  async function replay(stored: StoredTable[], means: Means = {}): Promise<void> {
    const memory = new MemoryTables()
    for (const table of stored) memory.tables.set(table.targetTable, table)
    const tables = memory.of({ epoch: 1 })
    let { onTryOut } = means
    const watched = (sink: Sink): Sink => ({
      ...sink,
      async tryOut(...tried) {
        const change = onTryOut
        onTryOut = undefined
        const outcome = await sink.tryOut(...tried)
        await change?.(tables)
        return outcome
      },
      async insert(...sent) {
        const outcome = await sink.insert(...sent)
        if (means.isInsertLost) throw new EngineError('passing', 'the engine is away')
        return outcome
      },
    })
    const openTables = async () =>
      ({
        openSink: async (table, opening) =>
          watched(await openSink(egress, accessOf(), table, lease, { signal: opening })),
        close: async () => undefined,
      }) as Pick<ReplicaTables, 'openSink' | 'close'> as ReplicaTables
    const store = (means.store ?? new MemoryStore()).of({ workerIndex: 0, workerCount: 1, epoch: 1 })
    const destination = { database: engine.database, columns: [] }
    const pipe = { ...common.pipe, kind: 'postgres' as const, destination }
    const parts = { ...common, pipe, egress, store, tables, access: accessOf(), openTables }
    await replayTables(parts, { signal })
    assert.deepEqual(await store.listDeliveries(), [])
  }

  const idsIn = async (table: string) => (await engine.rows(table)).map(({ id }) => Number(id))

  async function countKept(table: string): Promise<number> {
    const badRows = await openBadRows(egress, accessOf(), { database: engine.database, table })
    try {
      return await badRows.count(common.pipe.id)
    } finally {
      await badRows.close()
    }
  }

  it('go to their tables, with their versions, in the order of the fields of now', async () => {
    await keep('orders', [rejected(1, versionOf(200n, 1)), rejected(2, versionOf(201n, 7))])
    await keep('items', [rejected(3, versionOf(202n, 1))])
    await keep('others', [rejected(9, versionOf(202n, 1))])
    await replay([tableOf('orders'), tableOf('items'), tableOf('untouched')])
    assert.deepEqual([await idsIn('orders'), await idsIn('items'), await idsIn('others')], [[1, 2], [3], []])
    const [row] = await engine.rows('items')
    assert.deepEqual([row?.note, String(row?._penstock_version)], ['row 3', String(versionOf(202n, 1))])
    assert.deepEqual([await countKept('orders'), await countKept('items'), await countKept('others')], [0, 0, 1])
    await replay([tableOf('orders'), tableOf('items')])
    assert.deepEqual([await idsIn('orders'), await idsIn('items')], [[1, 2], [3]])
  })

  it('of a shadow wait until it has replaced its table', async () => {
    await keep('swapped', [rejected(1, versionOf(500n, 0), { loadId: 'next' }), rejected(2, versionOf(600n, 1))])
    const shadow = shadowOf('swapped')
    await replay([tableOf('swapped'), shadow])
    assert.deepEqual([await idsIn('swapped'), await countKept('swapped')], [[2], 1])
    await replay([shadow])
    assert.deepEqual([await idsIn('swapped'), await countKept('swapped')], [[2], 1], 'also when there is no other')
    await replay([{ ...shadow, targetTable: 'swapped', replaces: null, phase: 'following' }])
    assert.deepEqual([await idsIn('swapped'), await countKept('swapped')], [[1, 2], 0])
  })

  it('stay as they are during a swap', async () => {
    await keep('swapping', [rejected(1, versionOf(500n, 0), { loadId: 'next' }), rejected(2, versionOf(600n, 1))])
    await replay([tableOf('swapping'), shadowOf('swapping', { phase: 'swapping' })])
    assert.deepEqual([await idsIn('swapping'), await countKept('swapping')], [[], 2])
  })

  it('of an earlier load are not brought back, however large the versions of its server were', async () => {
    await keep('moved', [rejected(1, versionOf(5000n, 1), { loadId: 'before' }), rejected(2, versionOf(101n, 1))])
    await replay([tableOf('moved')])
    assert.deepEqual([await idsIn('moved'), await countKept('moved')], [[2], 0])
  })

  it('without a known load stay as they are', async () => {
    await keep('unknown', [rejected(1, versionOf(500n, 1), { loadId: null })])
    await replay([tableOf('unknown')])
    assert.deepEqual([await idsIn('unknown'), await countKept('unknown')], [[], 1])
  })

  it('are not brought back when the table becomes another one while they are tried out', async () => {
    await keep('changed', [rejected(1, versionOf(600n, 1)), rejected(2, versionOf(500n, 0), { loadId: 'next' })])
    const onTryOut = (tables: TableStore) => tables.finishSwap(shadowName('changed'))
    await replay([tableOf('changed'), shadowOf('changed')], { onTryOut })
    assert.deepEqual([await idsIn('changed'), await countKept('changed')], [[2], 0])
  })

  it('are not brought back when they are truncated while they are tried out', async () => {
    await keep('emptied', [rejected(1, versionOf(299n, 1)), rejected(2, versionOf(301n, 1))])
    const onTryOut = (tables: TableStore) =>
      tables.saveTable(tableOf('emptied', { truncatedVersion: String(versionOf(300n, 1)) }))
    await replay([tableOf('emptied')], { onTryOut })
    assert.deepEqual([await idsIn('emptied'), await countKept('emptied')], [[2], 0])
  })

  it('are ignored when the table is no longer filled', async () => {
    await keep('unmapped', [rejected(1, versionOf(200n, 1))])
    await replay([tableOf('unmapped')], { onTryOut: (tables) => tables.removeTable('unmapped') })
    assert.deepEqual([await idsIn('unmapped'), await countKept('unmapped')], [[], 1])
  })

  it('that may be inserted already are inserted once, also when some of them are void', async () => {
    await keep('again', [rejected(1, versionOf(299n, 1)), rejected(2, versionOf(301n, 1))])
    const store = new MemoryStore()
    await assert.rejects(replay([tableOf('again')], { store, isInsertLost: true }), /away/)
    assert.deepEqual([await idsIn('again'), store.deliveries.size], [[1, 2], 1])
    await replay([tableOf('again', { truncatedVersion: String(versionOf(300n, 1)) })], { store })
    assert.deepEqual([await idsIn('again'), await countKept('again')], [[1, 2], 0])
  })

  it('that were in flight to a table that was replaced since are not sent again', async () => {
    await keep('replaced', [rejected(1, versionOf(200n, 1))])
    const store = new MemoryStore()
    await assert.rejects(replay([tableOf('replaced')], { store, isInsertLost: true }), /away/)
    await engine.run('DROP TABLE replaced')
    await keep('replaced', [])
    await replay([tableOf('replaced', { loadId: 'next' })], { store })
    assert.deepEqual([await idsIn('replaced'), await countKept('replaced')], [[], 0])
  })

  it('are not brought back when a later load, or a truncate, has made them void', async () => {
    const truncatedVersion = String(versionOf(300n, 5))
    await keep('loaded', [
      rejected(1, versionOf(99n, 3)),
      rejected(2, versionOf(100n, 0)),
      rejected(3, versionOf(101n, 1)),
    ])
    await keep('truncated', [
      rejected(1, versionOf(299n, 9)),
      rejected(2, versionOf(300n, 4)),
      rejected(3, versionOf(300n, 6)),
    ])
    await replay([tableOf('loaded'), tableOf('truncated', { truncatedVersion })])
    assert.deepEqual([await idsIn('loaded'), await idsIn('truncated')], [[2, 3], [3]])
    assert.deepEqual([await countKept('loaded'), await countKept('truncated')], [0, 0])
  })

  it('of a pipe that only loads are those of its last load', async () => {
    const ofLoad = (id: number, loadId: string) => rejected(id, 0n, { loadId })
    await keep('once', [ofLoad(1, 'before'), ofLoad(2, 'load'), ofLoad(3, 'load'), ofLoad(4, 'next')])
    await replay([tableOf('once', { beginLsn: '0/0' }), shadowOf('once', { beginLsn: '0/0' })])
    assert.deepEqual([await idsIn('once'), await countKept('once')], [[2, 3], 1])
  })

  it('of a dropped table do not block those of another, and are reported', async () => {
    await keep('a_gone', [rejected(1, versionOf(200n, 1))])
    await keep('b_there', [rejected(2, versionOf(200n, 1))])
    await engine.run('DROP TABLE a_gone')
    await assert.rejects(
      replay([tableOf('a_gone'), tableOf('b_there')]),
      (error) => error instanceof EngineError && error.kind === 'user' && /a_gone/.test(error.message),
    )
    assert.deepEqual(await idsIn('b_there'), [2])
    assert.equal(await countKept('a_gone'), 1)
  })
})
