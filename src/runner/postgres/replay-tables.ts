// Replays rejected rows of a postgres pipe in the tables that rejected them; row versions decide which row is newer. Rows rejected
// before a reload must not come back: the reload has all rows, and its versions cannot be compared with older ones. Neither may rows
// that were truncated since.
import { isDeepStrictEqual } from 'node:util'
import { type BadRows, listTablesWithBadRows, openBadRows } from '../../engine/bad-rows.ts'
import type { EngineAccess } from '../../engine/check.ts'
import { type BadRow, EngineError, type EngineTable, type Sink } from '../../engine/engine.ts'
import type { ReplicaTables } from '../../engine/replica-tables.ts'
import type { RowShape } from '../../formats/encode/rows.ts'
import type { StoredTable } from '../../progress/tables/stored-table.ts'
import { parseLsn } from '../../sources/postgres/postgres-link.ts'
import { replayPartition } from '../recover.ts'
import { type Fate, replayTable, type Trial } from '../replay-batch.ts'
import type { CommonParts } from '../worker.ts'
import { findLoadOfKept, rowsOfKeptLines, versionOfKept } from './kept-lines.ts'
import { shapeOf } from './line-rows.ts'
import { versionOf } from './row-version.ts'

export interface ReplayTablesParts
  extends Pick<CommonParts, 'pipe' | 'secrets' | 'store' | 'tables' | 'egress' | 'context'> {
  access: EngineAccess
  openTables(signal: AbortSignal): Promise<ReplicaTables>
}

/**
 * May run beside the worker. Rejects as `replayBadRows` does. A user error in one table does not stop the other tables.
 * Resolves to the number of rows that are still rejected, by the day of their rejection.
 */
export async function replayTables(
  parts: ReplayTablesParts,
  { signal }: { signal: AbortSignal },
): Promise<Record<string, number>> {
  const { pipe, tables, store, egress, access, openTables } = parts
  const { database } = pipe.destination
  // Rows rejected by a shadow are stored beside the table that it replaces.
  const names = (await tables.listTables()).flatMap(({ targetTable, replaces }) =>
    replaces === null ? [targetTable] : [],
  )
  const refusing = await listTablesWithBadRows(egress, access, { database, tables: names }, { signal })
  const left = new Set((await store.listDeliveries()).map(({ ranges }) => ranges[0]?.partition))
  const engine = await openTables(signal)
  const leftByDay: Record<string, number> = {}
  let failure: EngineError | undefined
  try {
    for (const table of refusing) {
      signal.throwIfAborted()
      const badRows = await openBadRows(egress, access, { database, table }, { signal })
      try {
        const isNeeded = left.has(partitionOf(table)) || (await badRows.count(pipe.id)) > 0
        if (isNeeded) await replayOne(parts, { name: table, engine, badRows }, signal)
        for (const [day, count] of Object.entries(await badRows.countByDay(pipe.id))) {
          leftByDay[day] = (leftByDay[day] ?? 0) + count
        }
      } catch (error) {
        if (!(error instanceof EngineError && error.kind === 'user')) throw error
        failure ??= error
      } finally {
        await badRows.close()
      }
    }
  } finally {
    await engine.close()
  }
  if (failure) throw failure
  return leftByDay
}

function partitionOf(table: string): string {
  return `${replayPartition}:${table}`
}

interface TableToReplay {
  name: string
  engine: ReplicaTables
  badRows: BadRows
}

async function replayOne(
  parts: ReplayTablesParts,
  { name, engine, badRows }: TableToReplay,
  signal: AbortSignal,
): Promise<void> {
  const { database } = parts.pipe.destination
  let opened: { stored: StoredTable; shape: RowShape; sink: Sink } | undefined
  const close = async (): Promise<void> => {
    const sink = opened?.sink
    opened = undefined
    await sink?.close().catch(() => undefined)
  }
  const look = async (): Promise<Trial | undefined> => {
    const { stored, shadow } = findTable(await parts.tables.listTables(), name)
    // Until the swap is recorded, the table of this name may be either of them.
    if (!stored || shadow?.phase === 'swapping') return undefined
    if (opened && isSameTable(opened.stored, stored)) {
      const { sink, shape } = opened
      return { sink, encode: async (rows) => rowsOfKeptLines(shape, rows), fateOf: fatesIn(stored, shadow) }
    }
    await close()
    const shape = shapeOf(stored.columns.map(({ name: column, type }) => ({ name: column, values: { type } })))
    opened = { stored, shape, sink: await engine.openSink(engineTable({ database, table: name }, shape), signal) }
    // Opening may have taken long: look again.
    return await look()
  }
  try {
    await replayTable(parts, badRows, { signal, partition: partitionOf(name), look })
  } finally {
    await close()
  }
}

function findTable(all: StoredTable[], name: string): Partial<Record<'stored' | 'shadow', StoredTable>> {
  const stored = all.find(({ targetTable, replaces }) => targetTable === name && replaces === null)
  const shadow = all.find(({ replaces }) => replaces === name)
  return { ...(stored ? { stored } : {}), ...(shadow ? { shadow } : {}) }
}

function isSameTable(one: StoredTable, other: StoredTable): boolean {
  return one.loadId === other.loadId && isDeepStrictEqual(one.columns, other.columns)
}

/** Without a definition: a replay neither creates nor changes the table. */
function engineTable(table: { database: string; table: string }, { fields }: RowShape): EngineTable {
  return { ...table, columns: fields.map(({ name, type }) => ({ name, type })) }
}

function fatesIn(
  { beginLsn, loadId, truncatedVersion }: StoredTable,
  shadow: StoredTable | undefined,
): (row: BadRow) => Fate {
  const loaded = versionOf(beginLsn === null ? 0n : parseLsn(beginLsn), 0)
  const truncated = BigInt(truncatedVersion ?? 0)
  const oldest = truncated > loaded ? truncated : loaded
  return (row) => {
    const loadOfRow = findLoadOfKept(row)
    // Rows of the shadow are tried after the swap. Without a load id, the table of a row is unknown.
    if (loadOfRow === undefined || loadOfRow === shadow?.loadId) return 'left'
    return loadOfRow === loadId && versionOfKept(row) >= oldest ? 'tried' : 'void'
  }
}
