import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Visitor } from '../../test/harness/console-visitor.ts'
import { stopClock } from '../../test/harness/stopped-clock.ts'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import { hashPassword } from '../lib/password.ts'

const first = 'correct horse battery'
const second = 'staple of another kind'

onBothDatabases('changePassword', (app) => {
  /** A person signed in in two browsers, without a password if it is empty. */
  async function setUp(currentPassword = first) {
    const userId = await app().addMember(app().sample.organizationId, 'developer')
    const email = `${userId}@northwind.example`
    const visitor = new Visitor(app())
    const other = new Visitor(app())
    await visitor.signInAs(userId)
    await other.signInAs(userId)
    const change = (body: unknown, who = visitor) => who.request('POST', '/console/api/account/password', body)
    const signIn = async (password: string) =>
      (await new Visitor(app()).request('POST', '/console/api/session', { email, password })).status
    if (currentPassword !== '') {
      const passwordHash = await hashPassword(currentPassword)
      await app().query(`UPDATE users SET password_hash = '${passwordHash}' WHERE id = '${userId}'`)
    }
    return { userId, email, visitor, other, change, signIn }
  }

  describe('200', () => {
    it('changes the password and ends the other sessions of the person', async () => {
      const { change, signIn, visitor, other } = await setUp()
      const bystander = await setUp()
      assert.equal((await change({ currentPassword: first, newPassword: second })).status, 200)
      assert.equal(await signIn(first), 401)
      assert.equal(await signIn(second), 200)
      assert.equal((await visitor.session()).signedIn, true)
      assert.equal((await other.session()).signedIn, false)
      assert.equal((await bystander.visitor.session()).signedIn, true)
    })

    it('sets the first password of somebody who has none', async () => {
      const { change, signIn, visitor, other } = await setUp('')
      assert.equal((await visitor.session()).user.hasPassword, false)
      assert.equal((await change({ newPassword: second })).status, 200)
      assert.equal(await signIn(second), 200)
      assert.equal((await visitor.session()).user.hasPassword, true)
      assert.equal((await other.session()).signedIn, false)
    })

    it('leaves no link that could sign the person in', async () => {
      const { change, email } = await setUp()
      const token = (await app().app.database.write('createSignInLink', { email, minutes: 15 }, 'link'))!
      assert.equal((await change({ currentPassword: first, newPassword: second })).status, 200)
      assert.equal((await new Visitor(app()).request('POST', '/console/api/session/link', { token })).status, 401)
    })

    it('replaces a forgotten password within 15 minutes after a sign-in by link', async () => {
      const { change, signIn, email, userId } = await setUp()
      const visitor = new Visitor(app())
      const begin = async (secondsAgo: number) => {
        const token = (await app().app.database.write('createSignInLink', { email, minutes: 15 }, 'link'))!
        assert.equal((await visitor.request('POST', '/console/api/session/link', { token })).status, 200)
        const at = new Date(Date.now() - secondsAgo * 1000).toISOString()
        await app().query(`UPDATE sessions SET created_at = '${at}' WHERE user_id = '${userId}' AND is_by_link = 1`)
        return (await visitor.session()).user.mayReplacePassword
      }
      assert.equal(await begin(901), false)
      const late = await change({ newPassword: second }, visitor)
      assert.equal(late.body.error, 'BAD_REQUEST: currentPassword is missing: this account has a password')
      assert.equal(await begin(840), true)
      // A current password that is sent is still compared.
      assert.equal((await change({ currentPassword: second, newPassword: second }, visitor)).status, 403)
      assert.equal((await change({ newPassword: second }, visitor)).status, 200)
      assert.equal(await signIn(first), 401)
      assert.equal(await signIn(second), 200)
    })

    it('of two changes at once only one is made', async () => {
      const { change, visitor, other } = await setUp()
      const answers = await Promise.all([
        change({ currentPassword: first, newPassword: second }, visitor),
        change({ currentPassword: first, newPassword: 'yet another kind of staple' }, other),
      ])
      const statuses = answers.map(({ status }) => status).sort()
      // The second is refused because its session has ended, or because the password is another one by then.
      assert.equal(statuses[0], 200)
      assert.ok(statuses[1] === 401 || statuses[1] === 403, String(statuses))
    })
  })

  describe('400', () => {
    it('names every field that is wrong, without quoting a password', async () => {
      const { change, email } = await setUp()
      for (const [body, sentence] of [
        [{ newPassword: second }, 'currentPassword is missing: this account has a password'],
        [{ currentPassword: first, newPassword: 'short' }, 'newPassword must have 12 to 256 characters'],
        [{ currentPassword: first, newPassword: email }, 'newPassword must not be the email address'],
        [
          { newPassword: 'aaaaaaaaaaaa' },
          'newPassword must not repeat the same few characters; currentPassword is missing: this account has a password',
        ],
      ] as const) {
        const answer = await change(body)
        assert.equal(answer.status, 400)
        assert.equal(answer.body.error, `BAD_REQUEST: ${sentence}`)
      }
    })

    it('requires no current password from somebody who has none', async () => {
      const { change } = await setUp('')
      const { status, body } = await change({ currentPassword: first, newPassword: second })
      assert.equal(status, 400)
      assert.equal(body.error, 'BAD_REQUEST: currentPassword must be omitted: this account has no password')
    })
  })

  describe('401', () => {
    it('needs a session', async () => {
      const body = { newPassword: second }
      assert.equal((await new Visitor(app()).request('POST', '/console/api/account/password', body)).status, 401)
    })
  })

  describe('403', () => {
    it('sets no first password with a session that is older than 15 minutes', async () => {
      const { change, visitor, userId, signIn } = await setUp('')
      const earlier = new Date(Date.now() - 15 * 60_000).toISOString()
      await app().query(`UPDATE sessions SET created_at = '${earlier}' WHERE user_id = '${userId}'`)
      const { user } = await visitor.session()
      assert.deepEqual([user.hasPassword, user.mayReplacePassword], [false, false])
      const { status, body } = await change({ newPassword: second })
      assert.equal(status, 403)
      assert.match(body.error, /^FORBIDDEN: the first password can be set only within 15 minutes after sign-in/)
      assert.equal(await signIn(second), 401)
      await visitor.signInAs(userId)
      assert.equal((await change({ newPassword: second })).status, 200)
    })

    it('refuses a wrong current password and changes nothing', async () => {
      const { change, signIn, other } = await setUp()
      const { status, body } = await change({ currentPassword: second, newPassword: second })
      assert.equal(status, 403)
      assert.equal(body.error, 'FORBIDDEN: currentPassword is not the password of this account; nothing was changed')
      assert.equal(await signIn(first), 200)
      assert.equal((await other.session()).signedIn, true)
    })
  })

  describe('429', () => {
    it('lets nobody guess with a session, from however many addresses', async (t) => {
      // Some are forgiven with the time, and comparing takes long on a busy machine.
      stopClock(t)
      const { change, visitor } = await setUp()
      const guess = async () => {
        const guesser = new Visitor(app())
        for (const [name, value] of visitor.cookies) guesser.cookies.set(name, value)
        await guesser.session()
        return (await change({ currentPassword: second, newPassword: second }, guesser)).status
      }
      const statuses = await Promise.all(Array.from({ length: 50 }, guess))
      assert.deepEqual(new Set(statuses), new Set([403, 429]))
      assert.ok(statuses.filter((status) => status === 403).length < 40)
    })
  })
})
