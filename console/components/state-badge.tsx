import { Badge } from '@mantine/core'
import type { Pipe, Service } from '../../src/client/shapes.ts'

type State = Pipe['state'] | Service['state']

/** Told by the word as well as by the color: not everybody sees the color. */
function colorOf(state: State): string {
  switch (state.toLowerCase()) {
    case 'running':
      return 'green'
    case 'failed':
    case 'internalerror':
      return 'red'
    case 'degraded':
      return 'orange'
    case 'stopped':
    case 'paused':
      return 'gray'
    default:
      return 'blue'
  }
}

export function StateBadge({ state, size = 'sm' }: { state: State; size?: 'sm' | 'md' | 'lg' }) {
  return (
    <Badge color={colorOf(state)} variant="light" size={size} className={`state-badge state-${colorOf(state)}`}>
      {state}
    </Badge>
  )
}
