// The tables that a pipe fills now: opened as the mappings and what was filled so far say, and again when the source's tables look
// otherwise. What is in the engine already, and is not this load's, is never mixed with it.
import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { EngineError } from '../../engine/engine.ts'
import type { TableMapping } from '../../pipes/table-mappings.ts'
import type { Relation } from '../../sources/postgres/pgoutput.ts'
import type { DescribedSource } from '../../sources/postgres/postgres-describe.ts'
import type { MappedTable } from '../../sources/postgres/postgres-tables.ts'
import { NotConnected, ProbeFailure } from '../../sources/source.ts'
import { pause } from '../back-off.ts'
import { versionColumn } from './names.ts'
import { slotName } from './own-slot.ts'
import type { Replication } from './replication.ts'
import { asShadow, planTables, type TablePlan } from './table-plan.ts'
import { openTarget, type Target, type TargetParts } from './target.ts'

const openedAtOnce = 8
/** Once a minute. */
const looksBetweenNames = 60

/** What is filled now. */
export interface Targets {
  all: Target[]
  of(relation: Relation): Target[]
  has(target: Target): boolean
  parts: TargetParts
}

export async function openTargets(replication: Replication, described: DescribedSource): Promise<Targets> {
  const { tables, source, engine, parts, signal, status } = replication
  await finishSwaps(replication)
  await forgetDropped(replication)
  const stored = await tables.listTables()
  const plan = planTables({
    mappings: source.tableMappings,
    stored,
    mode: source.settings.replicationMode,
    reloadRequestedAt: await tables.findReloadRequest(),
    sourceIdOf: (mapping) => tableOf(described, mapping).found.id,
    newId: randomUUID,
  })
  if (plan.filled.some(({ stored: { phase } }) => phase === 'snapshot')) status.phase('setup')
  const { database } = parts.pipe.destination
  for (const { targetTable, replaces } of plan.removed) {
    if (replaces !== null) await engine.drop({ database, table: targetTable }, signal)
    await tables.removeTable(targetTable)
  }
  const { allowNullableColumns } = source.settings
  const targetParts: TargetParts = { engine, database, allowNullableColumns, signal }
  const all: Target[] = []
  for (let begin = 0; begin < plan.filled.length; begin += openedAtOnce) {
    const some = plan.filled.slice(begin, begin + openedAtOnce)
    all.push(...(await Promise.all(some.map((one) => openPlanned(replication, targetParts, described, one)))))
  }
  return {
    all,
    of: ({ schema, table }) =>
      all.filter(({ mapping }) => mapping.sourceSchemaName === schema && mapping.sourceTable === table),
    has: (target) => all.includes(target),
    parts: targetParts,
  }
}

/** Before any table is opened: a shadow that has got its new name must not be made once more. */
async function finishSwaps({ tables, engine, parts, signal }: Replication): Promise<void> {
  const { database } = parts.pipe.destination
  for (const { targetTable, replaces, phase } of await tables.listTables()) {
    if (phase !== 'swapping' || replaces === null) continue
    const [table, shadow] = [replaces, targetTable].map((name) => ({ database, table: name }))
    const columns = await Promise.all([table!, shadow!].map((place) => engine.listColumns(place, signal)))
    // With an engine that was lost meanwhile nothing is there to take a place, nor one to be taken: that is loaded anew.
    if (columns.every(({ length }) => length === 0)) {
      await tables.removeTable(targetTable)
      continue
    }
    await engine.swap({ table: table!, shadow: shadow! }, signal)
    await tables.finishSwap(targetTable)
  }
}

