import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Visitor } from '../../test/harness/console-visitor.ts'
import { onBothDatabases } from '../../test/harness/test-app.ts'

onBothDatabases('updateAccount', (app) => {
  async function setUp() {
    const { organizationId, admin } = await app().addOrganization()
    const userId = await app().addMember(organizationId, 'developer')
    const visitor = new Visitor(app())
    await visitor.signInAs(userId)
    const update = (body: unknown, headers: Record<string, string> = {}) =>
      visitor.request('PATCH', '/console/api/account', body, headers)
    const member = () => app().request('GET', `/v1/organizations/${organizationId}/members/${userId}`, { key: admin })
    return { userId, visitor, update, member }
  }

  describe('200', () => {
    it('changes the name, everywhere it is seen, and with it the ETag of the member', async () => {
      const { userId, visitor, update, member } = await setUp()
      const { etag } = (await member()).headers
      const { status, body } = await update({ name: 'Noor Haddad' })
      assert.equal(status, 200)
      assert.deepEqual(body.result, { id: userId, name: 'Noor Haddad', email: `${userId}@northwind.example` })
      const after = await member()
      assert.equal(after.body.result.name, 'Noor Haddad')
      assert.notEqual(after.headers.etag, etag)
      assert.equal((await visitor.session()).user.name, 'Noor Haddad')
    })

    it('leaves the ETag when the name is the same', async () => {
      const { update, member } = await setUp()
      const before = await member()
      assert.equal((await update({ name: before.body.result.name })).status, 200)
      assert.equal((await member()).headers.etag, before.headers.etag)
    })
  })

  describe('400', () => {
    it('rejects an invalid body', async () => {
      const { update } = await setUp()
      for (const body of [
        {},
        { name: '' },
        { name: ' ' },
        { name: null },
        { name: 'N'.repeat(101) },
        { email: 'other@x.example' },
      ]) {
        assert.equal((await update(body)).status, 400, JSON.stringify(body))
      }
    })
  })

  describe('401', () => {
    it('needs a session', async () => {
      const { status } = await new Visitor(app()).request('PATCH', '/console/api/account', { name: 'Nobody' })
      assert.equal(status, 401)
    })
  })

  describe('403', () => {
    it('needs the CSRF token', async () => {
      const { update } = await setUp()
      assert.equal((await update({ name: 'Noor' }, { 'x-csrf-token': 'another' })).status, 403)
    })
  })
})
