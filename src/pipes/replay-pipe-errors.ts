import { operation } from '../operation/operation.ts'
import { requestReplay } from '../progress/metrics/store.ts'
import { metricsExample, PipeMetrics } from '../progress/progress.ts'
import { PipePath } from './pipe.ts'
import { loadMetrics } from './pipe-metrics.ts'
import { loadPipe } from './store.ts'

export const replayPipeErrors = operation({
  id: 'replayPipeErrors',
  method: 'POST',
  path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes/{pipeId}/errorReplay',
  tag: 'data pipes',
  summary: 'Replay rejected rows',
  description:
    'Inserts the stored rejected rows again. Use it after you fix the table, the columns or the field mappings. Each ' +
    'row is inserted once. Rows that are rejected again stay in the error table with the new error. The pipe handles ' +
    'the request in the background; a pipe that is not running does so after its next start. A repeated request ' +
    'before then changes nothing.',
  access: 'admin',
  activity: 'pipe_errors_replayed',
  wakes: ['runner'],
  stability: 'beta',
  params: PipePath,
  result: PipeMetrics,
  problems: [],
  example: {
    summary: 'Replay the rejected rows of a pipe',
    result: { ...metricsExample, replayRequestedAt: '2026-11-02T16:40:09.120Z' },
  },
  async run({ sql, now, record, settings: { retainedLogWarningBytes } }, { params }) {
    const { id, serviceId } = await loadPipe(sql, params)
    const isNewRequest = await requestReplay(sql, params, now)
    if (isNewRequest) record({ type: 'pipe', id, serviceId }, [{ field: 'replayRequestedAt', to: now }])
    return { result: await loadMetrics(sql, params, { now, retainedLogWarningBytes }) }
  },
})
