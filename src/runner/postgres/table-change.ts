// Whether the source of a copy has changed in a way that only another load can follow.
import { isDeepStrictEqual } from 'node:util'
import type { EngineColumn } from '../../engine/engine.ts'
import type { MappedTable } from '../../sources/postgres/postgres-tables.ts'
import { tableName } from '../../sources/postgres/postgres-words.ts'
import { SourceChanged } from '../../sources/source.ts'
import type { Replication } from './replication.ts'
import { findReloadReason, isSameEngineType } from './source-shape.ts'
import { isLogTable, type TableChange } from './table-plan.ts'
import type { StoredColumn, StoredTable } from './table-store.ts'
import { type Target, type TargetParts, wantedTarget } from './target.ts'

/** What has changed at the source that the log does not have. Where nothing is loaded, nothing can be loaded again. */
export function findChange(
  { source }: Replication,
  parts: TargetParts,
  described: MappedTable,
  stored: StoredTable,
  there?: EngineColumn[],
): (TableChange & { reason: string }) | undefined {
  // What a log table has is what the source had.
  if (isLogTable(described.mapping) || source.settings.replicationMode === 'cdc_only') return undefined
  const { shape } = wantedTarget(parts, described, stored)
  const reason = findReloadReason(stored, described, shape, there)
  if (reason === undefined) return undefined
  return { reason: `${reason}; the table is loaded again`, isSameType: isSameEngineType(stored, shape) }
}

/** Throws SourceChanged when the table must be loaded again, which whoever opens the targets does. */
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

/** A rewrite that changed no value is not to be taken for part of a later change. */
export async function keepShape(
  { gate, tables }: Replication,
  parts: TargetParts,
  target: Target,
  described: MappedTable,
): Promise<void> {
  const { shape: now } = wantedTarget(parts, described, target.stored)
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
      // Columns that are new are not filled yet.
      shape: { ...now.shape, lastColumnNumber: shape?.lastColumnNumber ?? now.shape.lastColumnNumber },
    }
    if (isDeepStrictEqual(kept, { columns, shape })) return
    target.stored = { ...target.stored, ...kept }
    await tables.saveTable(target.stored)
  })
}
