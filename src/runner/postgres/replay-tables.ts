// Rows that the tables of a postgres pipe refused are tried again, as they were: their versions decide what is newer. What a table
// has got anew by a later load, or what was truncated since, is left out: such a row has no trace there, and would come back.
import { type BadRows, listRefusing, openBadRows } from '../../engine/bad-rows.ts'
import type { EngineAccess } from '../../engine/check.ts'
import { type BadRow, EngineError, type EngineTable } from '../../engine/engine.ts'
import type { ReplicaTables } from '../../engine/replica-tables.ts'
import { parseLsn } from '../../sources/postgres/postgres-link.ts'
import { replayPartition } from '../recover.ts'
import { replayBadRows } from '../replay.ts'
import type { RowShape } from '../rows.ts'
import type { CommonParts } from '../worker.ts'
import { rowsOfKeptLines, versionOfKept } from './kept-lines.ts'
import { shapeOf } from './line-rows.ts'
import { rangeToken, shadowName } from './names.ts'
import type { StoredTable } from './table-store.ts'
import { versionOf } from './versions.ts'

export interface ReplayTablesParts
  extends Pick<CommonParts, 'pipe' | 'secrets' | 'store' | 'tables' | 'egress' | 'context'> {
  access: EngineAccess
  openTables(signal: AbortSignal): Promise<ReplicaTables>
}

/** May run beside the worker. Rejects as `replayBadRows` does; what only the user can mend in one table does not hold up the others. */
export async function replayTables(parts: ReplayTablesParts, { signal }: { signal: AbortSignal }): Promise<void> {
  const { pipe, tables, store, egress, access, openTables } = parts
  const { database } = pipe.destination
  const stored = await tables.listTables()
  const kept = stored.flatMap((table) => keptFor(table, stored).map((refusing) => ({ table, refusing })))
  const names = kept.map(({ refusing }) => refusing)
  const there = new Set(await listRefusing(egress, access, { database, tables: names }, { signal }))
  const left = new Set((await store.listDeliveries()).map(({ ranges }) => ranges[0]?.partition))
  const engine = await openTables(signal)
  let failure: EngineError | undefined
  try {
    for (const { table, refusing } of kept.filter((one) => there.has(one.refusing))) {
      signal.throwIfAborted()
      const badRows = await openBadRows(egress, access, { database, table: refusing }, { signal })
      try {
        const isNeeded = left.has(partitionOf(refusing)) || (await badRows.count(pipe.id)) > 0
        if (isNeeded) await replayTable(parts, { table, refusing, engine, badRows }, signal)
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
}

function partitionOf(refusing: string): string {
  return `${replayPartition}:${refusing}`
}

/** By which names it may have refused rows: also by that which it had until it took the place of another. */
function keptFor({ targetTable, replaces }: StoredTable, all: StoredTable[]): string[] {
  const before = shadowName(targetTable)
  const isTaken = all.some((other) => other.targetTable === before)
  return replaces === null && !isTaken ? [targetTable, before] : [targetTable]
}

interface TableToReplay {
  table: StoredTable
  /** By which name the rows are kept. */
  refusing: string
  engine: ReplicaTables
  badRows: BadRows
}

async function replayTable(
  parts: ReplayTablesParts,
  { table: stored, refusing, engine, badRows }: TableToReplay,
  signal: AbortSignal,
): Promise<void> {
  const shape = shapeOf(stored.columns.map(({ name, type }) => ({ name, values: { type } })))
  const { database } = parts.pipe.destination
  const table = engineTable({ database, table: stored.targetTable }, shape)
  await replayBadRows({ ...parts, openSink: (opening) => engine.openSink(table, opening) }, badRows, {
    signal,
    encode: async (rows) => rowsOfKeptLines(shape, rows),
    partition: partitionOf(refusing),
    isSuperseded: supersededIn(stored),
  })
}

/** As it is: a replay neither makes it nor changes it. */
function engineTable(place: { database: string; table: string }, { fields }: RowShape): EngineTable {
  return { ...place, columns: fields.map(({ name, type }) => ({ name, type })) }
}

function supersededIn({ beginLsn, loadId, rangeCount, truncatedVersion }: StoredTable): (row: BadRow) => boolean {
  const loaded = versionOf(beginLsn === null ? 0n : parseLsn(beginLsn), 0)
  const truncated = BigInt(truncatedVersion ?? 0)
  const oldest = truncated > loaded ? truncated : loaded
  const tokens = new Set(Array.from({ length: rangeCount ?? 0 }, (_, number) => rangeToken(loadId, number)))
  return (row) => {
    const version = versionOfKept(row)
    // What was loaded without being followed has no version: it is known by its load.
    return version === 0n ? !tokens.has(row.id.slice(0, row.id.lastIndexOf('-'))) : version < oldest
  }
}
