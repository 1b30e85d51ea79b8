import { invalidBody, Problem } from '../lib/problem.ts'
import { Type } from '../lib/schema.ts'
import { operation } from '../operation/operation.ts'
import {
  PrivateEndpoint,
  PrivateEndpointCreate,
  privateEndpointExample,
  unusualId,
} from '../private-endpoints/private-endpoint.ts'
import { attachEndpoint, registerEndpoint } from '../private-endpoints/store.ts'
import { ServicePath } from './service.ts'
import { loadService } from './store.ts'

export const createPrivateEndpoint = operation({
  id: 'createPrivateEndpoint',
  method: 'POST',
  path: '/v1/organizations/{organizationId}/services/{serviceId}/privateEndpoint',
  tag: 'Service',
  summary: 'Create private endpoint',
  description:
    'Registers a private endpoint in the organization and attaches it to the service. A repeated request with the ' +
    'same id and description gets the same response, so a retry is safe. An endpoint may be attached to several ' +
    'services of its organization.',
  access: 'admin',
  activity: 'private_endpoint_created',
  params: Type.Object(ServicePath),
  query: Type.Object(
    {
      strict: Type.Optional(
        Type.Boolean({
          default: false,
          description: 'Whether to reject an id that does not have the format of the provider.',
        }),
      ),
    },
    { additionalProperties: false },
  ),
  body: PrivateEndpointCreate,
  result: PrivateEndpoint,
  problems: ['private_endpoint_exists', 'unusual_endpoint_id'],
  example: {
    summary: 'Attach an endpoint of the production VPC',
    body: { description: privateEndpointExample.description, id: privateEndpointExample.id },
    result: privateEndpointExample,
  },
  async run({ sql, now, record }, { params, query, body }) {
    const { organizationId, serviceId } = params
    const { id, description = '' } = body
    const service = await loadService(sql, organizationId, serviceId)
    if (id === '.' || id === '..') {
      throw invalidBody([{ path: 'id', detail: `id cannot be ${JSON.stringify(id)}: it cannot be sent in a URL` }])
    }
    const warning = unusualId(service.provider, id)
    if (warning && query.strict) {
      throw new Problem('unusual_endpoint_id', `${warning}; send it without ?strict=true to use it anyway`, {
        fields: [{ path: 'id', detail: warning }],
      })
    }

    const registered = await registerEndpoint(sql, { organizationId, id, description, now })
    if (registered !== description) {
      throw new Problem(
        'private_endpoint_exists',
        `private endpoint ${id} is already registered with the description ${JSON.stringify(registered)}; ` +
          'send that description',
      )
    }
    if (await attachEndpoint(sql, { serviceId, organizationId, id, now })) {
      record({ type: 'private_endpoint', id, serviceId }, [{ field: 'privateEndpoint', to: { id, description } }])
    }
    const result = { cloudProvider: service.provider, description, id, region: service.region }
    return warning ? { result, warning } : { result }
  },
})