/** A table that is loaded and is not in the engine any more is loaded again. */
async function forgetDropped({ tables, engine, source, parts, signal }: Replication): Promise<void> {
  if (source.settings.replicationMode === 'cdc_only') return
  const { database } = parts.pipe.destination
  const loaded = (await tables.listTables()).filter(
    ({ phase, beginLsn, rangeCount }) => phase === 'following' || beginLsn !== null || rangeCount !== null,
  )
  for (let begin = 0; begin < loaded.length; begin += openedAtOnce) {
    const some = loaded.slice(begin, begin + openedAtOnce)
    const columns = await Promise.all(
      some.map(({ targetTable }) => engine.listColumns({ database, table: targetTable }, signal)),
    )
    const dropped = some.filter((_, index) => columns[index]!.length === 0)
    for (const { targetTable } of dropped) {
      parts.log.warn('a table was gone from the engine; it is loaded anew', { pipeId: parts.pipe.id })
      await tables.removeTable(targetTable)
    }
  }
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
  // What is there already is not what this load fills: it stays until the load can take its place.
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

/** Two that fill one table would take it from each other. */
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
  const place = { database, table }
  const columns = await engine.listColumns(place, signal)
  if (columns.length === 0 || !(await engine.hasRows(place, signal))) return false
  if (columns.some(({ name }) => name === versionColumn)) return true
  throw new EngineError(
    'user',
    `the engine has a table ${JSON.stringify(table)} already, with rows that are not of a postgres pipe; ` +
      'rename or drop it, or choose another targetTable',
  )
}

export function tableOf({ tables }: DescribedSource, mapping: TableMapping): MappedTable {
  const table = tables.find((one) => one.mapping === mapping)
  if (!table) throw new Error('a mapped table was not described')
  return table
}

/** The source says that a table looks otherwise than it did: its columns are added, or it is told what the user must do. */
export async function reshape(
  replication: Replication,
  targets: Targets,
  relation: Relation,
  before: Relation | undefined,
): Promise<void> {
  const isOther = before !== undefined && !isDeepStrictEqual(typesOf(before), typesOf(relation))
  const concerned = targets.of(relation).filter((target) => isOther || !isAsKnown(target, relation))
  // Its changes would go nowhere: the source is asked, and says that the mapped table is not there, or which one it is now.
  const isRenamed = before !== undefined && targets.of(before).length > 0 && targets.of(relation).length === 0
  if (concerned.length === 0 && !isRenamed) return
  const { access, surroundings, tables, gate } = replication
  const described = await access.describe(surroundings, slotName(replication))
  // Another table has got the name: it is loaded by whoever opens the targets anew.
  if (isRenamed) throw new NotConnected()
  for (const target of concerned) {
    const found = tableOf(described, target.mapping)
    await gate.run(async () => {
      const { sink, table, columns, keyColumns, stored } = await openTarget(targets.parts, found, target.stored)
      const before = target.sink
      // A load may have come further meanwhile.
      Object.assign(target, { sink, table, columns, keyColumns, stored: { ...target.stored, columns: stored.columns } })
      await tables.saveTable(target.stored)
      await before.close().catch(() => undefined)
    })
  }
}

/** Of which nobody tells: another table may get the name of one that is followed, whose changes come no more. */
export async function watchNames(replication: Replication, targets: Targets): Promise<void> {
  const { access, surroundings, stopping, signal, times } = replication
  const ended = AbortSignal.any([stopping, signal])
  for (;;) {
    await pause(looksBetweenNames * times.lookAgainMs, ended)
    if (ended.aborted) return
    const looking = access.describe({ ...surroundings, signal: ended }, slotName(replication))
    const described = await looking.catch((error: unknown) => {
      if (error instanceof ProbeFailure && error.code === 'not_found' && !ended.aborted) throw error
      // What else hinders this look, such as a lack of connections, does not hinder those who follow.
      return undefined
    })
    if (!described) continue
    const isOther = ({ mapping, stored }: Target): boolean => stored.sourceId !== tableOf(described, mapping).found.id
    // It is loaded by whoever opens the targets anew.
    if (targets.all.some(isOther)) throw new NotConnected()
  }
}

function typesOf({ columns }: Relation): unknown[] {
  return columns.map(({ name, typeId, modifier }) => [name, typeId, modifier])
}

/** Columns that are gone stay in the engine, and are filled with their defaults. */
function isAsKnown({ columns, mapping }: Target, relation: Relation): boolean {
  const known = new Set([...columns.map(({ name }) => name), ...mapping.excludedColumns])
  return relation.columns.every(({ name }) => known.has(name))
}
