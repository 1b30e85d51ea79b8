// What a pipe is doing, and where a command leads from there (docs/contract.md, section 10). Only commands and the runner change
// a state; it always tells the truth, so a command that takes time leads to a state that says so, and the runner ends it.
import { Problem } from '../lib/problem.ts'
import { type Static, Type } from '../lib/schema.ts'

export const PipeState = Type.Enum(
  [
    'Provisioning',
    'Setup',
    'Snapshot',
    'Running',
    'Modifying',
    'Resync',
    'Stopping',
    'Stopped',
    'Pausing',
    'Paused',
    'Completed',
    'Degraded',
    'Failed',
    'InternalError',
  ],
  { description: 'What the pipe is doing now. Changed by commands and by events, not by an update.' },
)
export type PipeState = Static<typeof PipeState>

export const PipeCommand = Type.Enum(['start', 'stop', 'resync'])
export type PipeCommand = Static<typeof PipeCommand>

/** A stopped postgres pipe keeps its place in the source, and is called paused. */
const stopNames = {
  postgres: { atRest: 'Paused', onTheWay: 'Pausing' },
  others: { atRest: 'Stopped', onTheWay: 'Stopping' },
} as const

/** `onTheWay` is a name of above; `asWorkersAre` is one of the two. */
type Outcome = 'Provisioning' | 'Resync' | 'onTheWay' | 'asWorkersAre' | 'unchanged' | Refusal
type Refusal = 'runs' | 'stillStops' | 'startFirst'
type Row = Record<PipeCommand, Outcome>

/** Of several workers some may move rows while others still connect; with none there is nothing to end. */
const waits: Row = { start: 'runs', stop: 'asWorkersAre', resync: 'unchanged' }
/** Everything is being loaded, as a resync would. */
const loads: Row = { start: 'runs', stop: 'onTheWay', resync: 'unchanged' }
const runs: Row = { start: 'runs', stop: 'onTheWay', resync: 'Resync' }
const stops: Row = { start: 'stillStops', stop: 'unchanged', resync: 'startFirst' }
const rests: Row = { start: 'Provisioning', stop: 'unchanged', resync: 'startFirst' }
/** Stopping it puts the failure aside. */
const failed: Row = { start: 'Provisioning', stop: 'asWorkersAre', resync: 'startFirst' }

const commands: Record<PipeState, Row> = {
  Provisioning: waits,
  Setup: loads,
  Snapshot: loads,
  Resync: loads,
  Running: runs,
  Modifying: runs,
  Degraded: runs,
  Stopping: stops,
  Pausing: stops,
  Stopped: rests,
  Paused: rests,
  Completed: rests,
  Failed: failed,
  InternalError: failed,
}

/** The state that a new pipe begins with. */
export function firstState(kind: string, startPaused: boolean): PipeState {
  return startPaused ? namesFor(kind).atRest : 'Provisioning'
}

/** The state after a command; throws when the command cannot be obeyed. */
export function stateAfter(
  kind: string,
  state: PipeState,
  command: PipeCommand,
  { hasWorkers } = { hasWorkers: true },
): PipeState {
  if (command === 'resync' && kind !== 'postgres') {
    throw new Problem('pipe_cannot_resync', `a ${kind} pipe cannot be resynced; only postgres pipes can`)
  }
  const names = namesFor(kind)
  const outcome = commands[state][command]
  switch (outcome) {
    case 'unchanged':
      return state
    case 'onTheWay':
      return names.onTheWay
    case 'asWorkersAre':
      return hasWorkers ? names.onTheWay : names.atRest
    case 'runs':
      throw new Problem('pipe_already_running', 'pipe is already running')
    case 'stillStops':
      throw new Problem('pipe_already_running', `pipe is still stopping; start it when its state is ${names.atRest}`)
    case 'startFirst':
      throw new Problem('pipe_cannot_resync', `pipe cannot be resynced while its state is ${state}; start it first`)
    default:
      return outcome
  }
}

function namesFor(kind: string) {
  return kind === 'postgres' ? stopNames.postgres : stopNames.others
}
