import type { Service } from '../../src/client/shapes.ts'
import type { ShownPipeState } from './pipe-state.ts'

export type ShownState = ShownPipeState | Service['state']
export type BadgeColor = 'green' | 'red' | 'orange' | 'gray' | 'blue'

/** For services and pipes: the API writes service states in lower case and pipe states capitalized. */
export function stateColor(state: ShownState): BadgeColor {
  switch (state.toLowerCase()) {
    case 'running':
      return 'green'
    case 'failed':
    case 'internalerror':
      return 'red'
    case 'degraded':
    case 'waiting':
      return 'orange'
    case 'stopped':
    case 'paused':
      return 'gray'
    default:
      return 'blue'
  }
}

/** Label of a state: `running` and `Running` are "Running". */
export function stateLabel(state: ShownState): string {
  if (state === 'InternalError') return 'Internal error'
  if (state === 'Resync') return 'Resyncing'
  return state.charAt(0).toUpperCase() + state.slice(1)
}
