import { mergePatch, requireSomething } from '../lib/merge-patch.ts'
import { operation } from '../operation/operation.ts'
import { changePipe } from './change-pipe.ts'
import { Pipe, PipePath, showPipe } from './pipe.ts'
import { pipeExample } from './pipe-example.ts'
import { defaultScaling, ScalingPatch } from './scaling.ts'

export const updatePipeScaling = operation({
  id: 'updatePipeScaling',
  method: 'PATCH',
  path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes/{pipeId}/scaling',
  tag: 'data pipes',
  summary: 'Update data pipe scaling',
  description: 'Changes the fields that are sent and keeps the others; `null` resets a field to its default.',
  access: 'admin',
  activity: 'pipe_scaled',
  wakes: ['runner'],
  stability: 'beta',
  versioned: true,
  params: PipePath,
  body: ScalingPatch,
  result: Pipe,
  problems: ['nothing_to_update'],
  example: {
    summary: 'Two replicas with a gigabyte each',
    body: { replicas: 2, replicaMemoryGb: 1 },
    result: {
      ...pipeExample,
      updatedAt: '2026-11-02T16:40:09.120Z',
      scaling: { ...pipeExample.scaling, replicas: 2, replicaMemoryGb: 1 },
    },
  },
  async run(context, { params, body }) {
    const pipe = await changePipe(context, params, (pipe) => {
      requireSomething(body)
      return { pipe: { ...pipe, scaling: { ...defaultScaling, ...mergePatch(pipe.scaling, body) } } }
    })
    return { result: showPipe(pipe), version: String(pipe.version) }
  },
})
