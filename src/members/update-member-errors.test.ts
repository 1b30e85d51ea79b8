// Refused updates of a member: 400, 403, 404 and 412.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { onBothDatabases, type TestResponse } from '../../test/harness/test-app.ts'
import { memberUpdates, problemJson } from '../../test/harness/update-member.ts'
import { newId } from '../lib/id.ts'

const nobody = '00000000-0000-4000-8000-000000000000'

onBothDatabases('updateMember', (app) => {
  const { path, setUp } = memberUpdates(app)

  /** A rejected request leaves the member unchanged and records no activity. */
  async function assertUntouched({ get, activities }: Awaited<ReturnType<typeof setUp>>, before: TestResponse) {
    const after = await get()
    assert.deepEqual(after.body.result, before.body.result)
    assert.equal(after.headers.etag, before.headers.etag)
    assert.deepEqual(await activities(), [])
  }

  describe('400', () => {
    const refused: [string, unknown, string][] = [
      ['an empty object', {}, 'role is required'],
      ['an unknown role', { role: 'owner' }, 'role must be one of admin, developer, not "owner"'],
      ['a role in capitals', { role: 'ADMIN' }, 'role must be one of admin, developer, not "ADMIN"'],
      ['a role with white space', { role: 'admin ' }, 'role must be one of admin, developer, not "admin "'],
      ['an empty role', { role: '' }, 'role must be one of admin, developer, not ""'],
      ['null', { role: null }, 'role must be one of admin, developer, not null'],
      ['a number', { role: 1 }, 'role must be one of admin, developer, not 1'],
      ['a boolean', { role: true }, 'role must be one of admin, developer, not true'],
      ['a list', { role: ['admin'] }, 'role must be one of admin, developer, not a list'],
      ['an object', { role: { name: 'admin' } }, 'role must be one of admin, developer, not an object'],
      ['a misspelt field', { rol: 'admin' }, 'rol is not a known field, did you mean "role"?; role is required'],
      ['an unknown field', { role: 'admin', permissions: [] }, 'permissions is not a known field'],
      ['a list for a body', [{ role: 'admin' }], 'the body must be an object, not a list'],
      ['a string for a body', 'admin', 'the body must be an object, not "admin"'],
      ['null for a body', null, 'the body must be an object, not null'],
    ]
    for (const [name, body, sentence] of refused) {
      it(`refuses ${name}`, async () => {
        const all = await setUp()
        const before = await all.get()
        const answer = await all.patch(body)
        assert.equal(answer.status, 400)
        assert.deepEqual(answer.body, { error: `BAD_REQUEST: ${sentence}`, status: 400 })
        await assertUntouched(all, before)
      })
    }

    it('refuses no body at all', async () => {
      const all = await setUp()
      const { status, body } = await all.patch(undefined)
      assert.equal(status, 400)
      assert.match(body.error, /^BAD_REQUEST: the body is empty/)
    })

    it('refuses another value for a field that cannot be changed, and says what it is', async () => {
      const all = await setUp()
      const before = await all.get()
      for (const [field, value] of Object.entries({
        userId: newId(),
        name: 'Somebody Else',
        email: 'somebody@else.example',
        joinedAt: '2020-01-01T00:00:00.000Z',
      })) {
        const { status, body } = await all.patch({ role: 'admin', [field]: value })
        assert.equal(status, 400)
        assert.equal(
          body.error,
          `BAD_REQUEST: ${field} cannot be changed (it is ${JSON.stringify(before.body.result[field])})`,
        )
      }
      for (const value of [null, 7, {}]) {
        const { status, body } = await all.patch({ role: 'admin', name: value })
        assert.equal(status, 400)
        assert.match(body.error, /^BAD_REQUEST: name cannot be changed/)
      }
      await assertUntouched(all, before)
    })

    it('still requires the role beside fields that cannot be changed', async () => {
      const all = await setUp()
      const { name } = (await all.get()).body.result
      const { status, body } = await all.patch({ name })
      assert.equal(status, 400)
      assert.equal(body.error, 'BAD_REQUEST: role is required')
    })

    it('reports every problem at once', async () => {
      const all = await setUp()
      const before = await all.get()
      const { email } = before.body.result
      const { status, body } = await all.patch(
        { role: 'owner', team: 'blue', email: 'somebody@else.example' },
        { headers: problemJson },
      )
      assert.equal(status, 400)
      assert.equal(body.code, 'invalid_body')
      assert.deepEqual(
        body.errors.toSorted((a: { pointer: string }, b: { pointer: string }) => a.pointer.localeCompare(b.pointer)),
        [
          { pointer: '#/email', detail: `email cannot be changed (it is ${JSON.stringify(email)})` },
          { pointer: '#/role', detail: 'role must be one of admin, developer, not "owner"' },
          { pointer: '#/team', detail: 'team is not a known field' },
        ],
      )
      for (const { detail } of body.errors) assert.ok(body.detail.includes(detail), detail)
      await assertUntouched(all, before)
    })

    it('refuses a malformed If-Match', async () => {
      const all = await setUp()
      const before = await all.get()
      for (const ifMatch of ['1.1', '"1.1', "'1.1'", 'W/1.1', 'w/"1.1"', '"1.1" "1.2"', '*, "1.1"', '**']) {
        const { status, body } = await all.patch({ role: 'admin' }, { headers: { 'if-match': ifMatch } })
        assert.equal(status, 400, ifMatch)
        assert.equal(body.error, 'BAD_REQUEST: If-Match must be * or entity tags in quotes, as in the ETag header')
      }
      await assertUntouched(all, before)
    })

    it('refuses malformed ids, each by its name', async () => {
      const { organizationId, admin, userId } = await setUp()
      for (const [url, name] of [
        [path(organizationId, 'amara'), 'userId'],
        [path(organizationId, `${userId}0`), 'userId'],
        [path(organizationId, userId.replaceAll('-', '')), 'userId'],
        [path('northwind', userId), 'organizationId'],
      ] as const) {
        const { status, body } = await app().request('PATCH', url, { key: admin, body: { role: 'admin' } })
        assert.equal(status, 400)
        assert.match(body.error, new RegExp(`^BAD_REQUEST: ${name} must be a uuid, not "`))
      }
    })
  })

  describe('403', () => {
    it('refuses a developer key, whatever it sends', async () => {
      const all = await setUp()
      const before = await all.get()
      const key = await app().addKey(all.organizationId, 'developer')
      for (const body of [{ role: 'admin' }, { role: 'developer' }, {}]) {
        const answer = await all.patch(body, { key })
        assert.equal(answer.status, 403)
        assert.deepEqual(answer.body, {
          error:
            'FORBIDDEN: Update organization member needs a key with the role admin; this key has the role developer',
          status: 403,
        })
      }
      await assertUntouched(all, before)
    })
  })

  describe('404', () => {
    it('names the member that is not there', async () => {
      const { organizationId, patch, activities } = await setUp()
      for (const headers of [{}, { 'if-match': '"1.1"' }]) {
        const { status, body } = await patch({ role: 'admin' }, { headers }, nobody)
        assert.equal(status, 404)
        assert.deepEqual(body, {
          error: `NOT_FOUND: member ${nobody} was not found in organization ${organizationId}`,
          status: 404,
        })
      }
      assert.deepEqual(await activities(), [])
    })

    it('answers for a member of another organization as for one that does not exist', async () => {
      const { patch } = await setUp()
      const other = await app().addOrganization()
      const foreign = await patch({ role: 'developer' }, {}, other.adminUserId)
      const missing = await patch({ role: 'developer' }, {}, nobody)
      assert.equal(foreign.status, 404)
      assertSame(foreign, missing, [[other.adminUserId, nobody]])
    })

    it('answers for another organization as for one that does not exist', async () => {
      const { admin } = await setUp()
      const other = await app().addOrganization()
      const send = (organizationId: string, userId: string, body: unknown) =>
        app().request('PATCH', path(organizationId, userId), { key: admin, body })
      for (const body of [{ role: 'developer' }, { role: 'owner' }]) {
        const foreign = await send(other.organizationId, other.adminUserId, body)
        const missing = await send(nobody, other.adminUserId, body)
        assert.equal(foreign.status, 404)
        assertSame(foreign, missing, [[other.organizationId, nobody]])
      }
      const untouched = await app().request('GET', path(other.organizationId, other.adminUserId), { key: other.admin })
      assert.equal(untouched.body.result.role, 'admin')
    })
  })

  describe('412', () => {
    it('refuses an ETag that is not the present one', async () => {
      const all = await setUp()
      const before = await all.get()
      const etag = String(before.headers.etag)
      for (const ifMatch of ['"9.9"', '"9.9", "8.8"', `W/${etag}`, '""', '"*"']) {
        for (const role of ['admin', 'developer']) {
          const { status, body } = await all.patch({ role }, { headers: { 'if-match': ifMatch } })
          assert.equal(status, 412, ifMatch)
          assert.match(body.error, /^PRECONDITION_FAILED: If-Match does not match/)
          assert.ok(body.error.includes(etag), body.error)
        }
      }
      const rich = await all.patch({ role: 'admin' }, { headers: { ...problemJson, 'if-match': '"9.9"' } })
      assert.equal(rich.body.code, 'version_mismatch')
      await assertUntouched(all, before)
    })

    it('refuses the ETag from before a change of the role', async () => {
      const { patch, get } = await setUp()
      const { etag } = (await get()).headers
      await patch({ role: 'admin' })
      const { status } = await patch({ role: 'developer' }, { headers: { 'if-match': String(etag) } })
      assert.equal(status, 412)
      assert.equal((await get()).body.result.role, 'admin')
    })

    it('refuses the ETag from before a change of the profile', async () => {
      const { userId, patch, get } = await setUp()
      const { etag } = (await get()).headers
      await app().query(`UPDATE users SET name = 'Renamed', version = version + 1 WHERE id = '${userId}'`)
      assert.notEqual((await get()).headers.etag, etag)
      assert.equal((await patch({ role: 'admin' }, { headers: { 'if-match': String(etag) } })).status, 412)
    })

    it('lets one of several changes with the same ETag through', async () => {
      const { patch, get, activities } = await setUp()
      const headers = { 'if-match': String((await get()).headers.etag) }
      const answers = await Promise.all(Array.from({ length: 5 }, () => patch({ role: 'admin' }, { headers })))
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 412, 412, 412, 412])
      assert.equal((await activities()).length, 1)
    })
  })
})

/** The same answer to the byte, once the ids of the one are written for those of the other. */
function assertSame(answer: TestResponse, other: TestResponse, ids: [string, string][]): void {
  const headersOf = ({ headers }: TestResponse) => ({ ...headers, 'x-request-id': '', date: '' })
  assert.equal(answer.status, other.status)
  assert.equal(
    ids.reduce((text, [from, to]) => text.replaceAll(from, to), answer.text),
    other.text,
  )
  assert.deepEqual(headersOf(answer), headersOf(other))
}
