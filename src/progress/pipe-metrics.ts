// The figures of a pipe as the API shows them: what its runner has written down, and in words what it is doing.
import type { Sql } from '../database/sql.ts'
import { loadPipe } from '../pipes/change-pipe.ts'
import { pipeNotFound } from '../pipes/pipe.ts'
import type { PipeState } from '../pipes/pipe-state.ts'
import type { PipeKey } from '../pipes/store.ts'
import { findProgress, listMinutes, listWorkers, type WorkerProgress } from './figures/store.ts'
import { type PipeMetrics, shownMinutes } from './progress.ts'

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

export async function loadMetrics(sql: Sql, key: PipeKey, now: string): Promise<PipeMetrics> {
  const { state } = await loadPipe(sql, key)
  const since = new Date(Date.parse(now) - shownMinutes * 60_000).toISOString()
  const [progress, workers, throughput] = [
    await findProgress(sql, key),
    (await listWorkers(sql, key, now)).map((worker) => ({ ...worker, doing: sentence(worker.doing) })),
    await listMinutes(sql, key, since),
  ]
  // Readers have snapshots of their own: it may have been deleted in between.
  if (!progress) throw pipeNotFound(key.serviceId, key.pipeId)
  return { state, ...progress, doing: whatItDoes(state, workers), lag: lagOf(workers), workers, throughput }
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
