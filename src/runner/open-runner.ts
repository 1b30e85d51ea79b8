// The runner with everything that real workers need. Loaded when there is a pipe to run: an idle Penstock does without.
import { describeError } from '../lib/describe-error.ts'
import type { Egress } from '../lib/egress.ts'
import type { Log } from '../lib/log.ts'
import type { Vault } from '../lib/vault.ts'
import type { StoredPipe } from '../pipes/pipe.ts'
import type { LeftAtKinesis, Leftover, LeftoverOf } from '../progress/leftovers/store.ts'
import type { WorkerLease } from '../progress/store.ts'
import { makeEngineReports, type ReportEngine } from '../services/engine-reports.ts'
import type { SourceContext } from '../sources/source.ts'
import type { Configuration } from './configuration.ts'
import type { WorkerOrder } from './leased-worker.ts'
import { makeLeftoverTask } from './leftovers.ts'
import { makeEnds, makeReplicationEnds } from './make-ends.ts'
import { makeWorker } from './move.ts'
import type { PeriodicTask } from './periodic-task.ts'
import { makeTableStore } from './postgres/make-table-store.ts'
import type { ReplayOrder } from './replay-queue.ts'
import { makeReportWork, reportingSink } from './reporting-sink.ts'
import { makeRetainedLogTask } from './retained-log.ts'
import { Runner } from './runner.ts'
import type { Worker } from './worker.ts'
import { held, makeWorkerStore, type RunnerDatabase } from './worker-store.ts'

export interface RunnerDependencies {
  database: RunnerDatabase
  vault: Vault
  egress: Egress
  context: Omit<SourceContext, 'organizationId'>
  isAlone: boolean
  log: Log
  /** Of log that a source keeps for a pipe: of more the log tells; 0 for never. */
  retainedLogWarningBytes?: number | undefined
}

export function openRunner(surroundings: RunnerDependencies): Runner {
  const { database, isAlone, log } = surroundings
  const report = makeEngineReports({
    reader: database.reader,
    write: (told) => database.write('reportEngine', told, told.organizationId),
    log,
  })
  return new Runner({
    database,
    isAlone,
    log,
    chores: makePeriodicTasks(surroundings),
    makeWorker: async ({ configuration, place, slots, tell, tellDelivery }) => {
      if (configuration.pipe.kind === 'postgres') {
        return makeReplicator(surroundings, { configuration, place, slots, tell, tellDelivery }, report)
      }
      const { source, ...parts } = await makeParts(surroundings, configuration, place)
      const { slot, epoch } = place
      const reportWork = makeReportWork(configuration, report)
      const openSink = async (signal: AbortSignal) => {
        const sink = await reportWork(parts.openSink(signal))
        tellDelivery(sink.delivery)
        if (sink.isTableNew) await tellIfRemade(surroundings, configuration.pipe, place)
        return reportingSink(sink, reportWork)
      }
      return makeWorker({ ...parts, openSink, source, slot, slots, epoch, log, tell })
    },
    replay: async ({ configuration, place, signal }) => {
      if (configuration.pipe.kind === 'postgres')
        return replayReplicated(surroundings, { configuration, place, signal })
      const { access, ...parts } = await makeParts(surroundings, configuration, place)
      const { database, table = '' } = configuration.pipe.destination
      const [{ openBadRows }, { replayBadRows }] = await Promise.all([
        import('../engine/bad-rows.ts'),
        import('./replay-batch.ts'),
      ])
      const badRows = await openBadRows(surroundings.egress, access, { database, table }, { signal })
      try {
        await replayBadRows(parts, badRows, { signal })
        await keepCount(surroundings, place, await badRows.countByDay(place.pipeId))
      } finally {
        await badRows.close()
      }
    },
  })
}

/** Nobody's rows may be gone without a word: the pipe goes on where it was, and the table has none of what came before. */
async function tellIfRemade(
  { database, log }: RunnerDependencies,
  pipe: StoredPipe,
  place: WorkerLease,
): Promise<void> {
  const { organizationId, pipeId } = place
  const { database: of, table = '' } = pipe.destination
  const reason = `the table ${of}.${table} was no longer in the engine, and was made again: it has none of the rows that were loaded before`
  const now = new Date().toISOString()
  try {
    const isRemade = await database.write('tellRemadeTable', { place, reason, now }, organizationId)
    if (isRemade) log.warn('a table was made again that had rows before', { pipeId, reason })
  } catch (error) {
    // The table is ready all the same, and no rows wait for what could not be told.
    log.warn('a table was made, and whether it had rows before is not known', { pipeId, error: describeError(error) })
  }
}

