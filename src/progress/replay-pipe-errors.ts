import { operation } from '../operation/operation.ts'
import { loadPipe } from '../pipes/change-pipe.ts'
import { PipePath } from '../pipes/pipe.ts'
import { requestReplay } from './metrics/store.ts'
import { loadMetrics } from './pipe-metrics.ts'
import { metricsExample, PipeMetrics } from './progress.ts'

export const replayPipeErrors = operation({
  id: 'replayPipeErrors',
  method: 'POST',
  path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes/{pipeId}/errorReplay',
  tag: 'data pipes',
  summary: 'Try refused rows again',
  description:
    'Has the rows that the engine refused sent once more, those that are kept: after the table, the columns or the mappings ' +
    'were mended. The engine takes each of them once. What it refuses again stays, with the newer reason. The request is kept until ' +
    'it is done; a pipe that does not run does it when it is next started. Asking again meanwhile changes nothing.',
  access: 'admin',
  activity: 'pipe_errors_replayed',
  wakes: ['runner'],
  stability: 'beta',
  params: PipePath,
  result: PipeMetrics,
  problems: [],
  example: {
    summary: 'Try the refused rows of a pipe again',
    result: { ...metricsExample, replayRequestedAt: '2026-11-02T16:40:09.120Z' },
  },
  async run({ sql, now, record, settings: { retainedLogWarningBytes } }, { params }) {
    const { id, serviceId } = await loadPipe(sql, params)
    const isNews = await requestReplay(sql, params, now)
    if (isNews) record({ type: 'pipe', id, serviceId }, [{ field: 'replayRequestedAt', to: now }])
    return { result: await loadMetrics(sql, params, { now, retainedLogWarningBytes }) }
  },
})
