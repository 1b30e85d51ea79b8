// Plan of a runner: which of its workers end, which it may claim, and which pipes are to be settled. Every runner makes its own
// plan; conflicts between runners are resolved by claims in the database.
import type { PipeToRun } from '../pipes/store.ts'
import { awaitsReplay, isCompleted, isLive } from '../progress/settled-state.ts'
import type { ListedWorker } from '../progress/workers/store.ts'

export interface ObservedWorker {
  pipeId: string
  workerIndex: number
  workerCount: number
  isEnding: boolean
  hasCompleted: boolean
}

export interface PipesSeen {
  now: string
  pipes: PipeToRun[]
  workers: ListedWorker[]
}

/** State of all pipes; the same for every runner that reads the same rows. */
export interface Survey {
  byId: Map<string, PipeToRun>
  /** Number of workers that should run, over all runners. */
  total: number
  vacant: Vacancy[]
  /** Pipes that wait for the end of their workers, which has come. */
  settle: PipeToRun[]
}

interface Vacancy {
  pipe: PipeToRun
  /** Number of workers that nobody runs. */
  free: number
}

export interface RunnerSeen<Held extends ObservedWorker> {
  /** All live runners, including this one. */
  runners: string[]
  held: Held[]
  /** From 0 up to 1: where in the list of vacant pipes claiming starts, so that runners do not compete for the same pipe. */
  claimFrom?: number
}

export interface Plan<OwnPlace> {
  /** Workers of pipes that should not run any more. */
  stop: OwnPlace[]
  /** Workers of pipes whose worker count has changed. */
  rebalance: OwnPlace[]
  /** Workers above the quota of this runner. */
  giveBack: OwnPlace[]
  claim: { pipe: PipeToRun; limit: number }[]
  /** Pipes that wait for the end of their workers, which has come. */
  settle: PipeToRun[]
}

const isToEnd = ({ state }: PipeToRun): boolean => state === 'Stopping' || state === 'Pausing'

export function makePlan<OwnPlace extends ObservedWorker>(seen: PipesSeen & RunnerSeen<OwnPlace>): Plan<OwnPlace> {
  return planFrom(survey(seen), seen)
}

export function survey({ now, pipes, workers }: PipesSeen): Survey {
  const byId = new Map(pipes.map((pipe) => [pipe.pipeId, pipe]))
  const workersOf = Map.groupBy(workers, ({ pipeId }) => pipeId)
  const isHeld = ({ expiresAt }: ListedWorker): boolean => expiresAt > now
  const lives = (worker: ListedWorker): boolean => isLive({ state: worker.state, isHeld: isHeld(worker) })
  const isDone = (worker: ListedWorker): boolean => isCompleted(worker, byId.get(worker.pipeId)?.version ?? 0)

  const toRun = pipes.filter((pipe) => !isToEnd(pipe))
  const done = workers.filter(isDone).length
  const vacant = toRun.flatMap((pipe) => {
    const ofPipe = workersOf.get(pipe.pipeId) ?? []
    const free = pipe.workerCount - ofPipe.filter((worker) => lives(worker) || isDone(worker)).length
    return free > 0 ? [{ pipe, free }] : []
  })
  const settle = pipes.filter((pipe) => {
    const ofPipe = workersOf.get(pipe.pipeId) ?? []
    if (isToEnd(pipe)) return !ofPipe.some(lives)
    if (ofPipe.filter(isDone).length !== pipe.workerCount) return false
    const held = ofPipe.map((worker) => ({ workerIndex: worker.workerIndex, isHeld: isHeld(worker) }))
    return !awaitsReplay(pipe, held)
  })
  const total = Math.max(0, toRun.reduce((sum, { workerCount }) => sum + workerCount, 0) - done)
  return { byId, total, vacant, settle }
}

export function planFrom<OwnPlace extends ObservedWorker>(
  { byId, total, vacant, settle }: Survey,
  { runners, held, claimFrom = 0 }: RunnerSeen<OwnPlace>,
): Plan<OwnPlace> {
  const stop: OwnPlace[] = []
  const rebalance: OwnPlace[] = []
  const working: OwnPlace[] = []
  for (const worker of held) {
    const pipe = byId.get(worker.pipeId)
    if (!pipe || isToEnd(pipe)) stop.push(worker)
    else if (pipe.workerCount !== worker.workerCount) rebalance.push(worker)
    else if (!worker.isEnding && !worker.hasCompleted) working.push(worker)
  }

  const quota = Math.ceil(total / Math.max(1, runners.length))
  const giveBack = working.slice(quota)

  const claim: Plan<OwnPlace>['claim'] = []
  let room = quota - working.length
  const first = Math.floor(claimFrom * vacant.length)
  for (let step = 0; step < vacant.length && room > 0; step++) {
    const { pipe, free } = vacant[(first + step) % vacant.length]!
    const limit = Math.min(room, free)
    claim.push({ pipe, limit })
    room -= limit
  }
  return { stop, rebalance, giveBack, claim, settle }
}
