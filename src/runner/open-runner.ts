// Creates the runner with the dependencies of real workers. Loaded lazily, when there is a pipe to run.
import { describeError } from '../lib/describe-error.ts'
import type { Egress } from '../lib/egress.ts'
import type { Log } from '../lib/log.ts'
import type { Vault } from '../lib/vault.ts'
import type { StoredPipe } from '../pipes/pipe.ts'
import type { Leftover, LeftoverOf } from '../progress/leftovers/store.ts'
import type { WorkerLease } from '../progress/store.ts'
import { makeEngineReports, type ReportEngine } from '../services/engine-reports.ts'
import type { LeftAtKinesis } from '../source-shapes/source-kind.ts'
import { readsTables } from '../source-shapes/source-kinds.ts'
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
  /** Logs a warning when a source retains more log for a pipe that does not run; 0 for never. */
  retainedLogWarningBytes?: number | undefined
}

export function openRunner(dependencies: RunnerDependencies): Runner {
  const { database, isAlone, log } = dependencies
  const reportEngine = makeEngineReports({
    reader: database.reader,
    write: (engineReport) => database.write('reportEngine', engineReport, engineReport.organizationId),
    log,
  })
  return new Runner({
    database,
    isAlone,
    log,
    tasks: makePeriodicTasks(dependencies),
    makeWorker: async ({ configuration, lease, workerCount, report, reportDelivery }) => {
      if (readsTables(configuration.pipe.kind)) {
        return makeReplicator(dependencies, { configuration, lease, workerCount, report, reportDelivery }, reportEngine)
      }
      const { source, ...parts } = await makeParts(dependencies, configuration, lease)
      const { workerIndex, epoch } = lease
      const reportWork = makeReportWork(configuration, reportEngine)
      const openSink = async (signal: AbortSignal) => {
        const sink = await reportWork(parts.openSink(signal))
        reportDelivery(sink.delivery)
        if (sink.isTableNew) await reportIfRecreated(dependencies, configuration.pipe, lease)
        return reportingSink(sink, reportWork)
      }
      return makeWorker({ ...parts, openSink, source, workerIndex, workerCount, epoch, log, report })
    },
    replay: async ({ configuration, lease, signal }) => {
      if (readsTables(configuration.pipe.kind)) return replayReplicated(dependencies, { configuration, lease, signal })
      const { access, ...parts } = await makeParts(dependencies, configuration, lease)
      const { database, table = '' } = configuration.pipe.destination
      const [{ openBadRows }, { replayBadRows }] = await Promise.all([
        import('../engine/bad-rows.ts'),
        import('./replay-batch.ts'),
      ])
      const badRows = await openBadRows(dependencies.egress, access, { database, table }, { signal })
      try {
        await replayBadRows(parts, badRows, { signal })
        await keepCount(dependencies, lease, await badRows.countByDay(lease.pipeId))
      } finally {
        await badRows.close()
      }
    },
  })
}

/** Reports that a table with earlier rows was recreated: the pipe continues from its position, so the earlier rows are missing. */
async function reportIfRecreated(
  { database, log }: RunnerDependencies,
  pipe: StoredPipe,
  lease: WorkerLease,
): Promise<void> {
  const { organizationId, pipeId } = lease
  const { database: of, table = '' } = pipe.destination
  const reason = `the table ${of}.${table} was no longer in the engine and was recreated: it has none of the rows that were loaded before`
  const now = new Date().toISOString()
  try {
    const isRecreated = await database.write('reportRecreatedTable', { lease, reason, now }, organizationId)
    if (isRecreated) log.warn('a table that had rows was recreated', { pipeId, reason })
  } catch (error) {
    // Best effort: loading does not wait for this report.
    log.warn('a table was created, and it is unknown whether it had rows before', {
      pipeId,
      error: describeError(error),
    })
  }
}

