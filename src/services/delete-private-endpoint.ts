import { notFound } from '../lib/problem.ts'
import { Type } from '../lib/schema.ts'
import { NoResult, operation } from '../operation/operation.ts'
import { EndpointId } from '../private-endpoints/private-endpoint.ts'
import { detachEndpoint } from '../private-endpoints/store.ts'
import { ServicePath } from './service.ts'
import { loadService } from './store.ts'

/** Attachments are created and deleted, but never changed. */
const onlyVersion = '1'

export const deletePrivateEndpoint = operation({
  id: 'deletePrivateEndpoint',
  method: 'DELETE',
  path: '/v1/organizations/{organizationId}/services/{serviceId}/privateEndpoint/{privateEndpointId}',
  tag: 'Service',
  summary: 'Delete private endpoint',
  description:
    'Detaches the private endpoint from the service. If no other service uses it, it is also removed from the ' +
    'organization. Send slashes in the id as `%2F`.',
  access: 'admin',
  activity: 'private_endpoint_deleted',
  versioned: true,
  params: Type.Object({
    ...ServicePath,
    privateEndpointId: { ...EndpointId, description: 'Id of a private endpoint that is attached to the service.' },
  }),
  result: NoResult,
  problems: [],
  example: { summary: 'Detach an endpoint', result: null },
  async run({ sql, requireVersion, record }, { params }) {
    const { organizationId, serviceId, privateEndpointId: id } = params
    await loadService(sql, organizationId, serviceId)
    const description = await detachEndpoint(sql, { serviceId, organizationId, id })
    if (description === undefined) {
      throw notFound(`private endpoint ${id} was not found in service ${serviceId}`)
    }
    requireVersion(onlyVersion)
    record({ type: 'private_endpoint', id, serviceId }, [{ field: 'privateEndpoint', from: { id, description } }])
    return { result: null }
  },
})
