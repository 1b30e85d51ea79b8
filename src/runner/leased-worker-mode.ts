// Modes of a leased worker and the transitions between them.
import type { ConfigurationChange, Replacement } from './configuration-change.ts'

/** Reported instead of the state of the worker. */
export type ShownChange = { state: 'modifying'; reason: null } | { state: 'degraded'; reason: string }

interface AnyMode {
  /** In `working`: until the worker reports that it runs with the desired configuration. */
  shown?: ShownChange | undefined
}

/** Keeps what a change has left, which ends before the lease does. */
interface EndingMode extends AnyMode {
  change?: ConfigurationChange | undefined
  replacement?: Replacement | undefined
}

export type LeasedWorkerMode =
  /** The desired configuration is in effect, or takes effect with the worker that starts. */
  | ({ name: 'working' } & AnyMode)
  /** A replacement is being prepared. An earlier one may be ready, for a configuration that was desired before. */
  | ({ name: 'changing'; change: ConfigurationChange; replacement?: Replacement | undefined } & AnyMode)
  /** The replacement is ready; the current worker stops. */
  | ({ name: 'switching'; replacement: Replacement } & AnyMode)
  /** The last worker stops, or has stopped or failed. No change takes effect any more. */
  | ({ name: 'stopping' } & EndingMode)
  /** All input is delivered; the lease is kept. */
  | ({ name: 'completed' } & AnyMode)
  /** Nothing may be written any more. */
  | ({ name: 'lost' } & EndingMode)

export type ModeName = LeasedWorkerMode['name']

/** Modes that may follow each mode. The data of a mode may change at any time. */
const transitions: Record<ModeName, readonly ModeName[]> = {
  working: ['changing', 'stopping', 'lost'],
  changing: ['working', 'switching', 'stopping', 'lost'],
  switching: ['working', 'changing', 'stopping', 'lost'],
  stopping: ['completed', 'lost'],
  completed: [],
  lost: [],
}

/** Throws when the mode `to` may not follow the mode `from`. */
export function checkTransition(from: ModeName, to: ModeName): void {
  if (from !== to && !transitions[from].includes(to)) {
    throw new Error(`a leased worker cannot change from mode "${from}" to mode "${to}"`)
  }
}

export function isEndingMode(name: ModeName): boolean {
  return name === 'stopping' || name === 'completed' || name === 'lost'
}

export function changeOf(mode: LeasedWorkerMode): ConfigurationChange | undefined {
  return 'change' in mode ? mode.change : undefined
}

export function replacementOf(mode: LeasedWorkerMode): Replacement | undefined {
  return 'replacement' in mode ? mode.replacement : undefined
}
