import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { onBothDatabases, type TestApp } from '../../test/harness/test-app.ts'
import { memberUpdates, problemJson } from '../../test/harness/update-member.ts'
import { newTimeOrderedId, timeOfId } from '../lib/id.ts'
import { insertMember } from './store.ts'

onBothDatabases('updateMember', (app) => {
  const { path, setUp } = memberUpdates(app)

  describe('200', () => {
    it('changes the role both ways, and gives the whole member in the envelope', async () => {
      const { userId, patch, get } = await setUp()
      const before = await get()
      for (const role of ['admin', 'developer']) {
        const { status, body, headers } = await patch({ role })
        assert.equal(status, 200)
        assert.deepEqual(body, {
          requestId: headers['x-request-id'],
          result: {
            userId,
            name: `User ${userId.slice(0, 8)}`,
            email: `${userId}@northwind.example`,
            role,
            joinedAt: before.body.result.joinedAt,
          },
          status: 200,
        })
        assert.match(body.result.joinedAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
        assert.deepEqual((await get()).body.result, body.result)
      }
    })

    it('records who changed which role from what to what', async () => {
      const { admin, userId, patch, activities } = await setUp()
      const started = new Date().toISOString()
      const first = await patch({ role: 'admin' }, { address: '192.0.2.44', headers: { 'user-agent': 'curl/8.9' } })
      await patch({ role: 'developer' })

      const rows = await activities()
      assert.deepEqual(
        rows.map((row) => JSON.parse(row.changes)),
        [[{ field: 'role', from: 'developer', to: 'admin' }], [{ field: 'role', from: 'admin', to: 'developer' }]],
      )
      const row = rows[0]!
      const [key] = await app().query<{ id: string }>(`SELECT id FROM api_keys WHERE key_id = '${admin.keyId}'`)
      assert.equal(row.type, 'member_role_changed')
      assert.deepEqual(JSON.parse(row.target), { type: 'member', id: userId })
      assert.equal(row.actor_id, key!.id)
      assert.equal(row.address, '192.0.2.44')
      assert.equal(row.user_agent, 'curl/8.9')
      assert.equal(row.request_id, first.body.requestId)
      // Ids of a process only grow, and activities have their time: another file may have sealed activities ahead of the clock.
      const latest = new Date(timeOfId(newTimeOrderedId())).toISOString()
      assert.ok(row.created_at >= started && row.created_at <= latest, row.created_at)
    })

    it('gives a new ETag with every change, the one that a GET gives then', async () => {
      const { patch, get } = await setUp()
      const seen = new Set([(await get()).headers.etag])
      for (const role of ['admin', 'developer', 'admin']) {
        const { etag } = (await patch({ role })).headers
        assert.match(String(etag), /^"[^"]+"$/)
        assert.equal((await get()).headers.etag, etag)
        seen.add(etag)
      }
      assert.equal(seen.size, 4)
    })

    it('changes nothing and records nothing when the member has the role already', async () => {
      const { adminUserId, patch, get, activities } = await setUp()
      for (const [userId, role] of [
        [undefined, 'developer'],
        [adminUserId, 'admin'],
      ] as const) {
        const before = await get(userId)
        const { status, body, headers } = await patch({ role }, {}, userId)
        assert.equal(status, 200)
        assert.deepEqual(body.result, before.body.result)
        assert.equal(headers.etag, before.headers.etag)
      }
      assert.deepEqual(await activities(), [])
    })

    it('accepts fields that cannot be changed with their present value, all or some', async () => {
      const { patch, get, activities } = await setUp()
      const { result } = (await get()).body
      const whole = await patch({ ...result, role: 'admin' })
      assert.equal(whole.status, 200)
      assert.deepEqual(whole.body.result, { ...result, role: 'admin' })
      const some = await patch({ joinedAt: result.joinedAt, role: 'developer' })
      assert.equal(some.status, 200)
      const asItIs = await patch((await get()).body.result)
      assert.equal(asItIs.status, 200)
      assert.equal(asItIs.headers.etag, some.headers.etag)
      assert.equal((await activities()).length, 2)
    })

    it('changes the role in this organization only', async () => {
      const { organizationId, admin, userId, patch } = await setUp()
      const other = await app().addOrganization()
      const now = new Date().toISOString()
      await insertMember(app().sql, { organizationId: other.organizationId, userId, role: 'developer', now })
      assert.equal((await patch({ role: 'admin' })).status, 200)

      const there = await app().request('GET', path(other.organizationId, userId), { key: other.admin })
      assert.equal(there.body.result.role, 'developer')
      assert.equal(there.headers.etag, '"1.1"')
      const here = await app().request('GET', path(organizationId, userId), { key: admin })
      assert.equal(here.body.result.role, 'admin')
    })

    it('takes ids in capitals, and gives them back in small letters', async () => {
      const { organizationId, admin, userId } = await setUp()
      const url = path(organizationId.toUpperCase(), userId.toUpperCase())
      const { status, body } = await app().request('PATCH', url, { key: admin, body: { role: 'admin' } })
      assert.equal(status, 200)
      assert.equal(body.result.userId, userId)
      assert.equal(body.result.role, 'admin')
    })

    it('accepts a trailing slash', async () => {
      const { organizationId, admin, userId } = await setUp()
      const url = `${path(organizationId, userId)}/`
      const { status, body } = await app().request('PATCH', url, { key: admin, body: { role: 'admin' } })
      assert.equal(status, 200)
      assert.equal(body.result.role, 'admin')
    })

    it('accepts If-Match with the present ETag, with *, and with a list that has it', async () => {
      const { patch, get } = await setUp()
      let role = 'developer'
      for (const ifMatch of [
        (etag: string) => etag,
        () => '*',
        (etag: string) => `"9.9", ${etag}`,
        (etag: string) => `${etag},"9.9"`,
        (etag: string) => `W/"9.9" , ${etag}`,
      ]) {
        role = role === 'admin' ? 'developer' : 'admin'
        const sent = ifMatch(String((await get()).headers.etag))
        const { status, body } = await patch({ role }, { headers: { 'if-match': sent } })
        assert.equal(status, 200, sent)
        assert.equal(body.result.role, role)
      }
    })
  })

  describe('409', () => {
    it('keeps the last admin, and says so in both kinds of error', async () => {
      const all = await setUp()
      const { organizationId, adminUserId } = all
      const sentence = `member ${adminUserId} is the only admin of organization ${organizationId}; make another member an admin first`
      const plain = await all.patch({ role: 'developer' }, {}, adminUserId)
      assert.equal(plain.status, 409)
      assert.deepEqual(plain.body, { error: `CONFLICT: ${sentence}`, status: 409 })

      const rich = await all.patch({ role: 'developer' }, { headers: problemJson }, adminUserId)
      assert.equal(rich.status, 409)
      assert.match(String(rich.headers['content-type']), /^application\/problem\+json/)
      assert.equal(rich.body.code, 'last_admin')
      assert.equal(rich.body.detail, sentence)

      assert.equal((await all.get(adminUserId)).body.result.role, 'admin')
      assert.deepEqual(await all.activities(), [])
    })

    it('lets an admin go as soon as there is another, and then keeps the other', async () => {
      const { adminUserId, userId, patch } = await setUp()
      assert.equal((await patch({ role: 'admin' })).status, 200)
      assert.equal((await patch({ role: 'developer' }, {}, adminUserId)).status, 200)
      assert.equal((await patch({ role: 'developer' }, {}, userId)).status, 409)
    })

    it('does not count the admins of other organizations', async () => {
      const { adminUserId, patch } = await setUp()
      const other = await app().addOrganization()
      const now = new Date().toISOString()
      await insertMember(app().sql, { organizationId: other.organizationId, userId: adminUserId, role: 'admin', now })
      assert.equal((await patch({ role: 'developer' }, {}, adminUserId)).status, 409)
    })

    it('keeps one admin when all are demoted at once', async () => {
      const { organizationId, adminUserId, userId, patch, activities } = await setUp()
      const others = [userId, await app().addMember(organizationId, 'admin')]
      for (let round = 0; round < 5; round++) {
        for (const each of [adminUserId, ...others]) await patch({ role: 'admin' }, {}, each)
        const before = (await activities()).length
        const answers = await Promise.all(
          [adminUserId, ...others].map((each) => patch({ role: 'developer' }, {}, each)),
        )
        assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 200, 409])
        assert.equal(await adminsOf(app(), organizationId), 1)
        assert.equal((await activities()).length - before, 2)
      }
    })
  })
})

async function adminsOf(app: TestApp, organizationId: string): Promise<number> {
  const rows = await app.query<{ role: string }>(`SELECT role FROM members WHERE organization_id = '${organizationId}'`)
  return rows.filter(({ role }) => role === 'admin').length
}
