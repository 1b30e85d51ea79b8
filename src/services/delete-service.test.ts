import assert from 'node:assert/strict'
import { it } from 'node:test'
import { onBothDatabases } from '../../test/harness/test-app.ts'

const nobody = '00000000-0000-4000-8000-000000000000'

onBothDatabases('deleteService', (app) => {
  async function setUp() {
    const { organizationId, admin, serviceId } = await app().addOrganization()
    const services = `/v1/organizations/${organizationId}/services`
    const attach = async (id: string, service = serviceId) => {
      const path = `${services}/${service}/privateEndpoint`
      assert.equal((await app().request('POST', path, { key: admin, body: { id } })).status, 200)
    }
    const remove = (headers = {}, service = serviceId) =>
      app().request('DELETE', `${services}/${service}`, { key: admin, headers })
    const get = (service = serviceId) => app().request('GET', `${services}/${service}`, { key: admin })
    return { organizationId, admin, serviceId, attach, remove, get }
  }

  it('removes the service and what only it used, and is recorded', async () => {
    const { organizationId, serviceId, attach, remove, get } = await setUp()
    const secondId = await app().addService(organizationId)
    await attach('own')
    await attach('shared')
    await attach('shared', secondId)
    const { status, body, headers } = await remove()
    assert.equal(status, 200)
    assert.deepEqual(body, { requestId: headers['x-request-id'], status: 200 })
    assert.equal((await get()).status, 404)
    assert.deepEqual((await get(secondId)).body.result.privateEndpointIds, ['shared'])
    const rows = await app().query<{ id: string }>(
      `SELECT id FROM private_endpoints WHERE organization_id = '${organizationId}'`,
    )
    assert.deepEqual(
      rows.map(({ id }) => id),
      ['shared'],
    )
    const [activity] = await app().query<{ type: string; target: string; changes: string }>(
      `SELECT * FROM activities WHERE organization_id = '${organizationId}' ORDER BY id DESC LIMIT 1`,
    )
    assert.equal(activity!.type, 'service_deleted')
    assert.deepEqual(JSON.parse(activity!.target), { type: 'service', id: serviceId })
    assert.deepEqual(JSON.parse(activity!.changes), [
      { field: 'service', from: { name: 'test', provider: 'aws', region: 'eu-west-1' } },
    ])
    assert.equal((await remove()).status, 404)
  })

  it('leaves alone what was not attached to it', async () => {
    const { organizationId, attach, remove } = await setUp()
    await attach('own')
    await app().query(
      `INSERT INTO private_endpoints (organization_id, id, description, created_at)
       VALUES ('${organizationId}', 'unused', '', '2026-01-01T00:00:00.000Z')`,
    )
    assert.equal((await remove()).status, 200)
    const rows = await app().query<{ id: string }>(
      `SELECT id FROM private_endpoints WHERE organization_id = '${organizationId}'`,
    )
    assert.deepEqual(
      rows.map(({ id }) => id),
      ['unused'],
    )
  })

  it('keeps If-Match', async () => {
    const { attach, remove, get } = await setUp()
    const etag = String((await get()).headers.etag)
    await attach('new')
    assert.equal((await remove({ 'if-match': etag })).status, 412)
    assert.equal((await get()).status, 200)
    assert.equal((await remove({ 'if-match': String((await get()).headers.etag) })).status, 200)
  })

  it('refuses while the service has pipes, and says how many', async () => {
    const { organizationId, serviceId } = app().sample
    const url = `/v1/organizations/${organizationId}/services/${serviceId}`
    const { status, body } = await app().request('DELETE', url, { headers: { accept: 'application/problem+json' } })
    assert.equal(status, 409)
    assert.equal(body.code, 'service_has_pipes')
    assert.equal(body.detail, `service ${serviceId} has 4 pipes; delete them first`)
    assert.equal((await app().request('GET', url)).status, 200)
  })

  it('refuses a developer, and answers for a foreign service as for none', async () => {
    const { organizationId, serviceId, remove, get } = await setUp()
    const other = await setUp()
    const key = await app().addKey(organizationId, 'developer')
    const url = `/v1/organizations/${organizationId}/services/${serviceId}`
    assert.equal((await app().request('DELETE', url, { key })).status, 403)
    assert.equal((await remove({}, other.serviceId)).status, 404)
    assert.equal((await remove({}, nobody)).status, 404)
    assert.equal((await get()).status, 200)
    assert.equal((await other.get()).status, 200)
  })
})
