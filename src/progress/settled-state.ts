// The state of a pipe as its workers make it. A command that came meanwhile wins: only states that the runner ends, or that
// pipes have while they run, are ever left by it.
import type { PipeState } from '../pipes/pipe-state.ts'
import type { WorkerPhase } from '../runner/worker.ts'

export type WorkerState = 'starting' | 'running' | 'modifying' | 'degraded' | 'completed'

export interface WorkerOfPipe {
  slot: number
  slots: number
  state: WorkerState
  reason: string | null
  /** What it does before it merely follows its source, or beside that. */
  phase: WorkerPhase | null
  pipeVersion: number
  /** Its lease is not over. */
  isHeld: boolean
}

export interface SettledState {
  state: PipeState
  reason: string | null
  /** Nobody works on the pipe any more. */
  isAtRest: boolean
}

const ends: Partial<Record<PipeState, PipeState>> = { Stopping: 'Stopped', Pausing: 'Paused' }

const phases: Record<WorkerPhase, PipeState> = { setup: 'Setup', snapshot: 'Snapshot', resync: 'Resync' }

/** What pipes are in while workers are to work on them. */
export const workingStates: readonly PipeState[] = [
  'Provisioning',
  'Setup',
  'Snapshot',
  'Running',
  'Modifying',
  'Resync',
  'Degraded',
]

/** Somebody works there, or is about to. */
export function isLive({ state, isHeld }: Pick<WorkerOfPipe, 'state' | 'isHeld'>): boolean {
  return isHeld && state !== 'completed'
}

/** A slot that has loaded everything is not worked on again, unless the pipe has changed since. */
export function isCompleted(worker: Pick<WorkerOfPipe, 'state' | 'pipeVersion'>, pipeVersion: number): boolean {
  return worker.state === 'completed' && worker.pipeVersion === pipeVersion
}

/** Whoever has the first slot is to try refused rows again, also when everything was loaded. */
export function awaitsReplay(
  { replayRequestedAt }: { replayRequestedAt: string | null },
  workers: Pick<WorkerOfPipe, 'slot' | 'isHeld'>[],
): boolean {
  return replayRequestedAt !== null && workers.some(({ slot, isHeld }) => slot === 0 && isHeld)
}

export interface PipeToJudge {
  state: PipeState
  version: number
  slots: number
  replayRequestedAt: string | null
  /** Records are missing that no longer can be read. */
  lossReason: string | null
  rowsWritten: number
  /** And not taken since. */
  rowsRejected: number
}

/** Of a pipe that has loaded everything, and not all of it. */
function rejectionReason({ rowsRejected, rowsWritten }: PipeToJudge): string | null {
  if (rowsRejected === 0) return null
  const rejected = rowsRejected === 1 ? '1 row or file was' : `${rowsRejected} rows or files were`
  const written = rowsWritten === 0 ? 'nothing was written' : `${rowsWritten} rows were written`
  return `${rejected} rejected, and ${written}; see the rejected rows for the reasons`
}

/** Undefined: the state stays as it is. */
export function settledState(pipe: PipeToJudge, workers: WorkerOfPipe[]): SettledState | undefined {
  const end = ends[pipe.state]
  if (end) {
    return workers.some(isLive) ? undefined : { state: end, reason: null, isAtRest: true }
  }
  if (!workingStates.includes(pipe.state)) return undefined
  const present = workers.filter(({ slots }) => slots === pipe.slots)
  const completed = present.filter((worker) => isCompleted(worker, pipe.version))
  if (completed.length === pipe.slots && !awaitsReplay(pipe, workers)) {
    return { state: 'Completed', reason: rejectionReason(pipe), isAtRest: true }
  }

  const live = workers.filter(isLive)
  const degraded = live.find(({ state }) => state === 'degraded')
  if (degraded) return { state: 'Degraded', reason: degraded.reason, isAtRest: false }
  if (live.some(({ state }) => state === 'modifying')) return { state: 'Modifying', reason: null, isAtRest: false }
  const phase = live.find(({ phase }) => phase !== null)?.phase
  if (phase) return { state: phases[phase], reason: null, isAtRest: false }
  const atWork = present.filter((worker) => completed.includes(worker) || (worker.isHeld && worker.state === 'running'))
  if (atWork.length < pipe.slots) return undefined
  return pipe.lossReason === null
    ? { state: 'Running', reason: null, isAtRest: false }
    : { state: 'Degraded', reason: pipe.lossReason, isAtRest: false }
}
