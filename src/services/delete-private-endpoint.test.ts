import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { onBothDatabases } from '../../test/harness/test-app.ts'

const unknownId = '00000000-0000-4000-8000-000000000000'

onBothDatabases('deletePrivateEndpoint', (app) => {
  async function setUp() {
    const { organizationId, admin, serviceId } = await app().addOrganization()
    const url = (service = serviceId) => `/v1/organizations/${organizationId}/services/${service}/privateEndpoint`
    const create = async (id: string, service = serviceId) => {
      const { status } = await app().request('POST', url(service), { key: admin, body: { id } })
      assert.equal(status, 200)
    }
    const remove = (id: string, service = serviceId, headers = {}) =>
      app().request('DELETE', `${url(service)}/${encodeURIComponent(id)}`, { key: admin, headers })
    const list = async (service = serviceId): Promise<string[]> =>
      (await app().request('GET', url(service), { key: admin })).body.result.map(({ id }: { id: string }) => id)
    const registered = async () =>
      (
        await app().query<{ id: string }>(
          `SELECT id FROM private_endpoints WHERE organization_id = '${organizationId}' ORDER BY id`,
        )
      ).map(({ id }) => id)
    const activities = () =>
      app().query<{ type: string; target: string; changes: string }>(
        `SELECT type, target, changes FROM activities WHERE organization_id = '${organizationId}' ORDER BY id`,
      )
    return { organizationId, admin, serviceId, url, create, remove, list, registered, activities }
  }

  describe('200', () => {
    it('detaches, answers without a result, and lets the endpoint leave the organization', async () => {
      const { create, remove, list, registered } = await setUp()
      await create('vpce-0a1b2c3d')
      await create('vpce-1a1b2c3d')
      const { status, body, headers } = await remove('vpce-0a1b2c3d')
      assert.equal(status, 200)
      assert.deepEqual(body, { requestId: headers['x-request-id'], status: 200 })
      assert.deepEqual(await list(), ['vpce-1a1b2c3d'])
      assert.deepEqual(await registered(), ['vpce-1a1b2c3d'])
    })

    it('leaves it to the other services of the organization until the last one lets go', async () => {
      const { organizationId, create, remove, list, registered } = await setUp()
      const secondId = await app().addService(organizationId)
      await create('shared')
      await create('shared', secondId)
      assert.equal((await remove('shared')).status, 200)
      assert.deepEqual(await list(), [])
      assert.deepEqual(await list(secondId), ['shared'])
      assert.deepEqual(await registered(), ['shared'])
      assert.equal((await remove('shared', secondId)).status, 200)
      assert.deepEqual(await registered(), [])
    })

    it('never touches the endpoint of another organization with the same id', async () => {
      const ours = await setUp()
      const theirs = await setUp()
      await ours.create('same')
      await theirs.create('same')
      assert.equal((await ours.remove('same')).status, 200)
      assert.deepEqual(await theirs.list(), ['same'])
      assert.deepEqual(await theirs.registered(), ['same'])
    })

    it('takes every id that can be created, with what must be percent-encoded', async () => {
      const { create, remove, list } = await setUp()
      for (const id of [
        '/subscriptions/1/resourceGroups/a',
        'a%2Fb',
        '?#&',
        '...',
        '.a',
        'a.',
        '-',
        '~',
        'x'.repeat(255),
      ]) {
        await create(id)
        assert.equal((await remove(id)).status, 200, id)
      }
      assert.deepEqual(await list(), [])
    })

    it('can name every endpoint: an id that leads elsewhere in a URL cannot be created', async () => {
      const { admin, url, list } = await setUp()
      for (const id of ['.', '..']) {
        const { status, body } = await app().request('POST', url(), { key: admin, body: { id } })
        assert.equal(status, 400)
        assert.equal(body.error, `BAD_REQUEST: id cannot be "${id}": it cannot be sent in a URL`)
      }
      assert.deepEqual(await list(), [])
    })

    it('lets an endpoint come back with another description', async () => {
      const { admin, url, create, remove } = await setUp()
      await create('again')
      await remove('again')
      const body = { id: 'again', description: 'another' }
      assert.equal((await app().request('POST', url(), { key: admin, body })).status, 200)
    })

    it('is recorded', async () => {
      const { admin, url, serviceId, remove, activities } = await setUp()
      const body = { id: 'a', description: 'Production' }
      assert.equal((await app().request('POST', url(), { key: admin, body })).status, 200)
      await remove('a')
      const row = (await activities())[1]!
      assert.equal(row.type, 'private_endpoint_deleted')
      assert.deepEqual(JSON.parse(row.target), { type: 'private_endpoint', id: 'a', serviceId })
      assert.deepEqual(JSON.parse(row.changes), [{ field: 'privateEndpoint', from: body }])
    })

    it('gives the same answer to a retry with the same idempotency key', async () => {
      const { create, remove, activities } = await setUp()
      await create('a')
      const headers = { 'idempotency-key': 'once' }
      assert.equal((await remove('a', undefined, headers)).status, 200)
      assert.equal((await remove('a', undefined, headers)).status, 200)
      assert.equal((await activities()).length, 2)
    })
  })

  describe('400', () => {
    it('refuses an id that no endpoint can have, and a malformed service id', async () => {
      const { create, remove } = await setUp()
      await create('a')
      for (const id of ['a b', 'ä', 'x'.repeat(256)]) assert.equal((await remove(id)).status, 400, id)
      assert.equal((await remove('a', 'analytics')).status, 400)
    })
  })

  describe('412', () => {
    it('refuses another version, and detaches nothing; takes any, and the only one there is', async () => {
      const { create, remove, list } = await setUp()
      for (const ifMatch of ['*', '"1"']) {
        await create('a')
        const before = await list()
        const headers = { 'if-match': '"77"' }
        assert.equal((await remove('a', undefined, headers)).status, 412)
        assert.equal((await remove('b', undefined, headers)).status, 404)
        assert.deepEqual(await list(), before)
        assert.equal((await remove('a', undefined, { 'if-match': ifMatch })).status, 200)
      }
    })
  })

  describe('403', () => {
    it('refuses a developer key', async () => {
      const { organizationId, url, create, list } = await setUp()
      await create('a')
      const key = await app().addKey(organizationId, 'developer')
      assert.equal((await app().request('DELETE', `${url()}/a`, { key })).status, 403)
      assert.deepEqual(await list(), ['a'])
    })
  })

  describe('404', () => {
    it('names what is not attached, also when another service has it, and records nothing', async () => {
      const { organizationId, serviceId, create, remove, list, activities } = await setUp()
      const secondId = await app().addService(organizationId)
      await create('a', secondId)
      for (const id of ['a', 'b']) {
        const { status, body } = await remove(id)
        assert.equal(status, 404)
        assert.equal(body.error, `NOT_FOUND: private endpoint ${id} was not found in service ${serviceId}`)
      }
      assert.deepEqual(await list(secondId), ['a'])
      assert.equal((await activities()).length, 1)
    })

    it('names the service that is not there or belongs to another organization', async () => {
      const { organizationId, remove } = await setUp()
      const other = await setUp()
      await other.create('a')
      for (const serviceId of [unknownId, other.serviceId]) {
        const { status, body } = await remove('a', serviceId)
        assert.equal(status, 404)
        assert.equal(body.error, `NOT_FOUND: service ${serviceId} was not found in organization ${organizationId}`)
      }
      assert.deepEqual(await other.list(), ['a'])
    })
  })
})
