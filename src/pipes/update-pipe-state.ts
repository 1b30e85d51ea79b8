import { Type } from '../lib/schema.ts'
import { operation } from '../operation/operation.ts'
import { PipeCommand, stateAfter } from '../progress/pipe-state.ts'
import { forgetErrors } from '../progress/store.ts'
import { requestReload } from '../progress/tables/store.ts'
import { hasLiveWorkers } from '../progress/workers/store.ts'
import { readsTables } from '../source-shapes/source-kinds.ts'
import { changePipe } from './change-pipe.ts'
import { Pipe, PipePath, showPipe } from './pipe.ts'
import { pipeExample } from './pipe-example.ts'
import { loadPipeToChange } from './store.ts'

export const updatePipeState = operation({
  id: 'updatePipeState',
  method: 'PATCH',
  path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes/{pipeId}/state',
  tag: 'data pipes',
  summary: 'Start, stop or resync data pipe',
  description:
    '`start` starts a pipe that is stopped, paused, completed or failed. `stop` stops a pipe; it has no effect on a ' +
    'stopped pipe. `resync` reloads all tables of a running PostgreSQL pipe; it has no effect during a load.\n\n' +
    'The response has the state after the command. The runner changes `Stopping` to `Stopped`, and `Pausing` to ' +
    '`Paused`. A command that changes the state also changes `updatedAt` and the `ETag`. State changes by the runner ' +
    'do not.',
  access: 'admin',
  activity: 'pipe_state_changed',
  wakes: ['runner'],
  stability: 'beta',
  versioned: true,
  params: PipePath,
  body: Type.Object(
    { command: PipeCommand },
    { $id: 'PipeStatePatch', description: 'Command to a pipe.', additionalProperties: false },
  ),
  result: Pipe,
  problems: ['pipe_already_running', 'pipe_cannot_resync'],
  example: { summary: 'Stop a pipe', body: { command: 'stop' }, result: pipeExample },
  async run(context, { params, body }) {
    const { sql, now } = context
    const { id, kind, state } = await loadPipeToChange(context, params)
    const hasWorkers = await hasLiveWorkers(sql, id, now)
    const pipe = await changePipe(context, params, (pipe) => ({
      pipe: { ...pipe, state: stateAfter(pipe.kind, pipe.state, body.command, { hasWorkers }) },
    }))
    // Starting a completed load again reloads everything.
    const isReload = pipe.state === 'Resync' || (readsTables(kind) && state === 'Completed')
    if (isReload && pipe.state !== state) {
      await requestReload(sql, { organizationId: pipe.organizationId, pipeId: id, now })
    }
    if (pipe.state !== state && (pipe.state === 'Provisioning' || pipe.state === 'Resync')) await forgetErrors(sql, id)
    return { result: showPipe(pipe), version: String(pipe.version) }
  },
})
