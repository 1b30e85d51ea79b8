import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { onBothDatabases, type RequestOptions } from '../../test/harness/test-app.ts'

const nobody = '00000000-0000-4000-8000-000000000000'

onBothDatabases('listKeys, getKey and getCurrentKey', (app) => {
  /** An organization of its own for each test, with one admin key. */
  async function setUp() {
    const { organizationId, admin } = await app().addOrganization()
    const url = `/v1/organizations/${organizationId}/keys`
    const get = (path = '', options: RequestOptions = {}) =>
      app().request('GET', `${url}${path}`, { key: admin, ...options })
    const idOf = async ({ keyId }: { keyId: string }) =>
      (await app().query<{ id: string }>(`SELECT id FROM api_keys WHERE key_id = '${keyId}'`))[0]!.id
    return { organizationId, admin, url, get, idOf }
  }

  describe('200', () => {
    it('shows a caller the key that it uses, as getKey does', async () => {
      const { organizationId, get, idOf } = await setUp()
      const developer = await app().addKey(organizationId, 'developer', { name: 'readers' })
      await get('/current', { key: developer })
      await app().app.keyUses.settled()
      const current = await get('/current', { key: developer })
      assert.equal(current.status, 200)
      assert.equal(current.body.result.keyId, developer.keyId)
      assert.equal(current.body.result.name, 'readers')
      assert.deepEqual(current.body.result.roles, ['developer'])
      const single = await get(`/${await idOf(developer)}`)
      assert.deepEqual(single.body.result, current.body.result)
      assert.equal(single.headers.etag, current.headers.etag)
    })

    it('lists page by page, the newest first, those of this organization only', async () => {
      const { organizationId, get } = await setUp()
      await setUp()
      const timestamps = ['2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z', '2026-01-02T00:00:00.000Z']
      for (const now of timestamps) await app().addKey(organizationId, 'developer', { now })
      const idsOf = (result: { id: string }[]) => result.map(({ id }) => id)
      const whole = (await get()).body.result
      assert.equal(whole.length, 4)
      assert.deepEqual(
        whole.slice(1).map(({ createdAt }: { createdAt: string }) => createdAt),
        timestamps.toReversed(),
      )
      const first = await get('?limit=2')
      const next = /<([^>]+)>; rel="next"/.exec(String(first.headers.link))![1]!
      const second = await get(next.slice(next.indexOf('?')))
      assert.equal(second.headers.link, undefined)
      assert.deepEqual([...idsOf(first.body.result), ...idsOf(second.body.result)], idsOf(whole))
      assert.deepEqual((await get(`/${whole[3].id}`)).body.result, whole[3])
    })
  })

  describe('400', () => {
    it('refuses what a key signs in with as its id', async () => {
      const { admin, get } = await setUp()
      const { status, body } = await get(`/${admin.keyId}`)
      assert.equal(status, 400)
      assert.equal(body.error, `BAD_REQUEST: keyId must be a uuid, not "${admin.keyId}"`)
    })
  })

  describe('404', () => {
    it('names the key, and answers for a foreign one in the same way', async () => {
      const { organizationId, get, idOf } = await setUp()
      const other = await setUp()
      const missing = await get(`/${nobody}`)
      assert.equal(missing.status, 404)
      assert.equal(missing.body.error, `NOT_FOUND: key ${nobody} was not found in organization ${organizationId}`)
      const foreignId = await idOf(other.admin)
      const foreign = await get(`/${foreignId}`)
      assert.equal(foreign.text.replaceAll(foreignId, nobody), missing.text)
    })

    it('does not show the current key under another organization', async () => {
      const { admin } = await setUp()
      const other = await setUp()
      const { status, body } = await app().request('GET', `${other.url}/current`, { key: admin })
      assert.equal(status, 404)
      assert.equal(body.error, `NOT_FOUND: organization ${other.organizationId} was not found`)
    })
  })
})
