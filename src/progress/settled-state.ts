// Derives the state of a pipe from its workers. A concurrent command wins: this changes only running states and states that the runner
// ends.

import type { PipeState } from './pipe-state.ts'

export type WorkerState = 'starting' | 'running' | 'modifying' | 'degraded' | 'completed'

export type WorkerPhase = 'setup' | 'snapshot' | 'resync'

export interface WorkerOfPipe {
  workerIndex: number
  workerCount: number
  state: WorkerState
  reason: string | null
  /** Work before or besides reading the source continuously, or null. */
  phase: WorkerPhase | null
  pipeVersion: number
  /** Its lease has not expired. */
  isHeld: boolean
}

export interface SettledState {
  state: PipeState
  reason: string | null
  /** The pipe has no workers left. */
  isAtRest: boolean
}

const ends: Partial<Record<PipeState, PipeState>> = { Stopping: 'Stopped', Pausing: 'Paused' }

const phases: Record<WorkerPhase, PipeState> = { setup: 'Setup', snapshot: 'Snapshot', resync: 'Resync' }

/** States in which a pipe should have workers. */
export const workingStates: readonly PipeState[] = [
  'Provisioning',
  'Setup',
  'Snapshot',
  'Running',
  'Modifying',
  'Resync',
  'Degraded',
]

/** The worker runs, or is about to. */
export function isLive({ state, isHeld }: Pick<WorkerOfPipe, 'state' | 'isHeld'>): boolean {
  return isHeld && state !== 'completed'
}

/** A worker that has loaded everything is not started again, unless the pipe has changed since. */
export function isCompleted(worker: Pick<WorkerOfPipe, 'state' | 'pipeVersion'>, pipeVersion: number): boolean {
  return worker.state === 'completed' && worker.pipeVersion === pipeVersion
}

/** The first worker must replay rejected rows, also when everything was loaded. */
export function awaitsReplay(
  { replayRequestedAt }: { replayRequestedAt: string | null },
  workers: Pick<WorkerOfPipe, 'workerIndex' | 'isHeld'>[],
): boolean {
  return replayRequestedAt !== null && workers.some(({ workerIndex, isHeld }) => workerIndex === 0 && isHeld)
}

export interface PipeSummary {
  state: PipeState
  version: number
  workerCount: number
  replayRequestedAt: string | null
  /** Set when records are missing that can no longer be read. */
  lossReason: string | null
  rowsWritten: number
  /** Without those that a replay has inserted since. */
  rowsRejected: number
}

/** Reason of a completed pipe that has rejected rows. */
function rejectionReason({ rowsRejected, rowsWritten }: PipeSummary): string | null {
  if (rowsRejected === 0) return null
  const rejected = rowsRejected === 1 ? '1 row or file was' : `${rowsRejected} rows or files were`
  const written = rowsWritten === 0 ? 'nothing was written' : `${rowsWritten} rows were written`
  return `${rejected} rejected, and ${written}; see the rejected rows for the reasons`
}

/** Undefined: the state stays as it is. */
export function settledState(pipe: PipeSummary, workers: WorkerOfPipe[]): SettledState | undefined {
  const end = ends[pipe.state]
  if (end) {
    return workers.some(isLive) ? undefined : { state: end, reason: null, isAtRest: true }
  }
  if (!workingStates.includes(pipe.state)) return undefined
  const present = workers.filter(({ workerCount }) => workerCount === pipe.workerCount)
  const completed = present.filter((worker) => isCompleted(worker, pipe.version))
  if (completed.length === pipe.workerCount && !awaitsReplay(pipe, workers)) {
    return { state: 'Completed', reason: rejectionReason(pipe), isAtRest: true }
  }

  const live = workers.filter(isLive)
  const degraded = live.find(({ state }) => state === 'degraded')
  if (degraded) return { state: 'Degraded', reason: degraded.reason, isAtRest: false }
  if (live.some(({ state }) => state === 'modifying')) return { state: 'Modifying', reason: null, isAtRest: false }
  const phase = live.find(({ phase }) => phase !== null)?.phase
  if (phase) return { state: phases[phase], reason: null, isAtRest: false }
  const atWork = present.filter((worker) => completed.includes(worker) || (worker.isHeld && worker.state === 'running'))
  if (atWork.length < pipe.workerCount) return undefined
  return pipe.lossReason === null
    ? { state: 'Running', reason: null, isAtRest: false }
    : { state: 'Degraded', reason: pipe.lossReason, isAtRest: false }
}
