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
  summary: 'Try rejected rows again',
  description:
    'Sends the rejected rows that are kept to the engine again, after the table, the columns or the mappings were fixed. The engine ' +
    'takes each of them once. Rows that it rejects again stay, with the newer reason. The request is kept until it is done; a pipe that ' +
    'does not run does it when it is next started. Repeating the request before then changes nothing.',
  access: 'admin',
  activity: 'pipe_errors_replayed',
  wakes: ['runner'],
  stability: 'beta',
  params: PipePath,
  result: PipeMetrics,
  problems: [],
  example: {
    summary: 'Try the rejected rows of a pipe again',
    result: { ...metricsExample, replayRequestedAt: '2026-11-02T16:40:09.120Z' },
  },
  async run({ sql, now, record, settings: { retainedLogWarningBytes } }, { params }) {
    const { id, serviceId } = await loadPipe(sql, params)
    const isNewRequest = await requestReplay(sql, params, now)
    if (isNewRequest) record({ type: 'pipe', id, serviceId }, [{ field: 'replayRequestedAt', to: now }])
    return { result: await loadMetrics(sql, params, { now, retainedLogWarningBytes }) }
  },
})
