// Replicates tables of PostgreSQL: sets up what it needs at the source, loads what is not loaded yet, and follows the changes, all
// at the same time. Between two attempts nothing is kept in memory that decides anything: what is in the database does.
import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { EngineError } from '../../engine/engine.ts'
import type { ReplicaTables } from '../../engine/replica-tables.ts'
import type { TableMapping } from '../../pipes/table-mappings.ts'
import type { Relation } from '../../sources/postgres/pgoutput.ts'
import type { PostgresAccess } from '../../sources/postgres/postgres-access.ts'
import type { DescribedSource } from '../../sources/postgres/postgres-describe.ts'
import { type PostgresLink, parseLsn } from '../../sources/postgres/postgres-link.ts'
import { createSlot, dropSlot, findSlotState, keepPublication } from '../../sources/postgres/postgres-setup.ts'
import type { MappedTable } from '../../sources/postgres/postgres-tables.ts'
import { createSlotStatement, tableName } from '../../sources/postgres/postgres-words.ts'
import { NotConnected } from '../../sources/source.ts'
import { pause } from '../back-off.ts'
import { noFigures } from '../figures.ts'
import { CannotGoOn } from '../judge.ts'
import { runMover, type WorkerOptions } from '../move.ts'
import type { CommonParts, Worker, WorkerStore } from '../worker.ts'
import { guardTables } from './guard-tables.ts'
import { type Load, loadTables } from './loader.ts'
import { replicationName, versionColumn, walPartition } from './names.ts'
import { makeGate, type Replication } from './replication.ts'
import { bury, LogLost, makeStream, type Stream } from './stream.ts'
import { asShadow, planTables, type TablePlan } from './table-plan.ts'
import { openTarget, type Target, type TargetParts } from './target.ts'

const openedAtOnce = 8
/** Changes wait so long at most for the moment from which a new table is loaded: until then they may be in the load as well. */
const longestWaitForLoadMs = 10_000

export interface ReplicationParts extends CommonParts {
  source: PostgresAccess
  openTables(signal: AbortSignal): Promise<ReplicaTables>
}

export function makeReplicationWorker(parts: ReplicationParts, options: WorkerOptions = {}): Worker {
  const { source: access, openTables, egress } = parts
  return runMover(parts, options, {
    lanes: 1,
    open: openTables,
    close: (engine) => engine.close(),
    async prepare(_engine, signal) {
      const slot = access.config.settings.replicationSlotName ?? replicationName(parts.pipe.id)
      await access.describe({ egress, signal }, slot)
    },
    move(session, engine) {
      const { signal } = session
      return replicate({
        ...session,
        parts,
        access,
        engine,
        tables: guardTables(parts.tables, signal),
        source: access.config,
        surroundings: { egress, signal },
        gate: makeGate(),
      })
    },
  })
}

/** Resolves when the worker was told to stop, or when everything is loaded and nothing is to be followed. */
async function replicate(replication: Replication): Promise<'stopped' | 'completed'> {
  const { status, source, stopping } = replication
  status.doing('Looking at the source')
  const described = await replication.access.describe(replication.surroundings, slotName(replication))
  if (source.settings.replicationMode === 'snapshot') {
    const targets = await openTargets(replication, described)
    await loadAll(replication, described, targets)
    return stopping.aborted ? 'stopped' : 'completed'
  }
  const link = await replication.access.open(replication.surroundings, { isReplication: false })
  try {
    return await follow(replication, described, link)
  } catch (error) {
    throw replication.access.judge(await afterLogLost(replication, error))
  } finally {
    await link.close()
  }
}

function slotName({ source, parts: { pipe } }: Replication): string {
  return source.settings.replicationSlotName ?? replicationName(pipe.id)
}

async function follow(
  replication: Replication,
  described: DescribedSource,
  link: PostgresLink,
): Promise<'stopped' | 'completed'> {
  const { access, surroundings, source, parts, stopping, store, status } = replication
  const publication = await keepPublication(link, source, described, replicationName(parts.pipe.id))
  const wal = await access.open(surroundings, { isReplication: true })
  try {
    // A slot is made when all transactions of before have ended, which can be long.
    const giveUp = (): void => void wal.close()
    stopping.addEventListener('abort', giveUp, { once: true })
    await keepSlot(replication, { link, wal }).finally(() => stopping.removeEventListener('abort', giveUp))
    const targets = await openTargets(replication, described)
    let stream: Stream | undefined
    const { loading, begun } = startLoading(replication, described, targets, () => stream?.lookAgain())
    await Promise.race([begun, loading, pause(longestWaitForLoadMs, stopping)])
    if (stopping.aborted) {
      await loading
      return 'stopped'
    }
    const [positions, deliveries] = [await store.listPositions(), await store.listDeliveries()]
    const position = positions.find(({ partition }) => partition === walPartition)?.position
    const left = deliveries.find(({ ranges }) => ranges[0]?.partition === walPartition)
    const durable = position === undefined ? 0n : parseLsn(position)
    // A server that was restored, or another one, is not where we have been.
    const [system] = await wal.query('IDENTIFY_SYSTEM')
    if (parseLsn(system?.[2] ?? '') < durable) throw new LogLost()
    status.doing('Waiting for changes')
    stream = makeStream(replication, {
      wal: await wal.startReplication({ slot: slotName(replication), publication, from: durable }),
      link,
      durable,
      left,
      nextNumber: 1 + Math.max(0, ...deliveries.map(({ number }) => number)),
      targetsOf: (relation) => targets.of(relation),
      isFilled: (target) => targets.has(target),
      isLoading: () => targets.all.some(({ stored }) => stored.phase === 'snapshot'),
      reshape: (relation, before) => reshape(replication, targets, relation, before),
    })
    await both(replication, stream.follow(), loading)
    return 'stopped'
  } finally {
    await wal.close()
  }
}

