// What a runner is to do, from what it sees: which of its places end, what it may take, and which pipes are to be settled.
// Every runner comes to its own plan; that two want the same is decided by the claim, in the database.
import type { PipeToRun } from '../pipes/store.ts'
import { awaitsReplay, isCompleted, isLive } from '../progress/settled-state.ts'
import type { ListedWorker } from '../progress/workers/store.ts'

export interface PlaceSeen {
  pipeId: string
  slot: number
  slots: number
  isEnding: boolean
  hasCompleted: boolean
}

export interface Seen<OwnPlace extends PlaceSeen> {
  now: string
  /** All that live, this one among them. */
  runners: string[]
  pipes: PipeToRun[]
  workers: ListedWorker[]
  places: OwnPlace[]
}

export interface Plan<OwnPlace> {
  /** Their pipes are not to run any more. */
  stop: OwnPlace[]
  /** Their pipes are to be shared by another number of workers. */
  layOutAnew: OwnPlace[]
  /** Others have less to do. */
  giveBack: OwnPlace[]
  claim: { pipe: PipeToRun; limit: number }[]
  /** Nobody works on them any more, and that is what they wait for. */
  settle: PipeToRun[]
}

const isToEnd = ({ state }: PipeToRun): boolean => state === 'Stopping' || state === 'Pausing'

export function makePlan<OwnPlace extends PlaceSeen>(seen: Seen<OwnPlace>): Plan<OwnPlace> {
  const { now, runners, pipes, workers, places } = seen
  const byId = new Map(pipes.map((pipe) => [pipe.pipeId, pipe]))
  const workersOf = Map.groupBy(workers, ({ pipeId }) => pipeId)
  const toRun = pipes.filter((pipe) => !isToEnd(pipe))
  const isHeld = ({ expiresAt }: ListedWorker): boolean => expiresAt > now
  const lives = (worker: ListedWorker): boolean => isLive({ state: worker.state, isHeld: isHeld(worker) })

  const stop: OwnPlace[] = []
  const layOutAnew: OwnPlace[] = []
  const working: OwnPlace[] = []
  for (const place of places) {
    const pipe = byId.get(place.pipeId)
    if (!pipe || isToEnd(pipe)) stop.push(place)
    else if (pipe.slots !== place.slots) layOutAnew.push(place)
    else if (!place.isEnding && !place.hasCompleted) working.push(place)
  }

  const isDone = (worker: ListedWorker): boolean => isCompleted(worker, byId.get(worker.pipeId)?.version ?? 0)
  const done = workers.filter(isDone).length
  const total = toRun.reduce((sum, { slots }) => sum + slots, 0) - done
  const share = Math.ceil(Math.max(0, total) / Math.max(1, runners.length))
  const giveBack = working.slice(share)

  const claim: Plan<OwnPlace>['claim'] = []
  let room = share - working.length
  for (const pipe of toRun) {
    if (room <= 0) break
    const taken = (workersOf.get(pipe.pipeId) ?? []).filter((worker) => lives(worker) || isDone(worker)).length
    const limit = Math.min(room, pipe.slots - taken)
    if (limit <= 0) continue
    claim.push({ pipe, limit })
    room -= limit
  }

  const settle = pipes.filter((pipe) => {
    const ofPipe = workersOf.get(pipe.pipeId) ?? []
    if (isToEnd(pipe)) return !ofPipe.some(lives)
    const held = ofPipe.map((worker) => ({ slot: worker.slot, isHeld: isHeld(worker) }))
    return ofPipe.filter(isDone).length === pipe.slots && !awaitsReplay(pipe, held)
  })
  return { stop, layOutAnew, giveBack, claim, settle }
}
