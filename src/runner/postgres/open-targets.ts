// Opens the tables that a pipe fills, as planned from its mappings and the stored tables. A load is never mixed with existing rows
// of another load.
import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { type EngineColumn, EngineError } from '../../engine/engine.ts'
import type { TableMapping } from '../../source-shapes/table-mappings.ts'
import type { Relation } from '../../sources/postgres/pgoutput.ts'
import type { DescribedSource, DescribedTable } from '../../sources/postgres/postgres-describe.ts'
import { Unrecoverable } from '../classify-failure.ts'
import { versionColumn } from './names.ts'
import type { Replication } from './replication.ts'
import { findChange } from './table-change.ts'
import { coverageOf, lossOf } from './table-coverage.ts'
import { asShadow, isCopy, planTables, type TablePlan } from './table-plan.ts'
import { openTarget, type Target, type TargetParts } from './target.ts'

const openedAtOnce = 8
/** Stored as `reloadRequestedAt` of a table that gets no more changes, so that it is reloaded before it is filled again. */
const leftOut = 'left out'

export interface Targets {
  all: Target[]
  of(relation: Relation): Target[]
  has(target: Target): boolean
  parts: TargetParts
}

export async function openTargets(replication: Replication, described: DescribedSource): Promise<Targets> {
  const { tables, source, engine, parts, signal, status, store } = replication
  // A reload would lose the history of a log table.
  const mayReload = (mapping: TableMapping): boolean => source.settings.replicationMode !== 'cdc' || isCopy(mapping)
  const { database } = parts.pipe.destination
  const { allowNullableColumns } = source.settings
  const targetParts: TargetParts = { engine, database, allowNullableColumns, signal }
  await finishSwaps(replication)
  const there = await forgetDropped(replication)
  const stored = await tables.listTables()
  const changes = new Set<string>()
  const plan = planTables({
    mappings: source.tableMappings,
    stored,
    mode: source.settings.replicationMode,
    reloadRequestedAt: await tables.findReloadRequest(),
    sourceIdOf: (mapping) => tableOf(described, mapping).found.id,
    isWithoutKey: (mapping) => tableOf(described, mapping).found.primaryKey.length === 0,
    coverageOf: (mapping) => coverageOf(tableOf(described, mapping)),
    lacksChanges: (mapping, table) =>
      mayReload(mapping) && lossOf(replication, tableOf(described, mapping), table) !== undefined,
    findChange(mapping, table) {
      const change = findChange(
        replication,
        targetParts,
        tableOf(described, mapping),
        table,
        there.get(table.targetTable),
      )
      if (change) changes.add(change.reason)
      return change
    },
    newId: randomUUID,
  })
  for (const reason of changes) parts.log.warn('a table was changed', { pipeId: parts.pipe.id, reason })
  const lacking = stored.flatMap((table) => {
    const mapping = source.tableMappings.find(
      ({ targetTable }) => targetTable === (table.replaces ?? table.targetTable),
    )
    const reason = mapping && lossOf(replication, tableOf(described, mapping), table)
    const isReplaced = plan.removed.includes(table) || plan.idle.includes(table)
    return reason === undefined || (isReplaced && !mayReload(mapping!))
      ? []
      : { reason, isReloaded: mayReload(mapping!) }
  })
  const losses = lacking.map(({ reason }) => reason)
  const lasting = lacking.filter(({ isReloaded }) => !isReloaded)
  // Before the current coverage is stored.
  if (lasting.length > 0) await store.keepLosses({ positions: [], losses: lasting.map(({ reason }) => ({ reason })) })
  for (const reason of losses) parts.log.warn('a table lacks changes', { pipeId: parts.pipe.id, reason })
  if (plan.filled.some(({ stored: { phase } }) => phase === 'snapshot')) status.phase('setup')
  for (const { targetTable, replaces } of plan.removed) {
    if (replaces !== null) await engine.drop({ database, table: targetTable }, signal)
    await tables.removeTable(targetTable)
  }
  for (const table of plan.idle) {
    // It lacks changes from now on, also if its source and mapping become the same again.
    if (table.reloadRequestedAt !== leftOut) await tables.saveTable({ ...table, reloadRequestedAt: leftOut })
  }
  const all: Target[] = []
  for (let begin = 0; begin < plan.filled.length; begin += openedAtOnce) {
    const some = plan.filled.slice(begin, begin + openedAtOnce)
    all.push(...(await Promise.all(some.map((one) => openPlanned(replication, targetParts, described, one)))))
  }
  if (losses.length > 0 && source.settings.replicationMode === 'cdc_only') throw missedChanges(losses)
  return {
    all,
    // Not by name: the table may have had another name when the change was made.
    of: ({ id }) => all.filter(({ stored }) => stored.sourceId === String(id)),
    has: (target) => all.includes(target),
    parts: targetParts,
  }
}

