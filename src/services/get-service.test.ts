import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { onBothDatabases } from '../../test/harness.ts'

const nobody = '00000000-0000-4000-8000-000000000000'

onBothDatabases('getService', (app) => {
  describe('200', () => {
    it('tells of a service without an endpoint what is missing', async () => {
      const { organizationId, admin, serviceId } = await app().addOrganization()
      const { status, body } = await app().request('GET', `/v1/organizations/${organizationId}/services/${serviceId}`, {
        key: admin,
      })
      assert.equal(status, 200)
      assert.deepEqual(body.result, {
        id: serviceId,
        name: 'test',
        provider: 'aws',
        region: 'eu-west-1',
        state: 'provisioning',
        stateReason: 'no endpoint is registered; send endpoint.url, endpoint.username and endpoint.password',
        engineVersion: null,
        endpoints: [],
        privateEndpointIds: [],
        ipAccessList: [],
        createdAt: body.result.createdAt,
      })
    })

    it('has the private endpoints, the newest first, and an ETag that changes with them', async () => {
      const { organizationId, admin, serviceId } = await app().addOrganization()
      const url = `/v1/organizations/${organizationId}/services/${serviceId}`
      const get = () => app().request('GET', url, { key: admin })
      const tags = new Set([(await get()).headers.etag])
      for (const id of ['b', 'c', 'a']) {
        await app().request('POST', `${url}/privateEndpoint`, { key: admin, body: { id } })
        await sleep(2)
        tags.add((await get()).headers.etag)
      }
      assert.deepEqual((await get()).body.result.privateEndpointIds, ['a', 'c', 'b'])
      await app().request('DELETE', `${url}/privateEndpoint/c`, { key: admin })
      assert.deepEqual((await get()).body.result.privateEndpointIds, ['a', 'b'])
      tags.add((await get()).headers.etag)
      assert.equal(tags.size, 5)
      assert.equal((await get()).headers.etag, (await get()).headers.etag)
    })

    it('lets a developer read', async () => {
      const { organizationId, serviceId } = app().sample
      const url = `/v1/organizations/${organizationId}/services/${serviceId}`
      const { status, body } = await app().request('GET', url, { key: app().developer })
      assert.equal(status, 200)
      assert.deepEqual(body.result.endpoints, [
        { protocol: 'http', host: '127.0.0.1', port: 8123, username: 'default' },
      ])
    })
  })

  describe('404', () => {
    it('answers for a service of another organization as for none', async () => {
      const { organizationId, admin } = await app().addOrganization()
      const other = await app().addOrganization()
      for (const serviceId of [nobody, other.serviceId]) {
        const url = `/v1/organizations/${organizationId}/services/${serviceId}`
        const { status, body } = await app().request('GET', url, { key: admin })
        assert.equal(status, 404)
        assert.equal(body.error, `NOT_FOUND: service ${serviceId} was not found in organization ${organizationId}`)
      }
    })
  })
})

onBothDatabases('listServices', (app) => {
  it('gives the services of the organization in full, the newest first, page by page', async () => {
    const { organizationId, admin, serviceId } = await app().addOrganization()
    await app().addOrganization()
    const url = `/v1/organizations/${organizationId}/services`
    const ids = [serviceId]
    for (let index = 0; index < 4; index++) {
      await sleep(2)
      ids.unshift(await app().addService(organizationId, 'azure'))
    }
    for (const [id, endpoint] of [
      [ids[0], 'x'],
      [ids[2], 'x'],
      [ids[2], 'y'],
    ]) {
      await app().request('POST', `${url}/${id}/privateEndpoint`, { key: admin, body: { id: endpoint } })
      await sleep(2)
    }
    const whole = await app().request('GET', url, { key: admin })
    assert.equal(whole.status, 200)
    assert.equal(whole.headers.link, undefined)
    const listed = whole.body.result as { id: string; privateEndpointIds: string[] }[]
    assert.deepEqual(
      listed.map(({ id, privateEndpointIds }) => [id, privateEndpointIds]),
      [
        [ids[0], ['x']],
        [ids[1], []],
        [ids[2], ['y', 'x']],
        [ids[3], []],
        [ids[4], []],
      ],
    )
    for (const service of listed) {
      assert.deepEqual(service, (await app().request('GET', `${url}/${service.id}`, { key: admin })).body.result)
    }
    const seen: unknown[] = []
    let path = `${url}?limit=2`
    while (path) {
      const page = await app().request('GET', path, { key: admin })
      assert.equal(page.status, 200)
      seen.push(...page.body.result)
      path = /^<(.+)>; rel="next"$/.exec(String(page.headers.link))?.[1] ?? ''
      // Comes before all others, on no page that is still to be read.
      await app().addService(organizationId)
    }
    assert.deepEqual(seen, listed)
  })

  it('refuses a limit out of bounds and a made-up cursor', async () => {
    for (const query of ['limit=0', 'limit=1001', 'limit=a', 'cursor=x', 'offset=1']) {
      const { status } = await app().request(
        'GET',
        `/v1/organizations/${app().sample.organizationId}/services?${query}`,
      )
      assert.equal(status, 400, query)
    }
  })
})

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

  it('says what the operator must set when nothing is', async () => {
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
