import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { onBothDatabases, type RequestOptions } from '../../test/harness/test-app.ts'

const nobody = '00000000-0000-4000-8000-000000000000'

onBothDatabases('listInvitations, getInvitation and deleteInvitation', (app) => {
  /** An organization of its own for each test, with an invitation. */
  async function setUp() {
    const { organizationId, admin } = await app().addOrganization()
    const url = `/v1/organizations/${organizationId}/invitations`
    const invite = async (email: string) => {
      const { status, body } = await app().request('POST', url, { key: admin, body: { email, role: 'developer' } })
      assert.equal(status, 200)
      const { link: _, ...invitation } = body.result
      return invitation
    }
    const invitation = await invite('noor@northwind.example')
    const get = (id = invitation.id, options: RequestOptions = {}) =>
      app().request('GET', `${url}/${id}`, { key: admin, ...options })
    const remove = (id = invitation.id, options: RequestOptions = {}) =>
      app().request('DELETE', `${url}/${id}`, { key: admin, ...options })
    const list = (query = '', options: RequestOptions = {}) =>
      app().request('GET', `${url}${query}`, { key: admin, ...options })
    const activities = () =>
      app().query<{ type: string; target: string; changes: string }>(
        `SELECT * FROM activities WHERE organization_id = '${organizationId}' ORDER BY id`,
      )
    return { organizationId, admin, invitation, invite, get, remove, list, activities }
  }

  describe('200', () => {
    it('shows an invitation with an ETag, to developers too', async () => {
      const { organizationId, invitation, get, list } = await setUp()
      const key = await app().addKey(organizationId, 'developer')
      const single = await get(undefined, { key })
      assert.equal(single.status, 200)
      assert.deepEqual(single.body.result, invitation)
      assert.equal(single.headers.etag, '"1"')
      assert.deepEqual((await list('', { key })).body.result, [invitation])
    })

    it('shows those that have expired', async () => {
      const { organizationId, invitation, get, list } = await setUp()
      const expireAt = '2026-01-01T00:00:00.000Z'
      await app().query(`UPDATE invitations SET expire_at = '${expireAt}' WHERE organization_id = '${organizationId}'`)
      assert.deepEqual((await get()).body.result, { ...invitation, expireAt })
      assert.deepEqual((await list()).body.result, [{ ...invitation, expireAt }])
    })

    it('lists page by page, the newest first, those of this organization only', async () => {
      const { organizationId, invitation, invite, list } = await setUp()
      const others = await setUp()
      const second = await invite('second@northwind.example')
      const third = await invite('third@northwind.example')
      for (const [index, { id }] of [invitation, second, third].entries()) {
        const createdAt = `2026-01-0${index + 1}T00:00:00.000Z`
        await app().query(`UPDATE invitations SET created_at = '${createdAt}' WHERE id = '${id}'`)
      }
      const first = await list('?limit=2')
      const idsOf = (result: { id: string }[]) => result.map(({ id }) => id)
      assert.deepEqual(idsOf(first.body.result), [third.id, second.id])
      const next = /<([^>]+)>; rel="next"/.exec(String(first.headers.link))![1]!
      assert.ok(next.startsWith(`/v1/organizations/${organizationId}/invitations?`))
      const rest = await list(next.slice(next.indexOf('?')))
      assert.deepEqual(idsOf(rest.body.result), [invitation.id])
      assert.equal(rest.headers.link, undefined)
      assert.deepEqual(idsOf((await others.list()).body.result), [others.invitation.id])
    })

    it('deletes, answers without a result, and records what it was', async () => {
      const { invitation, get, remove, list, activities } = await setUp()
      const { status, body, headers } = await remove()
      assert.equal(status, 200)
      assert.deepEqual(body, { requestId: headers['x-request-id'], status: 200 })
      assert.equal((await get()).status, 404)
      assert.deepEqual((await list()).body.result, [])
      const activity = (await activities()).at(-1)!
      assert.equal(activity.type, 'invitation_deleted')
      assert.deepEqual(JSON.parse(activity.target), { type: 'invitation', id: invitation.id })
      assert.deepEqual(JSON.parse(activity.changes), [
        { field: 'invitation', from: { email: 'noor@northwind.example', role: 'developer' } },
      ])
    })
  })

  describe('400', () => {
    it('refuses a malformed id', async () => {
      const { get, remove } = await setUp()
      for (const { status, body } of [await get('noor'), await remove('noor')]) {
        assert.equal(status, 400)
        assert.equal(body.error, 'BAD_REQUEST: invitationId must be a uuid, not "noor"')
      }
    })
  })

  describe('403', () => {
    it('lets no developer delete', async () => {
      const { organizationId, get, remove } = await setUp()
      const key = await app().addKey(organizationId, 'developer')
      assert.equal((await remove(undefined, { key })).status, 403)
      assert.equal((await get()).status, 200)
    })
  })

  describe('404', () => {
    it('names the invitation, and answers for a foreign one in the same way', async () => {
      const { organizationId, get, remove, activities } = await setUp()
      const other = await setUp()
      for (const ask of [get, remove]) {
        const missing = await ask(nobody)
        assert.equal(missing.status, 404)
        assert.equal(
          missing.body.error,
          `NOT_FOUND: invitation ${nobody} was not found in organization ${organizationId}`,
        )
        const foreign = await ask(other.invitation.id)
        assert.equal(foreign.text.replaceAll(other.invitation.id, nobody), missing.text)
      }
      assert.equal((await other.get()).status, 200)
      assert.equal((await activities()).length, 1)
    })
  })

  describe('412', () => {
    it('refuses another ETag', async () => {
      const { get, remove } = await setUp()
      assert.equal((await remove(undefined, { headers: { 'if-match': '"2"' } })).status, 412)
      assert.equal((await get()).status, 200)
      assert.equal((await remove(undefined, { headers: { 'if-match': '"1"' } })).status, 200)
    })
  })
})