/** A cdc_only pipe cannot reload. The user starts the pipe again to accept the loss. */
function missedChanges([loss]: string[]): Unrecoverable {
  return new Unrecoverable(`${loss}; start the pipe to go on without these changes, or make one that loads its tables`)
}

/** Runs before any table is opened, because a shadow that was already renamed must not be created again. */
async function finishSwaps({ tables, engine, parts, signal }: Replication): Promise<void> {
  const { database } = parts.pipe.destination
  for (const { targetTable, replaces, phase } of await tables.listTables()) {
    if (phase !== 'swapping' || replaces === null) continue
    const [table, shadow] = [replaces, targetTable].map((name) => ({ database, table: name }))
    const columns = await Promise.all([table!, shadow!].map((one) => engine.listColumns(one, signal)))
    // Neither table exists, for example after a loss of the engine's data: reload.
    if (columns.every(({ length }) => length === 0)) {
      await tables.removeTable(targetTable)
      continue
    }
    await engine.swap({ table: table!, shadow: shadow! }, signal)
    await tables.finishSwap(targetTable)
  }
}

/** Forgets loaded tables that no longer exist in the engine, so that they are reloaded. Returns the columns of the others. */
async function forgetDropped({
  tables,
  engine,
  source,
  parts,
  signal,
}: Replication): Promise<Map<string, EngineColumn[]>> {
  const present = new Map<string, EngineColumn[]>()
  if (source.settings.replicationMode === 'cdc_only') return present
  const { database } = parts.pipe.destination
  const loaded = (await tables.listTables()).filter(
    ({ phase, beginLsn, rangeCount }) => phase === 'following' || beginLsn !== null || rangeCount !== null,
  )
  for (let begin = 0; begin < loaded.length; begin += openedAtOnce) {
    const some = loaded.slice(begin, begin + openedAtOnce)
    const columns = await Promise.all(
      some.map(({ targetTable }) => engine.listColumns({ database, table: targetTable }, signal)),
    )
    for (const [index, { targetTable }] of some.entries()) {
      if (columns[index]!.length > 0) {
        present.set(targetTable, columns[index]!)
        continue
      }
      parts.log.warn('a table was gone from the engine; it is reloaded', { pipeId: parts.pipe.id })
      await tables.removeTable(targetTable)
    }
  }
  return present
}

async function openPlanned(
  replication: Replication,
  parts: TargetParts,
  described: DescribedSource,
  { mapping, stored: planned, isNew, isChanged, like }: TablePlan['filled'][number],
): Promise<Target> {
  const { tables, engine, signal } = replication
  const { database } = parts
  if (isNew) await checkRivals(replication, database, mapping.targetTable)
  const isFirstLoad = isNew && planned.phase === 'snapshot' && planned.replaces === null
  const isTaken = isFirstLoad && (await isOfEarlierLoad(parts, planned.targetTable))
  // Existing rows stay until this load can replace them.
  const stored = isTaken ? asShadow(planned) : planned
  if (isNew && stored.replaces !== null) {
    const shadow = { database, table: stored.targetTable }
    await engine.drop(shadow, signal)
    if (like) await engine.createLike(shadow, { database, table: stored.replaces }, signal)
  }
  const target = await openTarget(parts, tableOf(described, mapping), stored)
  if (isChanged || !isDeepStrictEqual(target.stored, stored)) await tables.saveTable(target.stored)
  return target
}

/** Two pipes must not fill one table. */
async function checkRivals({ tables }: Replication, database: string, table: string): Promise<void> {
  const rival = (await tables.listRivals(table)).find((other) => other.database === database)
  if (!rival) return
  throw new EngineError(
    'user',
    `the pipe ${JSON.stringify(rival.name)} fills the table ${JSON.stringify(table)} already; choose another targetTable`,
  )
}

/** Whether the table has rows that a pipe has replicated before. Rejects when it has others. */
async function isOfEarlierLoad({ engine, database, signal }: TargetParts, table: string): Promise<boolean> {
  const ref = { database, table }
  const columns = await engine.listColumns(ref, signal)
  if (columns.length === 0 || !(await engine.hasRows(ref, signal))) return false
  if (columns.some(({ name }) => name === versionColumn)) return true
  throw new EngineError(
    'user',
    `the engine has a table ${JSON.stringify(table)} already, with rows that are not of a postgres pipe; ` +
      'rename or drop it, or choose another targetTable',
  )
}

export function tableOf({ tables }: DescribedSource, mapping: TableMapping): DescribedTable {
  const table = tables.find((one) => one.mapping === mapping)
  if (!table) throw new Error('a mapped table was not described')
  return table
}
