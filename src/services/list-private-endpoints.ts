import { PageQuery, pageOf, readPage } from '../lib/page.ts'
import { Type } from '../lib/schema.ts'
import { operation } from '../operation/operation.ts'
import { PrivateEndpoint, privateEndpointExample } from '../private-endpoints/private-endpoint.ts'
import { listEndpoints } from '../private-endpoints/store.ts'
import { ServicePath } from './service.ts'
import { loadService } from './store.ts'

export const listPrivateEndpoints = operation({
  id: 'listPrivateEndpoints',
  method: 'GET',
  path: '/v1/organizations/{organizationId}/services/{serviceId}/privateEndpoint',
  tag: 'Service',
  summary: 'List private endpoints',
  description: 'Returns the private endpoints that are attached to the service, newest first.',
  access: 'developer',
  params: Type.Object(ServicePath),
  query: PageQuery,
  result: Type.Array(PrivateEndpoint, { description: 'Private endpoints, newest first.' }),
  problems: [],
  example: { summary: 'One endpoint', result: [privateEndpointExample] },
  async run({ sql }, { params, query }) {
    const service = await loadService(sql, params.organizationId, params.serviceId)
    const page = readPage(query)
    const endpoints = await listEndpoints(sql, params, page)
    const { rows, ...next } = pageOf(page, endpoints, ({ attachedAt, id }) => [attachedAt, id])
    return {
      result: rows.map(({ id, description }) => ({
        cloudProvider: service.provider,
        description,
        id,
        region: service.region,
      })),
      ...next,
    }
  },
})
