import { Type } from '../lib/schema.ts'
import { operation } from '../operation/operation.ts'
import { Service, ServicePath, serviceExample, showService, versionOf } from './service.ts'
import { loadAttachments, loadService } from './store.ts'

export const getService = operation({
  id: 'getService',
  method: 'GET',
  path: '/v1/organizations/{organizationId}/services/{serviceId}',
  tag: 'Service',
  summary: 'Get service',
  description:
    'Returns the service with the result of its last health check. The `ETag` changes with the fields that can be ' +
    'updated, and not with the state.',
  access: 'developer',
  versioned: true,
  params: Type.Object(ServicePath),
  result: Service,
  problems: [],
  example: { summary: 'A running service', result: serviceExample },
  async run({ sql }, { params }) {
    const service = await loadService(sql, params.organizationId, params.serviceId)
    const attached = await loadAttachments(sql, service)
    return { result: showService(service, attached.newestIds), version: versionOf(service, attached) }
  },
})
