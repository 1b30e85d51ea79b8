// Metrics of a pipe as the API shows them: the counters that the runner stored, and a sentence on the current activity.
import type { Sql } from '../database/sql.ts'
import { findProgress, listMinutes, listWorkers, type WorkerProgress } from '../progress/metrics/store.ts'
import type { PipeState } from '../progress/pipe-state.ts'
import { type PipeKey, type PipeMetrics, type PipeTable, shownMinutes } from '../progress/progress.ts'
import { retainedWarning } from '../progress/retained/retained-warning.ts'
import { workingStates } from '../progress/settled-state.ts'
import { listTableProgress } from '../progress/tables/store.ts'
import { tableMetrics } from '../progress/tables/table-metrics.ts'
import type { PostgresSource } from '../source-shapes/postgres-source.ts'
import { readsTables } from '../source-shapes/source-kinds.ts'
import { pipeNotFound, type StoredPipe } from './pipe.ts'
import { loadPipe } from './store.ts'

/** Shown for a pipe at rest, instead of the activity of its last worker. */
const atRest: Partial<Record<PipeState, string>> = {
  Stopped: 'Stopped.',
  Paused: 'Paused.',
  Completed: 'Completed: everything was loaded.',
  Failed: 'Nothing: it has failed, and moves nothing until it is started again.',
  InternalError: 'Nothing: it has met a defect of Penstock, and moves nothing until it is started again.',
}
const onTheWay: Partial<Record<PipeState, string>> = {
  Stopping: 'Stopping.',
  Pausing: 'Pausing.',
}
const waiting = 'Waiting for a runner to take it.'

export interface MetricsOptions {
  now: string
  /** Warns when the source retains more log than this; 0: never. */
  retainedLogWarningBytes?: number | undefined
}

export async function loadMetrics(
  sql: Sql,
  key: PipeKey,
  { now, retainedLogWarningBytes = 0 }: MetricsOptions,
): Promise<PipeMetrics> {
  const pipe = await loadPipe(sql, key)
  const { state } = pipe
  const since = new Date(Date.parse(now) - shownMinutes * 60_000).toISOString()
  const [progress, workers, throughput, tables] = [
    await findProgress(sql, key),
    (await listWorkers(sql, key, now)).map((worker) => ({ ...worker, doing: sentence(worker.doing) })),
    await listMinutes(sql, key, since),
    await loadTables(sql, pipe, now),
  ]
  // Each read has its own snapshot: the pipe may have been deleted in between.
  if (!progress) throw pipeNotFound(key.serviceId, key.pipeId)
  const { deliveredUntil, ...shown } = progress
  const doing = activityOf(state, workers)
  const freshnessSeconds = freshnessOf({ state, deliveredUntil }, now)
  const warning = retainedWarning(state, progress.retainedBytes, retainedLogWarningBytes)
  const stateReason = joinReasons(progress.stateReason, warning)
  return { state, ...shown, stateReason, doing, lag: lagOf(workers), freshnessSeconds, workers, tables, throughput }
}

/** Null when unknown, and for a completed pipe. */
export function freshnessOf(
  { state, deliveredUntil }: { state: string; deliveredUntil: string | null },
  now: string,
): number | null {
  if (state === 'Completed' || deliveredUntil === null) return null
  return Math.max(0, Math.floor((Date.parse(now) - Date.parse(deliveredUntil)) / 1_000))
}

function joinReasons(reason: string | null, warning: string | undefined): string | null {
  if (warning === undefined) return reason
  return reason === null ? warning : `${reason}; also, ${warning}`
}

async function loadTables(sql: Sql, { id, kind, state, source }: StoredPipe, now: string): Promise<PipeTable[]> {
  if (!readsTables(kind)) return []
  const tables = await listTableProgress(sql, id)
  return tableMetrics(source as PostgresSource, tables, { now, isWorkedOn: workingStates.includes(state) })
}

function activityOf(state: PipeState, workers: WorkerProgress[]): string {
  const [first, ...others] = workers
  const reported = first?.doing || undefined
  if (atRest[state] !== undefined) return atRest[state]
  if (reported === undefined) return onTheWay[state] ?? waiting
  return others.length === 0 ? reported : `Worker ${first!.slot + 1}: ${reported}`
}

function sentence(doing: string): string {
  return doing === '' || doing.endsWith('.') ? doing : `${doing}.`
}

/** Sum over the workers that report a lag. */
function lagOf(workers: WorkerProgress[]): number | null {
  const known = workers.flatMap(({ lag }) => (lag === null ? [] : [lag]))
  return known.length === 0 ? null : known.reduce((sum, lag) => sum + lag, 0)
}