/** What fails first ends the other one too, and is what is told. */
async function both({ end }: Replication, ...works: Promise<void>[]): Promise<void> {
  let failure: { error: unknown } | undefined
  const watched = works.map((work) =>
    work.catch((error: unknown) => {
      failure ??= { error }
      end()
    }),
  )
  await Promise.all(watched)
  if (failure) throw failure.error
}

/** A slot that is gone has taken changes with it: then everything is loaded again. */
async function keepSlot(
  replication: Replication,
  { link, wal }: { link: PostgresLink; wal: PostgresLink },
): Promise<void> {
  const { source, parts, store, tables } = replication
  const slot = slotName(replication)
  const state = await findSlotState(link, slot)
  if (state === 'there') return
  if (source.settings.replicationSlotName !== undefined) {
    throw new CannotGoOn(`the replication slot ${slot} is gone, or has lost changes that it had not given out yet`)
  }
  if ((await tables.listTables()).length > 0) {
    if (source.settings.replicationMode === 'cdc_only') throw slotGone(slot)
    parts.log.warn('a replication slot was gone; its tables are loaded anew', { pipeId: parts.pipe.id })
    // Before there is another one: whoever finds that knows nothing of the gap.
    await tables.requestReload()
  }
  if (state === 'lost') await dropSlot(link, slot)
  const position = await createSlot(wal, slot, { isFailover: source.settings.enableFailoverSlots })
  await forgetPosition(store, position)
}

function slotGone(slot: string): CannotGoOn {
  return new CannotGoOn(
    `the replication slot ${slot} is gone, and with it the changes since the pipe last ran; ` +
      'make a pipe with the replicationMode cdc, which loads the tables, or go on without these changes after ' +
      createSlotStatement(slot),
  )
}

/** Changes are lost that were on their way: everything is loaded again, and goes on with what the log still has. */
async function afterLogLost(replication: Replication, error: unknown): Promise<unknown> {
  if (!(error instanceof LogLost)) return error
  const { parts, source } = replication
  if (source.settings.replicationMode === 'cdc_only') {
    return new CannotGoOn(
      `the replication slot ${slotName(replication)} does not have the changes that were on their way`,
    )
  }
  parts.log.warn('a log does not go on where it was left; its tables are loaded anew', { pipeId: parts.pipe.id })
  await parts.tables.requestReload()
  await forgetPosition(parts.store, '0/0')
  return new NotConnected()
}

/** What was on its way is in what is loaded. */
async function forgetPosition(store: WorkerStore, position: string): Promise<void> {
  const deliveries = await store.listDeliveries()
  const behind = deliveries.filter(({ ranges }) => ranges[0]?.partition === walPartition).map(({ id }) => id)
  await store.finish({ done: [], behind, positions: [{ partition: walPartition, position }], figures: noFigures })
}

/** What is filled now. */
interface Targets {
  all: Target[]
  of(relation: Relation): Target[]
  has(target: Target): boolean
  parts: TargetParts
}

