import type { Pipe, Service } from '../../src/client/shapes.ts'
import { shownPipeState } from './pipe-state.ts'
import { type BadgeColor, type ShownState, stateColor, stateLabel } from './state-label.ts'

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

export function StateBadge({ state, size }: { state: ShownState; size?: 'lg' }) {
  return (
    <WordBadge color={stateColor(state)} size={size}>
      {stateLabel(state)}
    </WordBadge>
  )
}
