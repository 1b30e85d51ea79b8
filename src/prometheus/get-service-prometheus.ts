import { Type } from '../lib/schema.ts'
import { operation } from '../operation/operation.ts'
import { ServicePath } from '../services/service.ts'
import { loadService } from '../services/store.ts'
import {
  Exposition,
  exposition,
  expositionType,
  maxListed,
  pipeCountFamily,
  pipeProgressFamilies,
  serviceFamilies,
} from './prometheus.ts'
import { countPipesOfService, listPipeProgressOfService } from './store.ts'

const exampleService = '9c1d7e52-6b3f-4c8a-8e21-5f4b3a2d1c00'
const examplePipe = '3f2c1b6e-8d4a-4f0e-9b57-2a6d1c8e4f10'

export const getServicePrometheus = operation({
  id: 'getServicePrometheus',
  method: 'GET',
  path: '/v1/organizations/{organizationId}/services/{serviceId}/prometheus',
  tag: 'Prometheus',
  summary: 'Get service metrics',
  description:
    'Returns Prometheus metrics of one service: its state, and the state and throughput of each pipe. Includes at ' +
    'most the 1000 newest pipes.',
  access: 'developer',
  textType: expositionType,
  params: Type.Object(ServicePath),
  result: Exposition,
  problems: [],
  example: {
    summary: 'A running service with one pipe',
    result: exposition([
      ...serviceFamilies([
        { id: exampleService, name: 'analytics', provider: 'aws', region: 'us-east-1', state: 'running' },
      ]),
      pipeCountFamily([{ serviceId: exampleService, state: 'Running', pipes: 1 }]),
      ...pipeProgressFamilies(
        '1b4e28ba-2fa1-41d2-883f-0016d3cca427',
        [
          {
            id: examplePipe,
            name: 'orders',
            kind: 'kafka',
            state: 'Running',
            serviceId: exampleService,
            rowsRead: 120_500,
            bytesRead: 31_330_000,
            rowsWritten: 120_000,
            bytesWritten: 12_400_000,
            rowsRefused: 2,
            inserts: 240,
            retries: 1,
            rejectedRows: 2,
            lag: 498,
            retainedBytes: null,
            lastInsertAt: '2026-11-02T16:40:07.310Z',
            deliveredUntil: '2026-11-02T16:40:06.000Z',
          },
        ],
        '2026-11-02T16:40:10.000Z',
      ),
    ]),
  },
  async run({ sql, now }, { params }) {
    const service = await loadService(sql, params.organizationId, params.serviceId)
    const counts = await countPipesOfService(sql, params)
    const progress = await listPipeProgressOfService(sql, { ...params, now, limit: maxListed })
    return {
      result: exposition([
        ...serviceFamilies([service]),
        pipeCountFamily(counts),
        ...pipeProgressFamilies(params.organizationId, progress, now),
      ]),
    }
  },
})
