import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { onBothDatabases, type RequestOptions } from '../../test/harness/test-app.ts'
import { insertMember } from './store.ts'

const nobody = '00000000-0000-4000-8000-000000000000'

onBothDatabases('deleteMember', (app) => {
  const path = (organizationId: string, userId: string) => `/v1/organizations/${organizationId}/members/${userId}`

  /** An organization of its own for each test: one admin, one developer. */
  async function setUp() {
    const { organizationId, admin, adminUserId } = await app().addOrganization()
    const userId = await app().addMember(organizationId, 'developer')
    const activities = () =>
      app().query<{ type: string; target: string; changes: string }>(
        `SELECT * FROM activities WHERE organization_id = '${organizationId}' ORDER BY id`,
      )
    const remove = (of = userId, options: RequestOptions = {}) =>
      app().request('DELETE', path(organizationId, of), { key: admin, ...options })
    const get = (of = userId) => app().request('GET', path(organizationId, of), { key: admin })
    const adminCount = async () => {
      const text = `SELECT admin_count FROM organizations WHERE id = '${organizationId}'`
      return (await app().query<{ admin_count: number }>(text))[0]!.admin_count
    }
    return { organizationId, admin, adminUserId, userId, activities, remove, get, adminCount }
  }

  describe('200', () => {
    it('takes the member out, answers without a result, and records who it was', async () => {
      const { userId, activities, remove, get, adminCount } = await setUp()
      const { status, body, headers } = await remove()
      assert.equal(status, 200)
      assert.deepEqual(body, { requestId: headers['x-request-id'], status: 200 })
      assert.equal((await get()).status, 404)
      assert.equal(await adminCount(), 1)
      const [activity, ...others] = await activities()
      assert.deepEqual(others, [])
      assert.equal(activity!.type, 'member_removed')
      assert.deepEqual(JSON.parse(activity!.target), { type: 'member', id: userId })
      assert.deepEqual(JSON.parse(activity!.changes), [
        { field: 'member', from: { email: `${userId}@northwind.example`, role: 'developer' } },
      ])
    })

    it('takes an admin out when there is another, and counts the admins that are left', async () => {
      const { organizationId, adminUserId, remove, get, adminCount } = await setUp()
      const second = await app().addMember(organizationId, 'admin')
      assert.equal(await adminCount(), 2)
      assert.equal((await remove(adminUserId)).status, 200)
      assert.equal(await adminCount(), 1)
      assert.equal((await remove(second)).status, 409)
      assert.equal((await get(second)).body.result.role, 'admin')
    })

    it('leaves the user and the memberships in other organizations', async () => {
      const { userId, remove } = await setUp()
      const other = await app().addOrganization()
      const now = new Date().toISOString()
      await insertMember(app().sql, { organizationId: other.organizationId, userId, role: 'admin', now })
      assert.equal((await remove()).status, 200)
      const there = await app().request('GET', path(other.organizationId, userId), { key: other.admin })
      assert.equal(there.body.result.role, 'admin')
      assert.equal((await app().query(`SELECT id FROM users WHERE id = '${userId}'`)).length, 1)
    })

    it('honours If-Match with the present ETag', async () => {
      const { remove, get } = await setUp()
      const { etag } = (await get()).headers
      assert.equal((await remove(undefined, { headers: { 'if-match': String(etag) } })).status, 200)
    })

    it('gives a retry with the same Idempotency-Key the same answer, and another request a 404', async () => {
      const { remove, activities } = await setUp()
      const headers = { 'idempotency-key': 'remove-once' }
      assert.equal((await remove(undefined, { headers })).status, 200)
      assert.equal((await remove(undefined, { headers })).status, 200)
      assert.equal((await remove()).status, 404)
      assert.equal((await activities()).length, 1)
    })
  })

  describe('403', () => {
    it('refuses a developer key', async () => {
      const { organizationId, remove, get } = await setUp()
      const key = await app().addKey(organizationId, 'developer')
      assert.equal((await remove(undefined, { key })).status, 403)
      assert.equal((await get()).status, 200)
    })
  })

  describe('404', () => {
    it('names the member that is not there, and answers for a foreign one in the same way', async () => {
      const { organizationId, remove, activities } = await setUp()
      const other = await app().addOrganization()
      const missing = await remove(nobody)
      assert.equal(missing.status, 404)
      assert.deepEqual(missing.body, {
        error: `NOT_FOUND: member ${nobody} was not found in organization ${organizationId}`,
        status: 404,
      })
      const foreign = await remove(other.adminUserId)
      assert.equal(foreign.text.replaceAll(other.adminUserId, nobody), missing.text)
      assert.deepEqual(await activities(), [])
    })
  })

  describe('409', () => {
    it('keeps the last admin, in the words of updateMember', async () => {
      const { organizationId, admin, adminUserId, remove, get, activities, adminCount } = await setUp()
      const removed = await remove(adminUserId)
      assert.equal(removed.status, 409)
      const demoted = await app().request('PATCH', path(organizationId, adminUserId), {
        key: admin,
        body: { role: 'developer' },
      })
      assert.deepEqual(removed.body, demoted.body)
      const rich = await remove(adminUserId, { headers: { accept: 'application/problem+json' } })
      assert.equal(rich.body.code, 'last_admin')
      assert.equal((await get(adminUserId)).body.result.role, 'admin')
      assert.equal(await adminCount(), 1)
      assert.deepEqual(await activities(), [])
    })
  })

  describe('412', () => {
    it('refuses an ETag from before a change', async () => {
      const { organizationId, admin, userId, remove, get } = await setUp()
      const { etag } = (await get()).headers
      await app().request('PATCH', path(organizationId, userId), { key: admin, body: { role: 'admin' } })
      assert.equal((await remove(undefined, { headers: { 'if-match': String(etag) } })).status, 412)
      assert.equal((await get()).body.result.role, 'admin')
    })

    it('refuses every earlier ETag for a member who has joined again', async () => {
      const { organizationId, admin, userId, remove, get, adminCount } = await setUp()
      const etags = [String((await get()).headers.etag)]
      for (const role of ['admin', 'developer']) {
        await app().request('PATCH', path(organizationId, userId), { key: admin, body: { role } })
        etags.push(String((await get()).headers.etag))
      }
      const other = await app().addMember(organizationId, 'developer')
      const otherBefore = (await get(other)).headers.etag
      for (const role of ['developer', 'admin'] as const) {
        assert.equal((await remove()).status, 200)
        await insertMember(app().sql, { organizationId, userId, role, now: new Date().toISOString() })
        const { etag } = (await get()).headers
        for (const old of etags) {
          assert.notEqual(etag, old)
          assert.equal((await remove(undefined, { headers: { 'if-match': old } })).status, 412)
        }
        etags.push(String(etag))
      }
      assert.equal(await adminCount(), 2)
      // Removing a member with a lower version does not lower the first version.
      assert.equal((await get(other)).headers.etag, otherBefore)
      assert.equal((await remove(other)).status, 200)
      assert.equal((await remove()).status, 200)
      await insertMember(app().sql, { organizationId, userId, role: 'developer', now: new Date().toISOString() })
      assert.ok(!etags.includes(String((await get()).headers.etag)))
    })
  })
})
