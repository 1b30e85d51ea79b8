// Detects source changes that need a reload of the copy.
import { isDeepStrictEqual } from 'node:util'
import type { EngineColumn } from '../../engine/engine.ts'
import type { StoredColumn, StoredTable } from '../../progress/tables/stored-table.ts'
import { tableName } from '../../sources/postgres/postgres-names.ts'
import type { MappedTable } from '../../sources/postgres/postgres-tables.ts'
import { SourceChanged } from '../../sources/source.ts'
import type { Replication } from './replication.ts'
import { findReloadReason, isSameEngineType } from './source-shape.ts'
import { isLogTable, type TableChange } from './table-plan.ts'
import { desiredTarget, type Target, type TargetParts } from './target.ts'

/** A change that the log does not have; undefined without one, and for tables that are not reloaded. */
export function findChange(
  { source }: Replication,
  parts: TargetParts,
  described: MappedTable,
  stored: StoredTable,
  there?: EngineColumn[],
): (TableChange & { reason: string }) | undefined {
  // A log table keeps what the source had.
  if (isLogTable(described.mapping) || source.settings.replicationMode === 'cdc_only') return undefined
  const { shape } = desiredTarget(parts, described, stored)
  const reason = findReloadReason(stored, described, shape, there)
  if (reason === undefined) return undefined
  return { reason: `${reason}; the table is loaded again`, isSameType: isSameEngineType(stored, shape) }
}

/** Throws SourceChanged when the table must be reloaded; the next attempt opens its targets and reloads it. */
export function checkChange(
  replication: Replication,
  parts: TargetParts,
  { stored, mapping }: Target,
  described: MappedTable,
): void {
  if (stored.sourceId !== described.found.id) {
    throw new SourceChanged(`another table is called ${tableName(mapping)}; the table is loaded again`)
  }
  const change = findChange(replication, parts, described, stored)
  if (change) throw new SourceChanged(change.reason)
}

/** Stores the current shape, so that a rewrite that changed no value is not attributed to a later change. */
export async function keepShape(
  { gate, tables }: Replication,
  parts: TargetParts,
  target: Target,
  described: MappedTable,
): Promise<void> {
  const { shape: now } = desiredTarget(parts, described, target.stored)
  const before = target.stored.shape
  const sources = new Map(now.columns.map(({ number, source }) => [number, source]))
  await gate.run(async () => {
    const { columns, shape } = target.stored
    if (shape !== before) return
    const kept = {
      columns: columns.map((column): StoredColumn => {
        const source = sources.get(column.number)
        return source ? { ...column, source } : column
      }),
      // New columns are not filled yet.
      shape: { ...now.shape, lastColumnNumber: shape?.lastColumnNumber ?? now.shape.lastColumnNumber },
    }
    if (isDeepStrictEqual(kept, { columns, shape })) return
    target.stored = { ...target.stored, ...kept }
    await tables.saveTable(target.stored)
  })
}
