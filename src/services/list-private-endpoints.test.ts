import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { onBothDatabases } from '../../test/harness/test-app.ts'

const unknownId = '00000000-0000-4000-8000-000000000000'

onBothDatabases('listPrivateEndpoints', (app) => {
  /** A separate organization for each test. */
  async function setUp() {
    const { organizationId, admin, serviceId } = await app().addOrganization()
    const url = (service = serviceId) => `/v1/organizations/${organizationId}/services/${service}/privateEndpoint`
    const create = async (id: string, description: string, service = serviceId) => {
      const { status } = await app().request('POST', url(service), { key: admin, body: { id, description } })
      assert.equal(status, 200)
      // Timestamps have millisecond precision.
      await sleep(2)
    }
    const list = (service = serviceId, key = admin) => app().request('GET', url(service), { key })
    return { organizationId, admin, serviceId, url, create, list }
  }

  describe('200', () => {
    it('returns an empty list in the envelope', async () => {
      const { list } = await setUp()
      const { status, body, headers } = await list()
      assert.equal(status, 200)
      assert.deepEqual(body, { requestId: headers['x-request-id'], result: [], status: 200 })
    })

    it('returns the endpoints, newest first', async () => {
      const { create, list } = await setUp()
      await create('b', 'first')
      await create('c', 'second')
      await create('a', 'third')
      const { body } = await list()
      assert.deepEqual(body.result, [
        { cloudProvider: 'aws', description: 'third', id: 'a', region: 'eu-west-1' },
        { cloudProvider: 'aws', description: 'second', id: 'c', region: 'eu-west-1' },
        { cloudProvider: 'aws', description: 'first', id: 'b', region: 'eu-west-1' },
      ])
    })

    it('keeps the order when an endpoint is sent again', async () => {
      const { create, list } = await setUp()
      await create('a', '')
      await create('b', '')
      const before = await list()
      await create('a', '')
      const after = await list()
      assert.deepEqual(
        after.body.result.map(({ id }: { id: string }) => id),
        ['b', 'a'],
      )
      assert.equal(after.headers.etag, before.headers.etag)
    })

    it('orders by when an endpoint was attached to this service', async () => {
      const { organizationId, create, list } = await setUp()
      const secondId = await app().addService(organizationId)
      await create('a', '')
      await create('b', '')
      await create('b', '', secondId)
      await create('a', '', secondId)
      const ids = async (serviceId?: string) => (await list(serviceId)).body.result.map(({ id }: { id: string }) => id)
      assert.deepEqual(await ids(), ['b', 'a'])
      assert.deepEqual(await ids(secondId), ['a', 'b'])
    })

    it('returns only endpoints of this service, with its provider', async () => {
      const { organizationId, create, list } = await setUp()
      const gcpId = await app().addService(organizationId, 'gcp')
      await create('1234', 'shared')
      await create('1234', 'shared', gcpId)
      await create('5678', 'gcp only', gcpId)
      assert.deepEqual((await list()).body.result, [
        { cloudProvider: 'aws', description: 'shared', id: '1234', region: 'eu-west-1' },
      ])
      assert.deepEqual((await list(gcpId)).body.result, [
        { cloudProvider: 'gcp', description: 'gcp only', id: '5678', region: 'eu-west-1' },
        { cloudProvider: 'gcp', description: 'shared', id: '1234', region: 'eu-west-1' },
      ])
    })

    it('never returns endpoints of another organization with the same id', async () => {
      const ours = await setUp()
      const theirs = await setUp()
      await ours.create('same', 'ours')
      await theirs.create('same', 'theirs')
      assert.deepEqual(
        (await ours.list()).body.result.map(({ description }: { description: string }) => description),
        ['ours'],
      )
    })

    it('has an ETag that stays while nothing changes and changes with the list', async () => {
      const { create, list } = await setUp()
      const empty = (await list()).headers.etag
      assert.match(String(empty), /^"[^"]+"$/)
      assert.equal((await list()).headers.etag, empty)
      await create('a', '')
      const one = (await list()).headers.etag
      await create('b', '')
      const two = (await list()).headers.etag
      assert.equal((await list()).headers.etag, two)
      assert.equal(new Set([empty, one, two]).size, 3)
    })

    it('returns pages without gaps or duplicates, also while endpoints are attached', async () => {
      const { admin, url, create } = await setUp()
      for (const id of ['a', 'b', 'c', 'd', 'e']) await create(id, '')
      const page = async (path: string) => {
        const { status, body, headers } = await app().request('GET', path, { key: admin })
        assert.equal(status, 200)
        const next = /^<(.+)>; rel="next"$/.exec(String(headers.link))?.[1]
        return { ids: body.result.map(({ id }: { id: string }) => id) as string[], next, link: headers.link }
      }
      const first = await page(`${url()}?limit=2`)
      assert.deepEqual(first.ids, ['e', 'd'])
      assert.ok(first.next?.startsWith(`${url()}?limit=2&cursor=`), first.next)
      await create('f', '')
      const second = await page(first.next!)
      assert.deepEqual(second.ids, ['c', 'b'])
      const third = await page(second.next!)
      assert.deepEqual(third.ids, ['a'])
      assert.equal(third.link, undefined)
      assert.deepEqual((await page(url())).ids, ['f', 'e', 'd', 'c', 'b', 'a'])
      assert.equal((await page(`${url()}?limit=6`)).link, undefined)
    })

    it('orders endpoints attached in the same millisecond by id, also across pages', async () => {
      const { organizationId, admin, serviceId, url, create } = await setUp()
      for (const id of ['b', 'a', 'c']) await create(id, '')
      await app().query(
        `UPDATE service_private_endpoints SET attached_at = '2026-01-01T00:00:00.000Z'
         WHERE service_id = '${serviceId}' AND organization_id = '${organizationId}'`,
      )
      let path = `${url()}?limit=1`
      const seen: string[] = []
      while (path) {
        const { body, headers } = await app().request('GET', path, { key: admin })
        seen.push(...body.result.map(({ id }: { id: string }) => id))
        path = /^<(.+)>/.exec(String(headers.link))?.[1] ?? ''
      }
      assert.deepEqual(seen, ['c', 'b', 'a'])
    })

    it('lets a developer read', async () => {
      const { organizationId, create, list } = await setUp()
      await create('a', '')
      const { status, body } = await list(undefined, await app().addKey(organizationId, 'developer'))
      assert.equal(status, 200)
      assert.equal(body.result.length, 1)
    })
  })

  describe('400', () => {
    it('refuses query parameters, also those of the creation', async () => {
      const { admin, url } = await setUp()
      for (const query of ['?strict=true', '?a=1&a=2', '?__proto__=1', '?limit=0', '?limit=1001', '?limit=1&limit=2']) {
        const { status, body } = await app().request('GET', `${url()}${query}`, { key: admin })
        assert.equal(status, 400, query)
        assert.match(body.error, /^BAD_REQUEST: /)
      }
    })

    it('rejects an unknown cursor', async () => {
      const { admin, url, create } = await setUp()
      await create('a', '')
      await create('b', '')
      const { headers } = await app().request('GET', `${url()}?limit=1`, { key: admin })
      const cursor = new URLSearchParams(/\?([^>]+)>/.exec(String(headers.link))![1]).get('cursor')!
      const madeUp = Buffer.from(JSON.stringify(['x'])).toString('base64url')
      for (const wrong of [`${cursor}A`, cursor.slice(1), 'x', madeUp, '%01']) {
        const { status, body } = await app().request('GET', `${url()}?cursor=${wrong}`, { key: admin })
        assert.equal(status, 400, wrong)
        assert.equal(body.error, 'BAD_REQUEST: cursor must be a value from the Link header of a page')
      }
    })

    it('refuses a malformed service id', async () => {
      const { list } = await setUp()
      const { status, body } = await list('analytics')
      assert.equal(status, 400)
      assert.equal(body.error, 'BAD_REQUEST: serviceId must be a uuid, not "analytics"')
    })
  })

  describe('404', () => {
    it('names the missing service, and reports one of another organization the same way', async () => {
      const { organizationId, list } = await setUp()
      const other = await setUp()
      const missing = await list(unknownId)
      assert.equal(missing.status, 404)
      assert.deepEqual(missing.body, {
        error: `NOT_FOUND: service ${unknownId} was not found in organization ${organizationId}`,
        status: 404,
      })
      const foreign = await list(other.serviceId)
      assert.equal(foreign.status, 404)
      assert.equal(foreign.text.replaceAll(other.serviceId, unknownId), missing.text)
    })
  })
})
