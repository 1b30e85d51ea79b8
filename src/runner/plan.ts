// What a runner is to do, from what it sees: which of its places end, what it may take, and which pipes are to be settled.
// Every runner comes to its own plan; that two want the same is decided by the claim, in the database.
import type { PipeToRun } from '../pipes/store.ts'
import { awaitsReplay, isCompleted, isLive } from '../progress/settled-state.ts'
import type { ListedWorker } from '../progress/workers/store.ts'

export interface ObservedWorker {
  pipeId: string
  slot: number
  slots: number
  isEnding: boolean
  hasCompleted: boolean
}

export interface PipesSeen {
  now: string
  pipes: PipeToRun[]
  workers: ListedWorker[]
}

/** What holds for every runner that sees the same. */
export interface Survey {
  byId: Map<string, PipeToRun>
  /** How many workers there are to be, over all runners. */
  total: number
  vacant: Vacancy[]
  /** Nobody works on them any more, and that is what they wait for. */
  settle: PipeToRun[]
}

interface Vacancy {
  pipe: PipeToRun
  /** Slots that nobody has. */
  free: number
}

export interface RunnerSeen<OwnPlace extends ObservedWorker> {
  /** All that live, this one among them. */
  runners: string[]
  places: OwnPlace[]
  /** Where among the vacant pipes it begins to claim, from 0 up to 1: runners that begin at the same one would all want the same. */
  claimFrom?: number
}

export interface Plan<OwnPlace> {
  /** Their pipes are not to run any more. */
  stop: OwnPlace[]
  /** Their pipes are to be shared by another number of workers. */
  rebalance: OwnPlace[]
  /** Others have less to do. */
  giveBack: OwnPlace[]
  claim: { pipe: PipeToRun; limit: number }[]
  /** Nobody works on them any more, and that is what they wait for. */
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
    const free = pipe.slots - ofPipe.filter((worker) => lives(worker) || isDone(worker)).length
    return free > 0 ? [{ pipe, free }] : []
  })
  const settle = pipes.filter((pipe) => {
    const ofPipe = workersOf.get(pipe.pipeId) ?? []
    if (isToEnd(pipe)) return !ofPipe.some(lives)
    if (ofPipe.filter(isDone).length !== pipe.slots) return false
    const held = ofPipe.map((worker) => ({ slot: worker.slot, isHeld: isHeld(worker) }))
    return !awaitsReplay(pipe, held)
  })
  const total = Math.max(0, toRun.reduce((sum, { slots }) => sum + slots, 0) - done)
  return { byId, total, vacant, settle }
}

export function planFrom<OwnPlace extends ObservedWorker>(
  { byId, total, vacant, settle }: Survey,
  { runners, places, claimFrom = 0 }: RunnerSeen<OwnPlace>,
): Plan<OwnPlace> {
  const stop: OwnPlace[] = []
  const rebalance: OwnPlace[] = []
  const working: OwnPlace[] = []
  for (const place of places) {
    const pipe = byId.get(place.pipeId)
    if (!pipe || isToEnd(pipe)) stop.push(place)
    else if (pipe.slots !== place.slots) rebalance.push(place)
    else if (!place.isEnding && !place.hasCompleted) working.push(place)
  }

  const share = Math.ceil(total / Math.max(1, runners.length))
  const giveBack = working.slice(share)

  const claim: Plan<OwnPlace>['claim'] = []
  let room = share - working.length
  const first = Math.floor(claimFrom * vacant.length)
  for (let step = 0; step < vacant.length && room > 0; step++) {
    const { pipe, free } = vacant[(first + step) % vacant.length]!
    const limit = Math.min(room, free)
    claim.push({ pipe, limit })
    room -= limit
  }
  return { stop, rebalance, giveBack, claim, settle }
}
