import type { Pipe, Service } from '../../src/client/shapes.ts'
import { type ShownPipeState, shownPipeState } from './pipe-state.ts'

type State = ShownPipeState | Service['state']
export type BadgeColor = 'green' | 'red' | 'orange' | 'gray' | 'blue'

/** For services and pipes: the API writes service states in lower case and pipe states capitalized. */
function colorOf(state: State): BadgeColor {
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
export function stateLabel(state: State): string {
  if (state === 'InternalError') return 'Internal error'
  if (state === 'Resync') return 'Resyncing'
  return state.charAt(0).toUpperCase() + state.slice(1)
}

/** The text conveys the state without the color. */
export function WordBadge({ color, size, children }: { color: BadgeColor; size?: 'lg' | undefined; children: string }) {
  return <span className={`state-badge state-${color}${size === 'lg' ? ' state-large' : ''}`}>{children}</span>
}

/** Shows Waiting instead of Running while the service is down. */
export function PipeStateBadge({
  state,
  service,
  size,
}: {
  state: Pipe['state']
  service: Pick<Service, 'state'>
  size?: 'lg'
}) {
  return <StateBadge state={shownPipeState(state, service)} {...(size && { size })} />
}

export function StateBadge({ state, size }: { state: State; size?: 'lg' }) {
  return (
    <WordBadge color={colorOf(state)} size={size}>
      {stateLabel(state)}
    </WordBadge>
  )
}
