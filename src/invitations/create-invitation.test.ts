import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { onBothDatabases, type RequestOptions } from '../../test/harness/test-app.ts'
import { newId } from '../lib/id.ts'
import { insertMember, insertUser } from '../members/store.ts'

interface InvitationRow {
  id: string
  email: string
  token_hash: string
}

const problemJson = { accept: 'application/problem+json' }

onBothDatabases('createInvitation', (app) => {
  /** An organization of its own for each test. */
  async function setUp() {
    const { organizationId, admin, adminUserId } = await app().addOrganization()
    const url = `/v1/organizations/${organizationId}/invitations`
    const create = (body: unknown, options: RequestOptions = {}) =>
      app().request('POST', url, { key: admin, body, ...options })
    const list = () => app().request('GET', url, { key: admin })
    const rows = () =>
      app().query<InvitationRow>(`SELECT * FROM invitations WHERE organization_id = '${organizationId}'`)
    const activities = () =>
      app().query<{ type: string; target: string; changes: string }>(
        `SELECT * FROM activities WHERE organization_id = '${organizationId}' ORDER BY id`,
      )
    return { organizationId, admin, adminUserId, url, create, list, rows, activities }
  }

  describe('200', () => {
    it('gives the invitation and a link, and keeps the invitation for seven days', async () => {
      const { admin, url, create, list } = await setUp()
      const { status, body } = await create({ email: 'noor@northwind.example', role: 'developer' })
      assert.equal(status, 200)
      const { link, ...invitation } = body.result
      assert.deepEqual(Object.keys(invitation), ['id', 'email', 'role', 'createdAt', 'expireAt'])
      assert.equal(invitation.email, 'noor@northwind.example')
      assert.equal(invitation.role, 'developer')
      assert.equal(Date.parse(invitation.expireAt) - Date.parse(invitation.createdAt), 7 * 24 * 3_600_000)
      assert.ok(Math.abs(Date.parse(invitation.createdAt) - Date.now()) < 60_000)
      assert.match(link, /^https:\/\/penstock\.example\.com\/console\/invitations\/accept#inv_[0-9A-Za-z]{43}$/)
      assert.deepEqual((await app().request('GET', `${url}/${invitation.id}`, { key: admin })).body.result, invitation)
      assert.deepEqual((await list()).body.result, [invitation])
    })

    it('stores the email in lower case', async () => {
      const { create } = await setUp()
      const { body } = await create({ email: 'Noor.Haddad@NorthWind.Example', role: 'admin' })
      assert.equal(body.result.email, 'noor.haddad@northwind.example')
      assert.equal(body.result.role, 'admin')
    })

    it('takes an email of 254 characters', async () => {
      const { create } = await setUp()
      const email = `noor@${'a'.repeat(60)}.${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(60)}.${'e'.repeat(5)}`
      assert.equal(email.length, 254)
      assert.equal((await create({ email, role: 'developer' })).status, 200)
      assert.equal((await create({ email: `m${email}`, role: 'developer' })).status, 400)
    })

    it('shows the token in no other answer, no row, no activity and no log line', async () => {
      const { admin, url, create, list, rows, activities } = await setUp()
      const { result } = (await create({ email: 'noor@northwind.example', role: 'developer' })).body
      const token = result.link.split('#')[1]
      const stored = await rows()
      assert.equal(stored[0]!.token_hash, app().app.vault.fingerprint('invitation', token))
      const single = await app().request('GET', `${url}/${result.id}`, { key: admin })
      const deleted = await app().request('DELETE', `${url}/${result.id}`, { key: admin })
      const outputs = [stored, await activities(), app().logged, single.text, (await list()).text, deleted.text]
      assert.equal((await activities()).length, 2)
      for (const output of outputs) assert.ok(!JSON.stringify(output).includes(token.slice(4)))
    })

    it('records who was invited as what', async () => {
      const { create, activities } = await setUp()
      const { result } = (await create({ email: 'noor@northwind.example', role: 'admin' })).body
      const [activity, ...others] = await activities()
      assert.deepEqual(others, [])
      assert.equal(activity!.type, 'invitation_created')
      assert.deepEqual(JSON.parse(activity!.target), { type: 'invitation', id: result.id })
      assert.deepEqual(JSON.parse(activity!.changes), [
        { field: 'invitation', to: { email: 'noor@northwind.example', role: 'admin' } },
      ])
    })

    it('gives a retry with the same Idempotency-Key the same link, and stores none of it in the clear', async () => {
      const { organizationId, create, rows } = await setUp()
      const body = { email: 'noor@northwind.example', role: 'developer' }
      const first = await create(body, { headers: { 'idempotency-key': 'invite-noor' } })
      const second = await create(body, { headers: { 'idempotency-key': 'invite-noor' } })
      assert.equal(second.status, 200)
      assert.deepEqual(second.body.result, first.body.result)
      assert.equal((await rows()).length, 1)
      const records = await app().query(`SELECT * FROM idempotency_records WHERE organization_id = '${organizationId}'`)
      assert.equal(records.length, 1)
      assert.ok(!JSON.stringify(records).includes(first.body.result.link.split('#inv_')[1]))
    })

    it('replaces an expired invitation of the same person', async () => {
      const { organizationId, create, list, activities } = await setUp()
      const body = { email: 'noor@northwind.example', role: 'developer' }
      const old = (await create(body)).body.result
      await app().query(
        `UPDATE invitations SET expire_at = '2026-01-01T00:00:00.000Z' WHERE organization_id = '${organizationId}'`,
      )
      const { status, body: answer } = await create({ ...body, role: 'admin' })
      assert.equal(status, 200)
      assert.notEqual(answer.result.id, old.id)
      assert.notEqual(answer.result.link, old.link)
      const { result } = (await list()).body
      assert.deepEqual(
        result.map(({ id, role }: { id: string; role: string }) => ({ id, role })),
        [{ id: answer.result.id, role: 'admin' }],
      )
      const [, activity, ...others] = await activities()
      assert.deepEqual(others, [])
      assert.equal(activity!.type, 'invitation_created')
      assert.deepEqual(JSON.parse(activity!.target), { type: 'invitation', id: answer.result.id })
      const { email } = body
      assert.deepEqual(JSON.parse(activity!.changes), [
        {
          field: 'invitation',
          from: { id: old.id, email, role: 'developer', expireAt: '2026-01-01T00:00:00.000Z' },
          to: { email, role: 'admin' },
        },
      ])
    })

    it('invites the same person to several organizations, and members of others', async () => {
      const ours = await setUp()
      const theirs = await setUp()
      const body = { email: 'noor@northwind.example', role: 'developer' }
      assert.equal((await ours.create(body)).status, 200)
      assert.equal((await theirs.create(body)).status, 200)
      const email = `${theirs.adminUserId}@northwind.example`
      assert.equal((await ours.create({ email, role: 'developer' })).status, 200)
    })

    it('invites a member who has left', async () => {
      const { organizationId, admin, create } = await setUp()
      const userId = await app().addMember(organizationId, 'developer')
      const body = { email: `${userId}@northwind.example`, role: 'developer' }
      assert.equal((await create(body)).status, 409)
      await app().request('DELETE', `/v1/organizations/${organizationId}/members/${userId}`, { key: admin })
      assert.equal((await create(body)).status, 200)
    })
  })

  describe('400', () => {
    const refused: [string, unknown, string][] = [
      ['an empty object', {}, 'email is required; role is required'],
      ['no role', { email: 'noor@northwind.example' }, 'role is required'],
      [
        'null',
        { email: null, role: null },
        'email must be an email address, not null; role must be one of admin, developer, not null',
      ],
      ['an email without a host', { email: 'noor', role: 'admin' }, 'email must be an email address, not "noor"'],
      ['an empty email', { email: '', role: 'admin' }, 'email must be an email address, not ""'],
      ['two emails', { email: 'a@b.c,d@e.f', role: 'admin' }, 'email must be an email address, not "a@b.c,d@e.f"'],
      ['an unknown role', { email: 'a@b.c', role: 'owner' }, 'role must be one of admin, developer, not "owner"'],
      ['an unknown field', { email: 'a@b.c', role: 'admin', link: 'x' }, 'link is not a known field'],
    ]
    for (const [name, body, sentence] of refused) {
      it(`refuses ${name}`, async () => {
        const { create, rows, activities } = await setUp()
        const answer = await create(body)
        assert.equal(answer.status, 400)
        assert.deepEqual(answer.body, { error: `BAD_REQUEST: ${sentence}`, status: 400 })
        assert.deepEqual([await rows(), await activities()], [[], []])
      })
    }
  })

  describe('409', () => {
    it('refuses the email of a member, in whatever case it was stored or is sent', async () => {
      const { organizationId, create, rows, activities } = await setUp()
      const id = newId()
      const now = new Date().toISOString()
      await insertUser(app().sql, { id, name: 'Lena', email: `Lena.${id}@Northwind.example`, now })
      await insertMember(app().sql, { organizationId, userId: id, role: 'developer', now })
      const lower = `lena.${id}@northwind.example`
      for (const email of [lower, lower.toUpperCase()]) {
        const { status, body } = await create({ email, role: 'developer' })
        assert.equal(status, 409)
        assert.equal(body.error, `CONFLICT: ${lower} is already a member of organization ${organizationId}`)
      }
      const rich = await create({ email: lower, role: 'developer' }, { headers: problemJson })
      assert.equal(rich.body.code, 'already_member')
      assert.deepEqual([await rows(), await activities()], [[], []])
    })

    it('refuses a second invitation, and says what to do for a new link', async () => {
      const { admin, url, create, rows, activities } = await setUp()
      const first = (await create({ email: 'noor@northwind.example', role: 'developer' })).body.result
      const { status, body } = await create({ email: 'NOOR@northwind.example', role: 'admin' })
      assert.equal(status, 409)
      assert.equal(
        body.error,
        `CONFLICT: noor@northwind.example is already invited, until ${first.expireAt}; ` +
          `to send a new link, delete invitation ${first.id} first`,
      )
      const rich = await create({ email: 'noor@northwind.example', role: 'admin' }, { headers: problemJson })
      assert.equal(rich.body.code, 'invitation_exists')
      assert.equal((await rows()).length, 1)
      assert.equal((await activities()).length, 1)

      assert.equal((await app().request('DELETE', `${url}/${first.id}`, { key: admin })).status, 200)
      assert.equal((await create({ email: 'noor@northwind.example', role: 'admin' })).status, 200)
    })

    it('lets one of several invitations of the same person at once through', async () => {
      const { create, rows } = await setUp()
      const body = { email: 'noor@northwind.example', role: 'developer' }
      const answers = await Promise.all(Array.from({ length: 5 }, () => create(body)))
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409, 409, 409, 409])
      assert.equal((await rows()).length, 1)
    })
  })
})
