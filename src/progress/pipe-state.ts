// States of a pipe and the transitions by commands (docs/reference/pipes.md#commands). Only commands and the runner change the state. A
// command that takes time leads to a transitional state such as `Stopping`, which the runner ends.

import { Problem } from '../lib/problem.ts'
import { type Static, Type } from '../lib/schema.ts'
import type { SourceKindName } from '../source-shapes/source-kind.ts'
import { readsTables } from '../source-shapes/source-kinds.ts'

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
  { description: 'State of the pipe. Commands and the runner change it; an update cannot.' },
)
export type PipeState = Static<typeof PipeState>

export const PipeCommand = Type.Enum(['start', 'stop', 'resync'], {
  description: '`start`: starts the pipe. `stop`: stops it. `resync`: reloads all tables of a PostgreSQL pipe.',
})
export type PipeCommand = Static<typeof PipeCommand>

/** A stopped postgres pipe keeps its replication slot, and is called paused. */
const stopNames = {
  tables: { stopped: 'Paused', stopping: 'Pausing' },
  others: { stopped: 'Stopped', stopping: 'Stopping' },
} as const

/** `stopping` is a name from `stopNames`; `stoppingIfWorkers` is `stopping` while there are workers, else `stopped`. */
type Outcome = 'Provisioning' | 'Resync' | 'stopping' | 'stoppingIfWorkers' | 'unchanged' | Refusal
type Refusal = 'runs' | 'stillStopping' | 'startFirst'
type Row = Record<PipeCommand, Outcome>

/** Some workers may already move rows while others still connect. Without workers the pipe stops at once. */
const waits: Row = { start: 'runs', stop: 'stoppingIfWorkers', resync: 'unchanged' }
/** Already loads everything, so a resync changes nothing. */
const loads: Row = { start: 'runs', stop: 'stopping', resync: 'unchanged' }
const runs: Row = { start: 'runs', stop: 'stopping', resync: 'Resync' }
const stops: Row = { start: 'stillStopping', stop: 'unchanged', resync: 'startFirst' }
const rests: Row = { start: 'Provisioning', stop: 'unchanged', resync: 'startFirst' }
/** Stopping a failed pipe clears the failure. */
const failed: Row = { start: 'Provisioning', stop: 'stoppingIfWorkers', resync: 'startFirst' }

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

/** Initial state of a pipe. */
export function firstState(kind: SourceKindName, startPaused: boolean): PipeState {
  return startPaused ? namesFor(kind).stopped : 'Provisioning'
}

/** The state after a command; throws when the command is not allowed in this state. */
export function stateAfter(
  kind: SourceKindName,
  state: PipeState,
  command: PipeCommand,
  { hasWorkers } = { hasWorkers: true },
): PipeState {
  if (command === 'resync' && !readsTables(kind)) {
    throw new Problem('pipe_cannot_resync', `a ${kind} pipe cannot be resynced; only postgres pipes can`)
  }
  const names = namesFor(kind)
  const outcome = commands[state][command]
  switch (outcome) {
    case 'unchanged':
      return state
    case 'stopping':
      return names.stopping
    case 'stoppingIfWorkers':
      return hasWorkers ? names.stopping : names.stopped
    case 'runs':
      throw new Problem('pipe_already_running', 'pipe is already running')
    case 'stillStopping':
      throw new Problem('pipe_already_running', `pipe is still stopping; start it when its state is ${names.stopped}`)
    case 'startFirst':
      throw new Problem('pipe_cannot_resync', `pipe cannot be resynced while its state is ${state}; start it first`)
    default:
      return outcome
  }
}

function namesFor(kind: SourceKindName) {
  return readsTables(kind) ? stopNames.tables : stopNames.others
}
