import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { onBothDatabases } from '../../test/harness/test-app.ts'

const nobody = '00000000-0000-4000-8000-000000000000'

onBothDatabases('getService', (app) => {
  describe('200', () => {
    it('shows that a service has no endpoint, and what to send', async () => {
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
    it('answers for a service of another organization as for one that does not exist', async () => {
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

  it('has another ETag when a private endpoint that is not shown is detached', async () => {
    const { organizationId, admin, serviceId } = await app().addOrganization()
    const url = `/v1/organizations/${organizationId}/services/${serviceId}`
    const ids = Array.from({ length: 1002 }, (_, index) => `e-${1000 + index}`)
    const at = (id: string) => `2026-01-01T00:00:0${id[2]}.${id.slice(3)}Z`
    await app().query(
      `INSERT INTO private_endpoints (organization_id, id, description, created_at)
       VALUES ${ids.map((id) => `('${organizationId}', '${id}', '', '${at(id)}')`).join()}`,
    )
    await app().query(
      `INSERT INTO service_private_endpoints (service_id, organization_id, endpoint_id, attached_at)
       VALUES ${ids.map((id) => `('${serviceId}', '${organizationId}', '${id}', '${at(id)}')`).join()}`,
    )
    const get = () => app().request('GET', url, { key: admin })
    const before = await get()
    assert.deepEqual(before.body.result.privateEndpointIds, ids.slice(2).reverse())
    const removed = await app().request('DELETE', `${url}/privateEndpoint/${ids[0]}`, { key: admin })
    assert.equal(removed.status, 200)
    const after = await get()
    assert.deepEqual(after.body.result, before.body.result)
    assert.notEqual(after.headers.etag, before.headers.etag)
    const headers = { 'if-match': String(before.headers.etag) }
    assert.equal((await app().request('PATCH', url, { key: admin, body: { name: 'x' }, headers })).status, 412)
  })
})
