import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { onBothDatabases } from '../../test/harness/test-app.ts'

const nobody = '00000000-0000-4000-8000-000000000000'

for (const operation of ['getOrganization', 'listOrganizations'] as const) {
  onBothDatabases(operation, (app) => {
    const path = (organizationId: string) =>
      operation === 'getOrganization' ? `/v1/organizations/${organizationId}` : '/v1/organizations'

    /** An organization of its own for each test. */
    async function setUp() {
      const { organizationId, admin, serviceId } = await app().addOrganization()
      const create = async (id: string, description = '', service = serviceId) => {
        const url = `/v1/organizations/${organizationId}/services/${service}/privateEndpoint`
        const { status } = await app().request('POST', url, { key: admin, body: { id, description } })
        assert.equal(status, 200)
        // Timestamps are kept to the millisecond.
        await sleep(2)
      }
      const get = async (key = admin) => {
        const answer = await app().request('GET', path(organizationId), { key })
        const { result } = answer.body
        return { ...answer, organization: operation === 'getOrganization' ? result : result[0] }
      }
      return { organizationId, admin, serviceId, create, get }
    }

    describe('200', () => {
      it('gives the organization of the key in full', async () => {
        const { organizationId, get } = await setUp()
        const { status, body, headers, organization } = await get()
        assert.equal(status, 200)
        assert.match(organization.createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
        const whole = { id: organizationId, name: 'Another', createdAt: organization.createdAt, privateEndpoints: [] }
        assert.deepEqual(body, {
          requestId: headers['x-request-id'],
          result: operation === 'getOrganization' ? whole : [whole],
          status: 200,
        })
        assert.equal(headers.link, undefined)
      })

      it('gives each private endpoint once, the newest first, with the service it was attached to first', async () => {
        const { organizationId, create, get } = await setUp()
        const gcpId = await app().addService(organizationId, 'gcp')
        await create('1', 'first')
        await create('3', 'second', gcpId)
        await create('2', 'third')
        await create('3', 'second')
        await create('1', 'first', gcpId)
        assert.deepEqual((await get()).organization.privateEndpoints, [
          { cloudProvider: 'aws', description: 'third', id: '2', region: 'eu-west-1' },
          { cloudProvider: 'gcp', description: 'second', id: '3', region: 'eu-west-1' },
          { cloudProvider: 'aws', description: 'first', id: '1', region: 'eu-west-1' },
        ])
      })

      it('never gives an endpoint of another organization, also under the same id', async () => {
        const ours = await setUp()
        const theirs = await setUp()
        await ours.create('same', 'ours')
        await theirs.create('same', 'theirs')
        await theirs.create('other')
        assert.deepEqual((await ours.get()).organization.privateEndpoints, [
          { cloudProvider: 'aws', description: 'ours', id: 'same', region: 'eu-west-1' },
        ])
      })

      it('gives the newest thousand endpoints at most', async () => {
        const { organizationId, serviceId, get } = await setUp()
        const at = (index: number) => new Date(Date.UTC(2026, 0, 1) + index * 1000).toISOString()
        const rows = Array.from({ length: 1002 }, (_, index) => ({ id: `e${index}`, at: at(index) }))
        await app().query(
          `INSERT INTO private_endpoints (organization_id, id, description, created_at) VALUES
           ${rows.map((row) => `('${organizationId}', '${row.id}', '', '${row.at}')`).join()}`,
        )
        await app().query(
          `INSERT INTO service_private_endpoints (service_id, organization_id, endpoint_id, attached_at) VALUES
           ${rows.map((row) => `('${serviceId}', '${organizationId}', '${row.id}', '${row.at}')`).join()}`,
        )
        const ids = (await get()).organization.privateEndpoints.map(({ id }: { id: string }) => id)
        assert.equal(ids.length, 1000)
        assert.equal(ids[0], 'e1001')
        assert.equal(ids[999], 'e2')
      })

      it('lets a developer read', async () => {
        const { organizationId, get } = await setUp()
        assert.equal((await get(await app().addKey(organizationId, 'developer'))).status, 200)
      })
    })
  })
}

onBothDatabases('getOrganization alone', (app) => {
  it('answers 404 for another organization as for one that does not exist', async () => {
    const other = await app().addOrganization()
    for (const id of [other.organizationId, nobody]) {
      const { status, body } = await app().request('GET', `/v1/organizations/${id}`)
      assert.equal(status, 404)
      assert.equal(body.error, `NOT_FOUND: organization ${id} was not found`)
    }
  })

  it('answers 400 for a malformed id', async () => {
    const { status, body } = await app().request('GET', '/v1/organizations/northwind')
    assert.equal(status, 400)
    assert.equal(body.error, 'BAD_REQUEST: organizationId must be a uuid, not "northwind"')
  })
})

onBothDatabases('listOrganizations alone', (app) => {
  const list = (query: string) => app().request('GET', `/v1/organizations${query}`)

  it('takes limit and cursor as every list does', async () => {
    const all = await list('?limit=1')
    assert.equal(all.status, 200)
    assert.equal(all.body.result.length, 1)
    assert.equal(all.headers.link, undefined)
    const { createdAt, id } = all.body.result[0]
    const cursor = (...after: string[]) => Buffer.from(JSON.stringify(after)).toString('base64url')
    assert.deepEqual((await list(`?cursor=${cursor(createdAt, id)}`)).body.result, [])
    assert.equal((await list(`?cursor=${cursor(createdAt, `${id}0`)}`)).body.result.length, 1)
  })

  it('refuses other parameters, a limit of 0 and a cursor that was made up', async () => {
    for (const query of ['?limit=0', '?limit=1001', '?cursor=abc', '?name=x']) {
      assert.equal((await list(query)).status, 400, query)
    }
  })
})
