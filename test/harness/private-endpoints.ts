// A service to attach private endpoints to.
import type { Provider } from '../../src/services/service.ts'
import type { RequestOptions, TestApp } from './test-app.ts'

export const usualId = 'vpce-0a1b2c3d4e5f67890'

export function endpointRequests(app: () => TestApp) {
  /** A separate organization for each test, with a service of the provider. */
  async function setUp(provider: Provider = 'aws') {
    const { organizationId, admin } = await app().addOrganization()
    const serviceId = await app().addService(organizationId, provider)
    const url = (service = serviceId) => `/v1/organizations/${organizationId}/services/${service}/privateEndpoint`
    const create = (body: unknown, { query = '', ...options }: RequestOptions & { query?: string } = {}) =>
      app().request('POST', `${url()}${query}`, { key: admin, body, ...options })
    const list = async (service = serviceId) =>
      (await app().request('GET', url(service), { key: admin })).body.result as { id: string; description: string }[]
    const activities = () =>
      app().query<{ type: string; request_id: string; target: string; changes: string }>(
        `SELECT * FROM activities WHERE organization_id = '${organizationId}' ORDER BY id`,
      )
    return { organizationId, admin, serviceId, url, create, list, activities }
  }

  return { setUp }
}
