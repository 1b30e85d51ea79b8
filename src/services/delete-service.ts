import { Problem } from '../lib/problem.ts'
import { Type } from '../lib/schema.ts'
import { NoResult, operation } from '../operation/operation.ts'
import { detachAllEndpoints } from '../private-endpoints/store.ts'
import { ServicePath, versionOf } from './service.ts'
import { countPipes, deleteServiceRow, loadAttachments, loadService } from './store.ts'

export const deleteService = operation({
  id: 'deleteService',
  method: 'DELETE',
  path: '/v1/organizations/{organizationId}/services/{serviceId}',
  tag: 'Service',
  summary: 'Delete service',
  description:
    'Removes the service from the organization. ClickHouse and its data are not changed. The private endpoints of the ' +
    'service are detached; those that no other service uses are removed from the organization. A service with pipes ' +
    'cannot be deleted.',
  access: 'admin',
  activity: 'service_deleted',
  versioned: true,
  params: Type.Object(ServicePath),
  result: NoResult,
  problems: ['service_has_pipes'],
  example: { summary: 'Remove a service', result: null },
  async run({ sql, requireVersion, record }, { params }) {
    const { organizationId, serviceId } = params
    const service = await loadService(sql, organizationId, serviceId)
    requireVersion(versionOf(service, await loadAttachments(sql, service)))
    const pipes = await countPipes(sql, organizationId, serviceId)
    if (pipes > 0) {
      throw new Problem(
        'service_has_pipes',
        `service ${serviceId} has ${pipes} pipe${pipes === 1 ? '' : 's'}; delete ${pipes === 1 ? 'it' : 'them'} first`,
      )
    }
    await detachAllEndpoints(sql, params)
    await deleteServiceRow(sql, organizationId, serviceId)
    const { name, provider, region } = service
    record({ type: 'service', id: serviceId }, [{ field: 'service', from: { name, provider, region } }])
    return { result: null }
  },
})
