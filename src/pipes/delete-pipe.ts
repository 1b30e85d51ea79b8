import { NoResult, operation } from '../http/operation.ts'
import { loadPipeToChange } from './change-pipe.ts'
import { PipePath } from './pipe.ts'
import { deletePipeRow } from './store.ts'

export const deletePipe = operation({
  id: 'deletePipe',
  method: 'DELETE',
  path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes/{pipeId}',
  tag: 'data pipes',
  summary: 'Delete data pipe',
  description:
    'Deletes the pipe and its secrets, whatever it is doing. The tables that it filled stay, with all they have.',
  access: 'admin',
  activity: 'pipe_deleted',
  stability: 'beta',
  versioned: true,
  params: PipePath,
  result: NoResult,
  problems: [],
  example: { summary: 'Delete a pipe', result: null },
  async run(context, { params }) {
    const { id, serviceId, name, kind, state } = await loadPipeToChange(context, params)
    await deletePipeRow(context.sql, params)
    context.record({ type: 'pipe', id, serviceId }, [{ field: 'pipe', from: { name, kind, state } }])
    return { result: null }
  },
})
