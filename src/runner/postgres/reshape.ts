// Makes the targets of a table ready for another shape of it, as the log has it.
import { isDeepStrictEqual } from 'node:util'
import type { Relation } from '../../sources/postgres/pgoutput.ts'
import { tableName } from '../../sources/postgres/postgres-words.ts'
import { SourceChanged } from '../../sources/source.ts'
import { pause } from '../back-off.ts'
import { Unrecoverable } from '../classify-failure.ts'
import type { ReloadNeed } from './changes.ts'
import type { Replication } from './replication.ts'
import { checkChange } from './table-change.ts'
import { replicationNames } from './table-coverage.ts'
import { isCopy, isLogTable } from './table-plan.ts'
import { openTarget, type Target } from './target.ts'
import { type Targets, tableOf } from './targets.ts'

/**
 * The log has another shape of a table than its targets were made for: columns are added, or the table is loaded again, or the
 * error says what the user must do. `commitLsn` is that of the transaction.
 */
export async function reshape(
  replication: Replication,
  targets: Targets,
  { relation, before, commitLsn }: { relation: Relation; before: Relation | undefined; commitLsn: bigint },
): Promise<void> {
  const isOther = before !== undefined && !isDeepStrictEqual(before, relation)
  const concerned = targets.of(relation).filter((target) => isOther || !isAsKnown(target, relation))
  if (concerned.length === 0) return
  const { access, surroundings, tables, gate } = replication
  const described = await access.describe(surroundings, replicationNames(replication))
  for (const target of concerned) {
    const found = tableOf(described, target.mapping)
    checkChange(replication, targets.parts, target, found)
    await gate.run(async () => {
      // Also when it has them now: what came in between cannot be told apart any more.
      if (!hasKey(target, relation)) {
        await reload(replication, targets, { targets: [target], why: 'identity', commitLsn })
      }
      const opened = await openTarget(targets.parts, found, target.stored)
      const old = target.sink
      const { columns, shape } = opened.stored
      // A load may have come further meanwhile.
      const stored = { ...target.stored, columns, shape }
      Object.assign(target, opened, { stored, beginLsn: target.beginLsn })
      await tables.saveTable(target.stored)
      await old.close().catch(() => undefined)
    })
  }
}

/** The log has changes that cannot be made in a copy. Rejects, so that it is loaded again. */
export async function reload(
  replication: Replication,
  { all }: Targets,
  { targets, why, commitLsn }: Omit<ReloadNeed, 'kind'>,
): Promise<void> {
  // What is missing in one that is being replaced comes with the load that takes its place.
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
    // Once is enough.
    log.ancestors = []
  }
  const target = concerned.find(({ mapping }) => isCopy(mapping))
  if (!target) return
  const [what, { stored }] = [whatOf(target), target]
  if (source.settings.replicationMode === 'cdc_only') {
    throw new Unrecoverable(`${what}; make a pipe with the replicationMode cdc, which loads the tables`)
  }
  // Another request than that of the pipe.
  await tables.saveTable({ ...stored, reloadRequestedAt: new Date().toISOString() })
  throw new SourceChanged(`${what}; the table is loaded again`)
}

/** Whether a load has the change is known when it has begun. */
async function untilBegun({ times, stopping }: Replication, target: Target): Promise<void> {
  while (target.stored.phase === 'snapshot' && target.stored.beginLsn === null) {
    if (stopping.aborted) throw new SourceChanged(`the load of ${tableName(target.mapping)} has not begun`)
    await pause(times.lookAgainMs, stopping)
  }
}

/** Columns that are gone stay in the engine, and are filled with their defaults. */
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

/** Whether updates and deletes tell which row of the copy they mean. */
function hasKey({ keyColumns, mapping }: Target, { columns }: Relation): boolean {
  if (isLogTable(mapping)) return true
  const identity = new Set(columns.flatMap(({ isKey, name }) => (isKey ? [name] : [])))
  return keyColumns.every((name) => identity.has(name))
}