async function replayReplicated(
  surroundings: RunnerDependencies,
  { configuration, place, signal }: ReplayOrder,
): Promise<void> {
  const { vault, egress, context } = surroundings
  const [{ replayTables }, ends] = await Promise.all([
    import('./postgres/replay-tables.ts'),
    makeReplicationEnds({ vault, egress, context }, configuration, place),
  ])
  const { pipe } = configuration
  const parts = { ...ends, ...storesOf(surroundings, place), pipe, egress, context }
  await keepCount(surroundings, place, await replayTables(parts, { signal }))
}

/** What is rejected meanwhile may be counted twice, until the next replay. */
async function keepCount(
  { database }: RunnerDependencies,
  place: WorkerLease,
  countByDay: Record<string, number>,
): Promise<void> {
  await held(database.write('setRejections', { place, countByDay }, place.organizationId))
}

/** Loaded when there is something to do at the source of a pipe that does not run. */
function makePeriodicTasks(surroundings: RunnerDependencies): PeriodicTask[] {
  const { database, log, retainedLogWarningBytes = 0 } = surroundings
  const load = () => import('./postgres/source-cleanup.ts')
  const loadKinesis = () => import('./kinesis-cleanup.ts')
  return [
    makeLeftoverTask({
      database,
      log,
      remove: async (leftover, signal) =>
        isOfKinesis(leftover)
          ? (await loadKinesis()).removeLeftover(surroundings, leftover, signal)
          : (await load()).removeLeftover(surroundings, leftover, signal),
      remedyFor: async (leftover) =>
        isOfKinesis(leftover) ? (await loadKinesis()).remedyFor(leftover) : (await load()).remedyFor(leftover),
    }),
    makeRetainedLogTask({
      database,
      log,
      warningBytes: retainedLogWarningBytes,
      ask: async (slot, signal) => (await load()).askRetained(surroundings, slot, signal),
    }),
  ]
}

function isOfKinesis(leftover: Leftover): leftover is LeftoverOf<LeftAtKinesis> {
  return leftover.source.kind === 'kinesis'
}

/** Loaded when there is a postgres pipe to run. */
async function makeReplicator(
  surroundings: RunnerDependencies,
  { configuration, place, slots, tell, tellDelivery }: WorkerOrder,
  report: ReportEngine,
): Promise<Worker> {
  const { vault, egress, context, log } = surroundings
  const reportWork = makeReportWork(configuration, report)
  const [{ makeReplicationWorker }, { openTables, ...ends }] = await Promise.all([
    import('./postgres/postgres-worker.ts'),
    makeReplicationEnds({ vault, egress, context }, configuration, place),
  ])
  const { slot, epoch } = place
  return makeReplicationWorker({
    ...ends,
    ...storesOf(surroundings, place),
    async openTables(signal) {
      const tables = await reportWork(openTables(signal))
      let isTold = false
      return {
        ...tables,
        async openSink(table, opening) {
          const sink = await tables.openSink(table, opening)
          // Of several tables, the one that promises less is what the pipe promises.
          if (!isTold || sink.delivery.delivery === 'at_least_once') tellDelivery(sink.delivery)
          isTold = true
          return reportingSink(sink, reportWork)
        },
      }
    },
    pipe: configuration.pipe,
    egress,
    context,
    slot,
    slots,
    epoch,
    log,
    tell,
  })
}

function storesOf({ database }: RunnerDependencies, place: WorkerLease) {
  return { store: makeWorkerStore(database, place), tables: makeTableStore(database, place) }
}

async function makeParts(surroundings: RunnerDependencies, configuration: Configuration, place: WorkerLease) {
  const { vault, egress, context } = surroundings
  const { pipeId } = place
  const ends = await makeEnds({ vault, egress, context: { ...context, pipeId } }, configuration, place)
  return { ...ends, ...storesOf(surroundings, place), pipe: configuration.pipe, egress, context }
}
