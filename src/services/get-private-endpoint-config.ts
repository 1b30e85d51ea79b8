import { Problem } from '../lib/problem.ts'
import { Type } from '../lib/schema.ts'
import { operation } from '../operation/operation.ts'
import { PrivateEndpointConfig, ServicePath } from './service.ts'
import { loadService } from './store.ts'

export const getPrivateEndpointConfig = operation({
  id: 'getPrivateEndpointConfig',
  method: 'GET',
  path: '/v1/organizations/{organizationId}/services/{serviceId}/privateEndpointConfig',
  tag: 'Service',
  summary: 'Get private endpoint configuration',
  description:
    'Returns the endpoint service that a private endpoint must connect to. The operator of Penstock configures it for ' +
    'each provider and region.',
  access: 'developer',
  params: Type.Object(ServicePath),
  result: PrivateEndpointConfig,
  problems: ['private_endpoints_not_configured'],
  example: {
    summary: 'A service on AWS',
    result: {
      endpointServiceId: 'com.amazonaws.vpce.us-east-1.vpce-svc-0a1b2c3d4e5f67890',
      privateDnsHostname: 'analytics.us-east-1.penstock.internal',
    },
  },
  async run({ sql, settings }, { params }) {
    const { provider, region } = await loadService(sql, params.organizationId, params.serviceId)
    const cloudRegion = `${provider}/${region}`
    const configured = settings.privateEndpointServices
    if (!Object.hasOwn(configured, cloudRegion)) {
      throw new Problem(
        'private_endpoints_not_configured',
        `this Penstock has no private endpoint service for ${cloudRegion}; its operator must add one to ` +
          'PENSTOCK_PRIVATE_ENDPOINT_SERVICES',
      )
    }
    return { result: configured[cloudRegion]! }
  },
})
