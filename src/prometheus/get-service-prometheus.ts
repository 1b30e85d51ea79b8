import { operation } from '../http/operation.ts'
import { Type } from '../lib/schema.ts'
import { loadService, ServicePath } from '../services/service.ts'
import {
  Exposition,
  exposition,
  expositionType,
  maxListed,
  pipeCountFamily,
  pipeStateFamily,
  serviceFamilies,
} from './prometheus.ts'
import { countPipesOfService, listPipeFigures } from './store.ts'

const exampleService = '9c1d7e52-6b3f-4c8a-8e21-5f4b3a2d1c00'

export const getServicePrometheus = operation({
  id: 'getServicePrometheus',
  method: 'GET',
  path: '/v1/organizations/{organizationId}/services/{serviceId}/prometheus',
  tag: 'Prometheus',
  summary: 'Get service metrics',
  description:
    'Figures of one service for a Prometheus server: whether its engine answers, and the state of each pipe, at most the ' +
    '1000 newest.',
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
      pipeStateFamily([
        { id: '3f2c1b6e-8d4a-4f0e-9b57-2a6d1c8e4f10', name: 'orders', kind: 'kafka', state: 'Running' },
      ]),
    ]),
  },
  async run({ sql }, { params }) {
    const service = await loadService(sql, params.organizationId, params.serviceId)
    const counts = await countPipesOfService(sql, params)
    const pipes = await listPipeFigures(sql, params, maxListed)
    return { result: exposition([...serviceFamilies([service]), pipeCountFamily(counts), pipeStateFamily(pipes)]) }
  },
})
