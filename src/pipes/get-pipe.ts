import { operation } from '../operation/operation.ts'
import { Pipe, PipePath, showPipe } from './pipe.ts'
import { pipeExample } from './pipe-example.ts'
import { loadPipe } from './store.ts'

export const getPipe = operation({
  id: 'getPipe',
  method: 'GET',
  path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes/{pipeId}',
  tag: 'data pipes',
  summary: 'Get data pipe',
  description: 'Returns the pipe without its secrets. Send the `ETag` as `If-Match` with a change.',
  access: 'developer',
  stability: 'beta',
  versioned: true,
  params: PipePath,
  result: Pipe,
  problems: [],
  example: { summary: 'A Kafka pipe', result: pipeExample },
  async run({ sql }, { params }) {
    const pipe = await loadPipe(sql, params)
    return { result: showPipe(pipe), version: String(pipe.version) }
  },
})
