import { operation } from '../operation/operation.ts'
import { metricsExample, PipeMetrics } from '../progress/progress.ts'
import { PipePath } from './pipe.ts'
import { loadMetrics } from './pipe-metrics.ts'

export const getPipeMetrics = operation({
  id: 'getPipeMetrics',
  method: 'GET',
  path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes/{pipeId}/metrics',
  tag: 'data pipes',
  summary: 'Get data pipe metrics',
  description:
    'What the pipe is doing now, why it has its state, how much it has moved since it was created and by the minute of the ' +
    'last hour, how much waits in the source, and whether rows can be there twice after a failure.',
  access: 'developer',
  stability: 'beta',
  params: PipePath,
  result: PipeMetrics,
  problems: [],
  example: { summary: 'A pipe that runs', result: metricsExample },
  async run({ sql, now, settings: { retainedLogWarningBytes } }, { params }) {
    return { result: await loadMetrics(sql, params, { now, retainedLogWarningBytes }) }
  },
})
