// Adapts the targets of a table to a schema change in the log.
import { isDeepStrictEqual } from 'node:util'
import type { Relation } from '../../sources/postgres/pgoutput.ts'
import { tableName } from '../../sources/postgres/postgres-names.ts'
import { SourceChanged } from '../../sources/source.ts'
import { pause } from '../back-off.ts'
import { Unrecoverable } from '../classify-failure.ts'
import type { ReloadNeed } from './changes.ts'
import { type Targets, tableOf } from './open-targets.ts'
import type { Replication } from './replication.ts'
import { checkChange } from './table-change.ts'
import { replicationNames } from './table-coverage.ts'
import { isCopy, isLogTable } from './table-plan.ts'
import { openTarget, type Target } from './target.ts'

/** Adds columns, or rejects: with SourceChanged for a reload, or with the action that the user must take. */
export async function applySchemaChange(
  replication: Replication,
  targets: Targets,
  { relation, before, commitLsn }: { relation: Relation; before: Relation | undefined; commitLsn: bigint },
): Promise<void> {
  const isOther = before !== undefined && !isDeepStrictEqual(before, relation)
  const concerned = targets.of(relation).filter((target) => isOther || !isAsKnown(target, relation))
  if (concerned.length === 0) return
  const { access, connectOptions, tables, gate } = replication
  const described = await access.describe(connectOptions, replicationNames(replication))
  for (const target of concerned) {
    const found = tableOf(described, target.mapping)
    checkChange(replication, targets.parts, target, found)
    await gate.run(async () => {
      // Also when the key is back now: the changes in between do not identify their rows.
      if (!hasKey(target, relation)) {
        await reload(replication, targets, { targets: [target], why: 'identity', commitLsn })
      }
      const opened = await openTarget(targets.parts, found, target.stored)
      const old = target.sink
      const { columns, shape } = opened.stored
      // Not all of `opened.stored`: the load may have progressed since.
      const stored = { ...target.stored, columns, shape }
      Object.assign(target, opened, { stored, beginLsn: target.beginLsn })
      await tables.saveTable(target.stored)
      await old.close().catch(() => undefined)
    })
  }
}

/** Handles changes that cannot be applied to a copy: rejects, so that it is reloaded. */
export async function reload(
  replication: Replication,
  { all }: Targets,
  { targets, why, commitLsn }: Omit<ReloadNeed, 'kind'>,
): Promise<void> {
  // A table that is being replaced gets its missing rows with the reload.
  const replaced = new Set(all.map(({ stored }) => stored.replaces))
  const { tables, source, store } = replication
  const filled = targets.filter((one) => all.includes(one) && !replaced.has(one.stored.targetTable))
  for (const one of filled) await untilBegun(replication, one)
  const concerned = filled.filter(({ beginLsn }) => commitLsn >= beginLsn)
  const whatOf = ({ mapping }: Target): string =>
    ({
      identity: `updates of ${tableName(mapping)} came without the key of the row, because its replica identity was changed`,
      ancestor: `changes of ${tableName(mapping)} came in the name of its partitioned table, which the publication had for a time`,
    })[why]
  for (const log of concerned.filter(({ mapping }) => !isCopy(mapping))) {
    await store.keepLosses({ positions: [], losses: [{ reason: whatOf(log) }] })
    // Report the loss only once.
    log.ancestors = []
  }
  const target = concerned.find(({ mapping }) => isCopy(mapping))
  if (!target) return
  const [what, { stored }] = [whatOf(target), target]
  if (source.settings.replicationMode === 'cdc_only') {
    throw new Unrecoverable(`${what}; make a pipe with the replicationMode cdc, which loads the tables`)
  }
  // Differs from the reload request of the pipe, so that this table is reloaded.
  await tables.saveTable({ ...stored, reloadRequestedAt: new Date().toISOString() })
  throw new SourceChanged(`${what}; the table is loaded again`)
}

/** Waits for `beginLsn`, which shows whether a load has the change. */
async function untilBegun({ times, stopping }: Replication, target: Target): Promise<void> {
  while (target.stored.phase === 'snapshot' && target.stored.beginLsn === null) {
    if (stopping.aborted) throw new SourceChanged(`the load of ${tableName(target.mapping)} has not begun`)
    await pause(times.lookAgainMs, stopping)
  }
}

/** Dropped columns stay in the engine and are filled with their defaults. */
function isAsKnown(target: Target, relation: Relation): boolean {
  const { columns, mapping } = target
  const known = new Map(columns.map((column) => [column.name, column]))
  const isKnown = ({ name, typeId, modifier }: Relation['columns'][number]): boolean => {
    const column = known.get(name)
    if (!column) return mapping.excludedColumns.includes(name)
    return column.typeId === typeId && column.modifier === modifier
  }
  const isSameName = mapping.sourceSchemaName === relation.schema && mapping.sourceTable === relation.table
  return isSameName && hasKey(target, relation) && relation.columns.every(isKnown)
}

/** Whether updates and deletes identify the row of the copy. */
function hasKey({ keyColumns, mapping }: Target, { columns }: Relation): boolean {
  if (isLogTable(mapping)) return true
  const identity = new Set(columns.flatMap(({ isKey, name }) => (isKey ? [name] : [])))
  return keyColumns.every((name) => identity.has(name))
}
