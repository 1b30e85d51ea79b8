import { NoResult, operation } from '../operation/operation.ts'
import { keepLeftovers } from '../progress/leftovers/store.ts'
import { PipePath } from './pipe.ts'
import { deletePipeRow, loadPipeToChange } from './store.ts'

export const deletePipe = operation({
  id: 'deletePipe',
  method: 'DELETE',
  path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes/{pipeId}',
  tag: 'data pipes',
  summary: 'Delete data pipe',
  description:
    'Deletes the pipe in any state. The destination tables and their data stay. The secrets of the pipe are deleted ' +
    'with it, with two exceptions. Secrets of a PostgreSQL pipe are kept until its replication slot and publication ' +
    'are removed from the source. Secrets of a Kinesis pipe with enhanced fan-out are kept until its consumer is ' +
    'removed from the stream. Penstock tries to remove them for 7 days.',
  access: 'admin',
  activity: 'pipe_deleted',
  wakes: ['runner'],
  stability: 'beta',
  versioned: true,
  params: PipePath,
  result: NoResult,
  problems: [],
  example: { summary: 'Delete a pipe', result: null },
  async run(context, { params }) {
    const pipe = await loadPipeToChange(context, params)
    const { id, serviceId, name, kind, state } = pipe
    // Does not wait for the source: its replication slot, publication or consumer is removed later.
    await keepLeftovers(context.sql, pipe, context.now)
    await deletePipeRow(context.sql, params)
    context.record({ type: 'pipe', id, serviceId }, [{ field: 'pipe', from: { name, kind, state } }])
    return { result: null }
  },
})