async function replayReplicated(
  dependencies: RunnerDependencies,
  { configuration, lease, signal }: ReplayOrder,
): Promise<void> {
  const { vault, egress, context } = dependencies
  const [{ replayTables }, ends] = await Promise.all([
    import('./postgres/replay-tables.ts'),
    makeReplicationEnds({ vault, egress, context }, configuration, lease),
  ])
  const { pipe } = configuration
  const parts = { ...ends, ...storesOf(dependencies, lease), pipe, egress, context }
  await keepCount(dependencies, lease, await replayTables(parts, { signal }))
}

/** Rows that are rejected during the replay may be counted twice until the next replay. */
async function keepCount(
  { database }: RunnerDependencies,
  lease: WorkerLease,
  countByDay: Record<string, number>,
): Promise<void> {
  await held(database.write('setRejections', { lease, countByDay }, lease.organizationId))
}

/** The modules are loaded lazily, when there is work at the source of a pipe that does not run. */
function makePeriodicTasks(dependencies: RunnerDependencies): PeriodicTask[] {
  const { database, log, retainedLogWarningBytes = 0 } = dependencies
  const load = () => import('./postgres/source-cleanup.ts')
  const loadKinesis = () => import('./kinesis-cleanup.ts')
  return [
    makeLeftoverTask({
      database,
      log,
      remove: async (leftover, signal) =>
        isOfKinesis(leftover)
          ? (await loadKinesis()).removeLeftover(dependencies, leftover, signal)
          : (await load()).removeLeftover(dependencies, leftover, signal),
      remedyFor: async (leftover) =>
        isOfKinesis(leftover) ? (await loadKinesis()).remedyFor(leftover) : (await load()).remedyFor(leftover),
    }),
    makeRetainedLogTask({
      database,
      log,
      warningBytes: retainedLogWarningBytes,
      ask: async (workerIndex, signal) => (await load()).askRetained(dependencies, workerIndex, signal),
    }),
  ]
}

function isOfKinesis(leftover: Leftover): leftover is LeftoverOf<LeftAtKinesis> {
  return leftover.source.kind === 'kinesis'
}

/** The modules are loaded lazily, when there is a postgres pipe to run. */
async function makeReplicator(
  dependencies: RunnerDependencies,
  { configuration, lease, workerCount, report, reportDelivery }: WorkerOrder,
  reportEngine: ReportEngine,
): Promise<Worker> {
  const { vault, egress, context, log } = dependencies
  const reportWork = makeReportWork(configuration, reportEngine)
  const [{ makeReplicationWorker }, { openTables, ...ends }] = await Promise.all([
    import('./postgres/postgres-worker.ts'),
    makeReplicationEnds({ vault, egress, context }, configuration, lease),
  ])
  const { workerIndex, epoch } = lease
  return makeReplicationWorker({
    ...ends,
    ...storesOf(dependencies, lease),
    async openTables(signal) {
      const tables = await reportWork(openTables(signal))
      let isReported = false
      return {
        ...tables,
        async openSink(table, opening) {
          const sink = await tables.openSink(table, opening)
          // The weakest guarantee of the tables is that of the pipe.
          if (!isReported || sink.delivery.delivery === 'at_least_once') reportDelivery(sink.delivery)
          isReported = true
          return reportingSink(sink, reportWork)
        },
      }
    },
    pipe: configuration.pipe,
    egress,
    context,
    workerIndex,
    workerCount,
    epoch,
    log,
    report,
  })
}

function storesOf({ database }: RunnerDependencies, lease: WorkerLease) {
  return { store: makeWorkerStore(database, lease), tables: makeTableStore(database, lease) }
}

async function makeParts(dependencies: RunnerDependencies, configuration: Configuration, lease: WorkerLease) {
  const { vault, egress, context } = dependencies
  const { pipeId } = lease
  const ends = await makeEnds({ vault, egress, context: { ...context, pipeId } }, configuration, lease)
  return { ...ends, ...storesOf(dependencies, lease), pipe: configuration.pipe, egress, context }
}
