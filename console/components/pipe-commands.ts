// Commands available in each state of a pipe. The API decides; this avoids predictable refusals. pipe-commands.test.ts compares
// it with the API.
import type { PipeStatePatch } from '../../src/client/shapes.ts'
import type { PipeKind, PipeState } from './pipe-fields.ts'

export type PipeCommand = PipeStatePatch['command']

const inactive: PipeState[] = ['Stopped', 'Paused', 'Completed']
const failed: PipeState[] = ['Failed', 'InternalError']
const stopping: PipeState[] = ['Stopping', 'Pausing']
const loading: PipeState[] = ['Provisioning', 'Setup', 'Snapshot', 'Resync']

/** Reason why a command is not available; undefined when it is. */
export function whyNot(command: PipeCommand, kind: PipeKind, state: PipeState): string | undefined {
  switch (command) {
    case 'start':
      if (stopping.includes(state)) return 'The pipe is still stopping. It can be started when it has stopped.'
      return inactive.includes(state) || failed.includes(state) ? undefined : 'The pipe is started already.'
    case 'stop':
      if (stopping.includes(state)) return 'The pipe is stopping already.'
      return inactive.includes(state) ? 'The pipe does not run.' : undefined
    case 'resync':
      if (kind !== 'postgres') return 'Only PostgreSQL pipes can be resynced.'
      if (stopping.includes(state)) return 'The pipe is stopping. Start it first when it has stopped.'
      if (inactive.includes(state) || failed.includes(state)) return 'The pipe does not run. Start it first.'
      return loading.includes(state) ? 'The pipe is about to load everything anyway.' : undefined
  }
}
