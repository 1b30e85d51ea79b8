import assert from 'node:assert/strict'
import { it } from 'node:test'
import { onBothDatabases } from '../../test/harness/test-app.ts'

const nobody = '00000000-0000-4000-8000-000000000000'

onBothDatabases('getPrivateEndpointConfig', (app) => {
  const path = (organizationId: string, serviceId: string) =>
    `/v1/organizations/${organizationId}/services/${serviceId}/privateEndpointConfig`

  it('gives what the operator has set for the provider and region of the service', async () => {
    const { organizationId, serviceId } = app().sample
    const { status, body } = await app().request('GET', path(organizationId, serviceId), { key: app().developer })
    assert.equal(status, 200)
    assert.deepEqual(body.result, {
      endpointServiceId: 'com.amazonaws.vpce.us-east-1.vpce-svc-0a1b2c3d4e5f67890',
      privateDnsHostname: 'analytics.us-east-1.penstock.internal',
    })
  })

  it('names the setting when nothing is configured', async () => {
    const { organizationId, admin } = await app().addOrganization()
    const serviceId = await app().addService(organizationId, 'gcp')
    const { status, body } = await app().request('GET', path(organizationId, serviceId), {
      key: admin,
      headers: { accept: 'application/problem+json' },
    })
    assert.equal(status, 404)
    assert.equal(body.code, 'private_endpoints_not_configured')
    assert.equal(
      body.detail,
      'this Penstock has no private endpoint service for gcp/eu-west-1; its operator must add one to PENSTOCK_PRIVATE_ENDPOINT_SERVICES',
    )
  })

  it('answers for a missing service as every operation does', async () => {
    const { organizationId, admin } = await app().addOrganization()
    const { status, body } = await app().request('GET', path(organizationId, nobody), { key: admin })
    assert.equal(status, 404)
    assert.equal(body.error, `NOT_FOUND: service ${nobody} was not found in organization ${organizationId}`)
  })
})
