// The figures of a pipe as the API shows them: what its runner has written down, and in words what it is doing.
import type { Sql } from '../database/sql.ts'
import { loadPipe } from '../pipes/change-pipe.ts'
import { pipeNotFound, type StoredPipe } from '../pipes/pipe.ts'
import type { PipeState } from '../pipes/pipe-state.ts'
import type { PostgresSource } from '../pipes/postgres-source.ts'
import type { PipeKey } from '../pipes/store.ts'
import { findProgress, listMinutes, listWorkers, type WorkerProgress } from './metrics/store.ts'
import { type PipeMetrics, type PipeTable, shownMinutes } from './progress.ts'
import { retainedWarning } from './retained/retained-warning.ts'
import { workingStates } from './settled-state.ts'
import { listTableProgress } from './tables/store.ts'
import { tableMetrics } from './tables/table-metrics.ts'

/** What is true of a pipe at rest, whatever its last worker was doing. */
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
  /** Of log that the source keeps: more is not well; 0 for never. */
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
  // Readers have snapshots of their own: it may have been deleted in between.
  if (!progress) throw pipeNotFound(key.serviceId, key.pipeId)
  const { deliveredUntil, ...shown } = progress
  const doing = whatItDoes(state, workers)
  const freshnessSeconds = freshnessOf({ state, deliveredUntil }, now)
  const warning = retainedWarning(state, progress.retainedBytes, retainedLogWarningBytes)
  const stateReason = joinReasons(progress.stateReason, warning)
  return { state, ...shown, stateReason, doing, lag: lagOf(workers), freshnessSeconds, workers, tables, throughput }
}

/** Null when it is not known, and of a pipe that follows nothing any more. */
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
  if (kind !== 'postgres') return []
  const tables = await listTableProgress(sql, id)
  return tableMetrics(source as PostgresSource, tables, { now, isWorkedOn: workingStates.includes(state) })
}

function whatItDoes(state: PipeState, workers: WorkerProgress[]): string {
  const [first, ...others] = workers
  const told = first?.doing || undefined
  if (atRest[state] !== undefined) return atRest[state]
  if (told === undefined) return onTheWay[state] ?? waiting
  return others.length === 0 ? told : `Worker ${first!.slot + 1}: ${told}`
}

function sentence(doing: string): string {
  return doing === '' || doing.endsWith('.') ? doing : `${doing}.`
}

/** Of those that know. */
function lagOf(workers: WorkerProgress[]): number | null {
  const known = workers.flatMap(({ lag }) => (lag === null ? [] : [lag]))
  return known.length === 0 ? null : known.reduce((sum, lag) => sum + lag, 0)
}