async function openTargets(replication: Replication, described: DescribedSource): Promise<Targets> {
  const { tables, source, engine, parts, signal, status } = replication
  await finishSwaps(replication)
  await forgetDropped(replication)
  const stored = await tables.listTables()
  const plan = planTables({
    mappings: source.tableMappings,
    stored,
    mode: source.settings.replicationMode,
    reloadRequestedAt: await tables.findReloadRequest(),
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
    await engine.swap({ table: { database, table: replaces }, shadow: { database, table: targetTable } }, signal)
    await tables.finishSwap(targetTable)
  }
}

/** A table that is loaded and is not in the engine any more is loaded again. */
async function forgetDropped({ tables, engine, source, parts, signal }: Replication): Promise<void> {
  if (source.settings.replicationMode === 'cdc_only') return
  const { database } = parts.pipe.destination
  const loaded = (await tables.listTables()).filter(({ phase }) => phase === 'following')
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
  { mapping, stored: planned, isNew, like }: TablePlan['filled'][number],
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
  if (isNew || !isDeepStrictEqual(target.stored, stored)) await tables.saveTable(target.stored)
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

function tableOf({ tables }: DescribedSource, mapping: TableMapping): MappedTable {
  const table = tables.find((one) => one.mapping === mapping)
  if (!table) throw new Error('a mapped table was not described')
  return table
}

/** `begun` resolves when the moment is known from which on changes are not in the loads. */
function startLoading(
  replication: Replication,
  described: DescribedSource,
  targets: Targets,
  changed: () => void,
): { loading: Promise<void>; begun: Promise<void> } {
  const { promise: begun, resolve } = Promise.withResolvers<void>()
  return { loading: loadAll(replication, described, targets, { begun: resolve, changed }), begun }
}

async function loadAll(
  replication: Replication,
  described: DescribedSource,
  targets: Targets,
  { begun = () => undefined, changed = () => undefined }: { begun?: () => void; changed?: () => void } = {},
): Promise<void> {
  const { status, well } = replication
  const loads = targets.all
    .filter(({ stored }) => stored.phase === 'snapshot')
    .map((target): Load => ({ target, described: tableOf(described, target.mapping) }))
  if (loads.length > 0) {
    status.phase(loads.some(({ target }) => target.stored.replaces !== null) ? 'resync' : 'snapshot')
    await loadTables(replication, loads, {
      serverVersion: described.server.version,
      begun,
      loaded: (target) => finishLoad(replication, targets, target, changed),
    })
  }
  begun()
  if (replication.stopping.aborted) return
  status.phase(undefined)
  well()
}

async function finishLoad(
  replication: Replication,
  targets: Targets,
  target: Target,
  changed: () => void,
): Promise<void> {
  const { tables, gate } = replication
  await gate.run(async () => {
    // The stream may have seen a truncate meanwhile.
    const { truncatedVersion } = target.stored
    if (truncatedVersion !== null) await bury(replication, target, BigInt(truncatedVersion))
    const phase = target.stored.replaces === null ? 'following' : 'swapping'
    target.stored = { ...target.stored, phase, loadEndedAt: new Date().toISOString() }
    await tables.saveTable(target.stored)
  })
  if (target.stored.phase === 'swapping') await swap(replication, targets, target, changed)
}

/** Between two batches: none may be on its way to a table that is called otherwise meanwhile. */
async function swap(
  { gate, engine, tables, signal, status }: Replication,
  targets: Targets,
  target: Target,
  changed: () => void,
): Promise<void> {
  const { targetTable, replaces } = target.stored
  if (replaces === null) return
  status.doing(`Putting the new ${tableName(target.mapping)} in the place of the old`)
  await gate.run(async () => {
    const { database } = targets.parts
    const shadow = { database, table: targetTable }
    await engine.swap({ table: { database, table: replaces }, shadow }, signal)
    await tables.finishSwap(targetTable)
    const before = targets.all.findIndex(({ stored }) => stored.targetTable === replaces)
    const [old] = before < 0 ? [] : targets.all.splice(before, 1)
    target.stored = { ...target.stored, targetTable: replaces, replaces: null, phase: 'following' }
    target.table = { ...target.table, table: replaces }
    const sinks = [target.sink, old?.sink]
    target.sink = await engine.openSink(target.table, signal)
    await Promise.all(sinks.map((sink) => sink?.close().catch(() => undefined)))
    changed()
  })
}

/** The source says that a table looks otherwise than it did: its columns are added, or it is told what the user must do. */
async function reshape(
  replication: Replication,
  targets: Targets,
  relation: Relation,
  before: Relation | undefined,
): Promise<void> {
  const isOther = before !== undefined && !isDeepStrictEqual(typesOf(before), typesOf(relation))
  const concerned = targets.of(relation).filter((target) => isOther || !isAsKnown(target, relation))
  // Its changes would go nowhere: the source is asked, and says that the mapped table is not there.
  const isRenamed = before !== undefined && targets.of(before).length > 0 && targets.of(relation).length === 0
  if (concerned.length === 0 && !isRenamed) return
  const { access, surroundings, tables, gate } = replication
  const described = await access.describe(surroundings, slotName(replication))
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

function typesOf({ columns }: Relation): unknown[] {
  return columns.map(({ name, typeId, modifier }) => [name, typeId, modifier])
}

/** Columns that are gone stay in the engine, and are filled with their defaults. */
function isAsKnown({ columns, mapping }: Target, relation: Relation): boolean {
  const known = new Set([...columns.map(({ name }) => name), ...mapping.excludedColumns])
  return relation.columns.every(({ name }) => known.has(name))
}
