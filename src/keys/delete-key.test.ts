import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { onBothDatabases, type RequestOptions } from '../../test/harness/test-app.ts'
import type { KeyToInsert } from './store.ts'

const nobody = '00000000-0000-4000-8000-000000000000'

onBothDatabases('deleteKey', (app) => {
  async function setUp(more: Partial<KeyToInsert> = {}) {
    const { organizationId, admin } = await app().addOrganization()
    const url = `/v1/organizations/${organizationId}/keys`
    const other = await app().addKey(organizationId, 'developer', { name: 'other', ...more })
    const idOf = async ({ keyId }: { keyId: string }) =>
      (await app().query<{ id: string }>(`SELECT id FROM api_keys WHERE key_id = '${keyId}'`))[0]!.id
    const id = await idOf(other)
    const adminId = await idOf(admin)
    const remove = (of = id, options: RequestOptions = {}) =>
      app().request('DELETE', `${url}/${of}`, { key: admin, ...options })
    const get = (of = id) => app().request('GET', `${url}/${of}`, { key: admin })
    const activities = () =>
      app().query<{ type: string; target: string; changes: string }>(
        `SELECT * FROM activities WHERE organization_id = '${organizationId}' ORDER BY id`,
      )
    return { organizationId, adminId, other, id, url, remove, get, activities }
  }

  describe('200', () => {
    it('ends the key at once, answers without a result, and records which it was', async () => {
      const ipAccessList = [{ source: '127.0.0.1', description: 'here' }]
      const expireAt = '2099-12-31T00:00:00.000Z'
      const { other, id, url, remove, get, activities } = await setUp({ ipAccessList, expireAt })
      assert.equal((await app().request('GET', url, { key: other })).status, 200)
      const { status, body, headers } = await remove()
      assert.equal(status, 200)
      assert.deepEqual(body, { requestId: headers['x-request-id'], status: 200 })
      assert.equal((await app().request('GET', url, { key: other })).status, 401)
      assert.equal((await get()).status, 404)
      const [activity, ...others] = await activities()
      assert.deepEqual(others, [])
      assert.equal(activity!.type, 'key_deleted')
      assert.deepEqual(JSON.parse(activity!.target), { type: 'key', id })
      assert.deepEqual(JSON.parse(activity!.changes), [
        {
          field: 'key',
          from: { keyId: other.keyId, name: 'other', roles: ['developer'], state: 'enabled', expireAt, ipAccessList },
        },
      ])
    })
  })

  describe('404', () => {
    it('names the key, and answers for a foreign one in the same way', async () => {
      const { organizationId, remove } = await setUp()
      const foreign = await setUp()
      const missing = await remove(nobody)
      assert.equal(missing.status, 404)
      assert.equal(missing.body.error, `NOT_FOUND: key ${nobody} was not found in organization ${organizationId}`)
      const answer = await remove(foreign.id)
      assert.equal(answer.text.replaceAll(foreign.id, nobody), missing.text)
      assert.equal((await foreign.get()).status, 200)
    })
  })

  describe('409', () => {
    it('lets no key delete itself', async () => {
      const { adminId, remove, get, activities } = await setUp()
      const { status, body } = await remove(adminId)
      assert.equal(status, 409)
      assert.equal(
        body.error,
        `CONFLICT: this request was made with key ${adminId} itself, which cannot delete itself; use another admin key`,
      )
      assert.equal((await get(adminId)).status, 200)
      assert.deepEqual(await activities(), [])
    })
  })

  describe('412', () => {
    it('refuses another ETag', async () => {
      const { remove, get } = await setUp()
      assert.equal((await remove(undefined, { headers: { 'if-match': '"2"' } })).status, 412)
      assert.equal((await get()).status, 200)
      assert.equal((await remove(undefined, { headers: { 'if-match': '"1"' } })).status, 200)
    })
  })
})
