import { pageOf, pageQuery, readPage, shortened } from '../lib/page.ts'
import { Type } from '../lib/schema.ts'
import { operation } from '../operation/operation.ts'
import { PipeState } from '../progress/pipe-state.ts'
import { ServicePath } from '../services/service.ts'
import { loadService } from '../services/store.ts'
import { Pipe, showPipe } from './pipe.ts'
import { pipeExample } from './pipe-example.ts'
import { listPipeRows, listPipeSizes } from './store.ts'

export const listPipes = operation({
  id: 'listPipes',
  method: 'GET',
  path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes',
  tag: 'data pipes',
  summary: 'List data pipes',
  description:
    'Returns the pipes of the service without their secrets, newest first. A page with very large pipes has fewer ' +
    'items than `limit`; follow the `Link` header.',
  access: 'developer',
  stability: 'beta',
  params: Type.Object(ServicePath),
  query: Type.Object(
    {
      ...pageQuery,
      state: Type.Optional(Type.Enum(PipeState.enum, { description: 'Returns only pipes in this state.' })),
    },
    { additionalProperties: false },
  ),
  result: Type.Array(Pipe, { description: 'Pipes, newest first.' }),
  problems: [],
  example: { summary: 'One pipe', result: [pipeExample] },
  async run({ sql }, { params, query }) {
    await loadService(sql, params.organizationId, params.serviceId)
    const requested = readPage(query)
    const page = shortened(requested, await listPipeSizes(sql, params, query.state, requested))
    const pipes = await listPipeRows(sql, params, query.state, page)
    const { rows, ...next } = pageOf(page, pipes, ({ createdAt, id }) => [createdAt, id])
    return { result: rows.map(showPipe), ...next }
  },
})
