import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Visitor } from '../../test/harness/console-visitor.ts'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import { newId } from '../lib/id.ts'
import { insertUser } from '../members/store.ts'

const password = 'correct horse battery'

onBothDatabases('lookAtInvitation and acceptInvitation', (app) => {
  let people = 0

  /** An organization of its own for each test, and somebody who is invited to it. */
  async function setUp(role: 'admin' | 'developer' = 'developer') {
    const { organizationId, admin } = await app().addOrganization()
    const url = `/v1/organizations/${organizationId}`
    const email = `noor.${++people}@northwind.example`
    const invite = async (invited = email) => {
      const { status, body } = await app().request('POST', `${url}/invitations`, {
        key: admin,
        body: { email: invited, role },
      })
      assert.equal(status, 200)
      return {
        token: String(body.result.link).split('#')[1]!,
        id: body.result.id as string,
        expireAt: body.result.expireAt,
      }
    }
    const invitation = await invite()
    const visitor = new Visitor(app())
    const look = (token = invitation.token, who = visitor) => who.request('POST', '/console/api/invitation', { token })
    const accept = (
      more: Record<string, unknown> = { name: 'Noor', password },
      who = visitor,
      token = invitation.token,
    ) => who.request('POST', '/console/api/invitation/accept', { token, ...more })
    const members = async () =>
      (await app().request('GET', `${url}/members`, { key: admin })).body.result as {
        userId: string
        email: string
        name: string
        role: string
      }[]
    const isMember = async () => (await members()).some((member) => member.email === email)
    const invitations = async () => (await app().request('GET', `${url}/invitations`, { key: admin })).body.result
    const activities = async () => (await app().request('GET', `${url}/activities`, { key: admin })).body.result
    const addUser = async () => {
      const id = newId()
      await insertUser(app().sql, { id, name: 'Noor', email, now: new Date().toISOString() })
      return id
    }
    return {
      ...{ organizationId, admin, email, invitation, invite, visitor, look, accept, members, isMember },
      ...{ invitations, activities, addUser },
    }
  }

  describe('200', () => {
    it('shows what somebody is invited to, and whether they have an account', async () => {
      const { email, look, invitation, addUser, isMember } = await setUp('admin')
      const { status, body } = await look()
      assert.equal(status, 200)
      const shown = { organizationName: 'Another', email, role: 'admin', expireAt: invitation.expireAt }
      assert.deepEqual(body.result, { ...shown, invitedPerson: 'new' })
      await addUser()
      assert.deepEqual((await look()).body.result, { ...shown, invitedPerson: 'known' })
      assert.equal(await isMember(), false)
    })

    it('makes an account and a member of somebody new, and signs them in', async () => {
      const { organizationId, email, visitor, accept, members, invitations, activities, invitation, look } =
        await setUp()
      const { status, body, headers } = await accept()
      assert.equal(status, 200)
      assert.deepEqual(body.result, { organizationId, organizationName: 'Another', role: 'developer' })
      assert.match(String(headers['set-cookie']), /^__Host-penstock-session=ses_\w{43}; /)

      const session = await visitor.session()
      assert.deepEqual(session.organizations, [{ id: organizationId, name: 'Another', role: 'developer' }])
      assert.deepEqual(session.user, {
        id: session.user.id,
        name: 'Noor',
        email,
        hasPassword: true,
        mayReplacePassword: false,
      })
      const member = (await members()).find((member) => member.email === email)!
      assert.equal(member.userId, session.user.id)
      assert.equal(member.role, 'developer')
      assert.deepEqual(await invitations(), [])
      assert.equal((await look()).status, 404)

      const [activity] = await activities()
      assert.equal(activity.type, 'invitation_accepted')
      assert.deepEqual(activity.actor, { type: 'user', id: session.user.id, name: 'Noor' })
      assert.deepEqual(activity.target, { type: 'invitation', id: invitation.id })
      assert.deepEqual(activity.changes, [
        { field: 'invitation', from: { email, role: 'developer' } },
        { field: 'member', to: { userId: session.user.id, email, role: 'developer' } },
      ])
      const again = new Visitor(app())
      assert.equal((await again.request('POST', '/console/api/session', { email, password })).status, 200)
    })

    it('makes an admin, who counts as one', async () => {
      const { organizationId, admin, email, accept, members } = await setUp('admin')
      assert.equal((await accept()).status, 200)
      const others = (await members()).filter((member) => member.email !== email)
      const url = `/v1/organizations/${organizationId}/members/${others[0]!.userId}`
      assert.equal((await app().request('PATCH', url, { key: admin, body: { role: 'developer' } })).status, 200)
    })

    it('lets somebody who has an account join with it, in several organizations', async () => {
      const first = await setUp()
      const second = await setUp()
      await first.accept()
      const { token } = await second.invite(first.email)
      assert.equal((await first.look(token)).body.result.invitedPerson, 'known')
      const { status, body, headers } = await second.accept({}, first.visitor, token)
      assert.equal(status, 200)
      assert.equal(body.result.organizationId, second.organizationId)
      assert.equal(headers['set-cookie'], undefined)
      const { organizations } = await first.visitor.session()
      assert.deepEqual(
        organizations.map(({ id }: { id: string }) => id).sort(),
        [first, second].map((o) => o.organizationId).sort(),
      )
    })

    it('uses up the invitation of somebody who has become a member already, and leaves their role', async () => {
      const { organizationId, accept, addUser, visitor, members, invitations, email } = await setUp('admin')
      const userId = await addUser()
      await app().query(
        `INSERT INTO members (organization_id, user_id, role, joined_at)
         VALUES ('${organizationId}', '${userId}', 'developer', '2026-01-01T00:00:00.000Z')`,
      )
      await visitor.signInAs(userId)
      const { status, body } = await accept({})
      assert.equal(status, 200)
      assert.equal(body.result.role, 'developer')
      assert.deepEqual(await invitations(), [])
      assert.deepEqual(
        (await members()).filter((member) => member.email === email).map(({ role }) => role),
        ['developer'],
      )
    })

    it('of many who use the same link at once exactly one becomes a member', async () => {
      const { accept, members, activities } = await setUp()
      const before = (await members()).length
      const visitors = Array.from({ length: 6 }, () => new Visitor(app()))
      const answers = await Promise.all(visitors.map((visitor) => accept(undefined, visitor)))
      const statuses = answers.map(({ status }) => status).sort()
      assert.equal(statuses[0], 200)
      assert.deepEqual(new Set(statuses.slice(1)), new Set([404]))
      assert.equal((await members()).length, before + 1)
      const types = (await activities()).map(({ type }: { type: string }) => type)
      assert.equal(types.filter((type: string) => type === 'invitation_accepted').length, 1)
    })

    it('of two invitations to different organizations that are used at once one makes the account', async () => {
      const first = await setUp()
      const second = await setUp()
      const { token } = await second.invite(first.email)
      const [one, other] = await Promise.all([
        first.accept(undefined, first.visitor),
        second.accept(undefined, second.visitor, token),
      ])
      assert.deepEqual([one.status, other.status].sort(), [200, 403])
    })
  })

  describe('400', () => {
    it('asks somebody new for a name and a password, all at once, and keeps the invitation', async () => {
      const { accept, isMember, look, email } = await setUp()
      assert.equal(
        (await accept({})).body.error,
        'BAD_REQUEST: name is missing: there is no account yet; password is missing: there is no account yet',
      )
      for (const [more, sentence] of [
        [{ name: '', password }, /^BAD_REQUEST: name must have/],
        [{ name: 'N'.repeat(101), password }, /^BAD_REQUEST: name must have/],
        [{ name: 'Noor', password: 'short' }, /^BAD_REQUEST: password must have 12 to 256 characters$/],
        [{ name: 'Noor', password: 'password1234' }, /^BAD_REQUEST: password must not be a common word/],
        [{ name: 'Noor', password: email }, /^BAD_REQUEST: password must not be the email address$/],
        [{ name: 'Noor', password: 'p'.repeat(257) }, /^BAD_REQUEST: password must have/],
        [{ name: 'Noor', password, role: 'admin' }, /^BAD_REQUEST: role is not/],
      ] as const) {
        const { status, body } = await accept(more)
        assert.equal(status, 400)
        assert.match(body.error, sentence)
      }
      assert.equal(await isMember(), false)
      assert.equal((await look()).status, 200)
    })
  })

  describe('403', () => {
    it('lets nobody join as somebody who has an account without being signed in as them', async () => {
      const { accept, addUser, isMember, email, organizationId, visitor } = await setUp()
      await addUser()
      const other = new Visitor(app())
      await other.signInAs(await app().addMember(organizationId, 'admin'))
      for (const who of [visitor, other]) {
        for (const more of [{}, { name: 'Noor', password }]) {
          const { status, body, headers } = await accept(more, who)
          assert.equal(status, 403)
          assert.equal(
            body.error,
            `FORBIDDEN: ${email} has an account already; sign in as ${email}, then open the link of the invitation again`,
          )
          assert.equal(headers['set-cookie'], undefined)
        }
      }
      assert.equal(await isMember(), false)
    })

    it('takes no request from the page of another site', async () => {
      const { visitor, invitation, isMember } = await setUp()
      const body = { token: invitation.token, name: 'Noor', password }
      for (const path of ['/console/api/invitation', '/console/api/invitation/accept']) {
        const { status } = await visitor.request('POST', path, body, { origin: 'https://evil.example' })
        assert.equal(status, 403)
      }
      assert.equal(await isMember(), false)
    })
  })

  describe('404', () => {
    it('answers in one way for an unknown, an expired, a deleted and an accepted invitation', async () => {
      const unknown = await setUp()
      const expired = await setUp()
      const deleted = await setUp()
      const accepted = await setUp()
      await app().query(
        `UPDATE invitations SET expire_at = '2026-01-01T00:00:00.000Z' WHERE id = '${expired.invitation.id}'`,
      )
      await app().request(
        'DELETE',
        `/v1/organizations/${deleted.organizationId}/invitations/${deleted.invitation.id}`,
        {
          key: deleted.admin,
        },
      )
      await accepted.accept()
      for (const [{ look, accept }, token] of [
        [unknown, `inv_${'0'.repeat(43)}`],
        [unknown, ''],
        [expired, expired.invitation.token],
        [deleted, deleted.invitation.token],
        [accepted, accepted.invitation.token],
      ] as const) {
        for (const { status, body } of [await look(token), await accept(undefined, undefined, token)]) {
          assert.equal(status, 404)
          assert.equal(
            body.error,
            'NOT_FOUND: this invitation was accepted or deleted, or has expired; ask the person who invited you for a new one',
          )
        }
      }
    })
  })

  it('keeps the token and the password out of the log, the activities and the database', async () => {
    const { accept, invitation, activities } = await setUp()
    const secret = 'a canary of a password 5f1c'
    await accept({ name: 'Noor', password: secret })
    const kept = JSON.stringify([app().logged, await activities(), await app().query('SELECT * FROM users')])
    assert.ok(!kept.includes(secret) && !kept.includes(invitation.token))
  })
})
