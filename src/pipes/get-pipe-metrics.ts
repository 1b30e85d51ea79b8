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
    'Returns the state of the pipe with its reason, the current activity, lag, freshness, the delivery guarantee, ' +
    'totals since the pipe was created, and throughput by minute of the last hour.',
  access: 'developer',
  stability: 'beta',
  params: PipePath,
  result: PipeMetrics,
  problems: [],
  example: { summary: 'A running pipe', result: metricsExample },
  async run({ sql, now, settings: { retainedLogWarningBytes } }, { params }) {
    return { result: await loadMetrics(sql, params, { now, retainedLogWarningBytes }) }
  },
})
