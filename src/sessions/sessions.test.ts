import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  addPerson,
  browserOf,
  hoursAgo,
  isSignedIn,
  origin,
  password,
  sessionIdsOf,
  signIn,
} from '../../test/harness/sessions.ts'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import { freshAddress } from '../../test/harness/world.ts'
import { newId } from '../lib/id.ts'
import { newSessionToken } from './session.ts'

onBothDatabases('sessions', (app) => {
  describe('getSession', () => {
    const methods = { password: true }
    const get = (headers: Record<string, string>) =>
      app().request('GET', '/console/api/session', { key: null, headers, address: freshAddress() })

    it('says that nobody is signed in, whatever the cookie is', async () => {
      const ended = await app().addSession((await addPerson(app())).userId, { now: hoursAgo(200) })
      const twice = await app().addSession((await addPerson(app())).userId)
      for (const headers of [
        {},
        { cookie: 'a=b' },
        { cookie: '__Host-penstock-session=ses_1' },
        { cookie: `__Host-penstock-session=${newSessionToken(app().app.vault).token.reveal()}` },
        { cookie: ended.headers.cookie! },
        { cookie: `${twice.headers.cookie}; ${twice.headers.cookie}` },
      ]) {
        const response = await get(headers as Record<string, string>)
        assert.equal(response.status, 200)
        assert.deepEqual(response.body.result, { signedIn: false, methods })
        assert.equal(response.headers['set-cookie'], undefined)
      }
    })

    it('says who is signed in, where they belong, and how to send changes', async () => {
      const { organizationId, userId, email } = await addPerson(app())
      await app().query(`UPDATE organizations SET name = 'Zebra' WHERE id = '${organizationId}'`)
      const second = (await app().addOrganization()).organizationId
      await app().query(`UPDATE organizations SET name = 'aardvark' WHERE id = '${second}'`)
      await app().query(
        `INSERT INTO members (organization_id, user_id, role, joined_at) VALUES ('${second}', '${userId}', 'developer', '${hoursAgo(0)}')`,
      )
      const session = await app().addSession(userId)
      const [row] = await app().query<{ expire_at: string }>(
        `SELECT expire_at FROM sessions WHERE id = '${session.id}'`,
      )
      const { body } = await get(session.headers)
      assert.deepEqual(body.result, {
        signedIn: true,
        methods,
        user: {
          id: userId,
          name: `User ${userId.slice(0, 8)}`,
          email,
          hasPassword: true,
          mayReplacePassword: false,
        },
        organizations: [
          { id: second, name: 'aardvark', role: 'developer' },
          { id: organizationId, name: 'Zebra', role: 'admin' },
        ],
        csrfToken: session.csrfToken,
        sessionId: session.id,
        expireAt: row!.expire_at,
      })
      await app().query(`UPDATE users SET password_hash = NULL WHERE id = '${userId}'`)
      assert.equal((await get(session.headers)).body.result.user.hasPassword, false)
    })

    it('is not readable by other sites', async () => {
      const session = await app().addSession((await addPerson(app())).userId)
      assert.equal((await get({ ...session.headers, 'sec-fetch-site': 'same-site' })).status, 403)
      assert.equal((await get({ ...session.headers, 'sec-fetch-site': 'none' })).status, 200)
    })

    it('takes no query and no other method', async () => {
      assert.equal((await app().request('GET', '/console/api/session?a=b', { key: null })).status, 400)
      const response = await app().request('PUT', '/console/api/session', { key: null })
      assert.equal(response.status, 405)
      assert.equal(response.headers.allow, 'GET, POST, DELETE')
    })
  })

  describe('signOut', () => {
    it('ends this session and takes the cookie away', async () => {
      const { userId } = await addPerson(app())
      const [one, other] = [await app().addSession(userId), await app().addSession(userId)]
      const response = await app().request('DELETE', '/console/api/session', { session: one })
      assert.equal(response.status, 200)
      assert.deepEqual(Object.keys(response.body), ['requestId', 'status'])
      assert.match(String(response.headers['set-cookie']), /^__Host-penstock-session=; Max-Age=0; /)
      assert.equal(await isSignedIn(app(), one), false)
      assert.equal(await isSignedIn(app(), other), true)
      const again = await app().request('DELETE', '/console/api/session', { session: one })
      assert.equal(again.status, 401)
      assert.equal(again.headers['www-authenticate'], undefined)
      assert.match(again.body.error, /sign in again/)
    })

    it('needs the CSRF token of this very session, and our own origin', async () => {
      const { userId } = await addPerson(app())
      const [session, other] = [await app().addSession(userId), await app().addSession(userId)]
      const { 'x-csrf-token': _token, ...withoutToken } = session.headers
      const { origin: _origin, ...withoutOrigin } = session.headers
      const cases: [Record<string, string>, string][] = [
        [withoutToken, 'csrf_token_mismatch'],
        [{ ...session.headers, 'x-csrf-token': 'f'.repeat(64) }, 'csrf_token_mismatch'],
        [{ ...session.headers, 'x-csrf-token': other.csrfToken }, 'csrf_token_mismatch'],
        [withoutOrigin, 'cross_origin'],
        [{ ...session.headers, origin: 'null' }, 'cross_origin'],
        [{ ...session.headers, origin: 'https://attacker.example' }, 'cross_origin'],
        [{ ...session.headers, 'sec-fetch-site': 'cross-site' }, 'cross_origin'],
      ]
      for (const [headers, code] of cases) {
        for (const path of ['/console/api/session', '/console/api/sessions']) {
          const accept = 'application/problem+json'
          const response = await app().request('DELETE', path, { key: null, headers: { ...headers, accept } })
          assert.equal(response.status, 403)
          assert.equal(response.body.code, code)
        }
      }
      assert.equal(await isSignedIn(app(), session), true)
    })

    it('takes no body', async () => {
      const session = await app().addSession((await addPerson(app())).userId)
      assert.equal((await app().request('DELETE', '/console/api/session', { session, body: {} })).status, 400)
    })
  })

  describe('signOutEverywhere', () => {
    it('ends all sessions of the person, from the next request on, and nobody else’s', async () => {
      const { organizationId, userId } = await addPerson(app())
      const own = [await app().addSession(userId), await app().addSession(userId), await app().addSession(userId)]
      const elses = await app().addSession((await addPerson(app())).userId)
      const response = await app().request('DELETE', '/console/api/sessions', { session: own[0]! })
      assert.equal(response.status, 200)
      assert.match(String(response.headers['set-cookie']), /^__Host-penstock-session=; Max-Age=0; /)
      for (const session of own) {
        const path = `/v1/organizations/${organizationId}`
        assert.equal((await app().request('GET', path, { session, address: freshAddress() })).status, 401)
      }
      assert.equal(await isSignedIn(app(), elses), true)
    })

    it('leaves no link that could sign the person in', async () => {
      const { userId, email } = await addPerson(app())
      const other = await addPerson(app())
      const token = (await app().app.database.write('createSignInLink', { email, minutes: 15 }, 'link'))!
      const others = (await app().app.database.write('createSignInLink', { email: other.email, minutes: 15 }, 'link'))!
      const session = await app().addSession(userId)
      assert.equal((await app().request('DELETE', '/console/api/sessions', { session })).status, 200)
      const send = (sent: string) =>
        app().request('POST', '/console/api/session/link', {
          key: null,
          body: { token: sent },
          address: freshAddress(),
          headers: { origin },
        })
      assert.equal((await send(token)).status, 401)
      assert.equal((await send(others)).status, 200)
    })

    it('fails when the session ended before the write', async () => {
      const { userId } = await addPerson(app())
      const [gone, other] = [await app().addSession(userId), await app().addSession(userId)]
      await app().query(`DELETE FROM sessions WHERE id = '${gone.id}'`)
      const signedIn = { sessionId: gone.id, userId, csrfToken: gone.csrfToken }
      const call = {
        actionId: 'signOutEverywhere',
        request: { requestId: newId(), address: '::1', userAgent: '', deviceToken: undefined, signedIn },
        params: {},
        body: undefined,
      }
      await assert.rejects(app().app.database.write('writeAction', call, userId), { code: 'unauthorized' })
      assert.deepEqual(await sessionIdsOf(app(), userId), [other.id])
    })
  })

  describe('listSessions', () => {
    it('lists the active sessions of the person, the most recently used first', async () => {
      const { userId } = await addPerson(app())
      await app().addSession((await addPerson(app())).userId)
      await app().addSession(userId, { now: hoursAgo(13) })
      const older = await app().addSession(userId, { now: hoursAgo(2), userAgent: 'Firefox', address: '192.0.2.9' })
      const session = await app().addSession(userId)
      const { status, body, text } = await app().request('GET', '/console/api/sessions', { session })
      assert.equal(status, 200)
      assert.deepEqual(
        body.result.map(({ id, isCurrent }: { id: string; isCurrent: boolean }) => ({ id, isCurrent })),
        [
          { id: session.id, isCurrent: true },
          { id: older.id, isCurrent: false },
        ],
      )
      const { createdAt, usedAt, ...rest } = body.result[1]
      assert.equal(createdAt, usedAt)
      assert.deepEqual(rest, { id: older.id, address: '192.0.2.9', userAgent: 'Firefox', isCurrent: false })
      assert.ok(!text.includes(session.token))
      assert.equal((await app().request('GET', '/console/api/sessions', { key: null })).status, 401)
    })
  })

  describe('the end of a session', () => {
    it('comes after 12 hours without use, and after 7 days whatever happens', async () => {
      const { userId } = await addPerson(app())
      const cases: [createdHoursAgo: number, usedHoursAgo: number, stands: boolean][] = [
        [0, 0, true],
        [11.99, 11.99, true],
        [12, 12, false],
        [100, 11.99, true],
        [100, 12.01, false],
        [7 * 24 - 0.01, 0, true],
        [7 * 24, 0, false],
      ]
      for (const [created, used, stands] of cases) {
        const session = await app().addSession(userId, { now: hoursAgo(created) })
        await app().query(`UPDATE sessions SET used_at = '${hoursAgo(used)}' WHERE id = '${session.id}'`)
        assert.equal(await isSignedIn(app(), session), stands, `${created}, ${used}`)
      }
    })

    it('is postponed by use, recorded once a minute', async () => {
      const { userId } = await addPerson(app())
      const session = await app().addSession(userId, { now: hoursAgo(2) })
      const used = async () => {
        await app().app.sessionUses.settled()
        const text = `SELECT used_at FROM sessions WHERE id = '${session.id}'`
        return (await app().query<{ used_at: string }>(text))[0]!.used_at
      }
      const started = new Date().toISOString()
      assert.ok((await used()) < started)
      await isSignedIn(app(), session)
      const first = await used()
      assert.ok(first >= started)
      await isSignedIn(app(), session)
      assert.equal(await used(), first)
    })

    it('is followed by its removal, as that of links', async () => {
      const { userId, email } = await addPerson(app())
      await app().addSession(userId, { now: hoursAgo(7 * 24) })
      await app().addSession(userId, { now: hoursAgo(12) })
      const standing = await app().addSession(userId, { now: hoursAgo(11.9) })
      for (const minutes of [0, 15]) await app().app.database.write('createSignInLink', { email, minutes }, 'link')
      const forgotten = await app().app.database.write(
        'forgetOldSessions',
        { now: new Date().toISOString() },
        'maintenance',
      )
      assert.ok(forgotten >= 3)
      assert.deepEqual(await sessionIdsOf(app(), userId), [standing.id])
      const links = await app().query(`SELECT token_hash FROM sign_in_links WHERE user_id = '${userId}'`)
      assert.equal(links.length, 1)
    })
  })

  it('are in no log, table or answer with their token or password', async () => {
    const { email } = await addPerson(app())
    const response = await signIn(app(), { email, password })
    const session = await browserOf(app(), response)
    await app().request('GET', '/console/api/sessions', { session })
    const log = app().logged.join('')
    assert.ok(log.includes('"operation":"signIn"'))
    assert.ok(!log.includes(session.token) && !log.includes(session.csrfToken) && !log.includes(password))
    assert.ok(!response.text.includes(session.token) && !response.text.includes(password))
    assert.match(log, new RegExp(`"operation":"listSessions".*"userId":"${response.body.result.userId}"`))
  })
})

onBothDatabases(
  'sessions without TLS',
  (app) => {
    it('have a cookie that a browser takes', async () => {
      const { email } = await addPerson(app())
      const response = await app().request('POST', '/console/api/session', {
        key: null,
        body: { email, password },
        headers: { origin: 'http://127.0.0.1:8080' },
      })
      assert.equal(response.status, 200)
      assert.match(
        String(response.headers['set-cookie']),
        /^penstock-session=ses_[0-9A-Za-z]{43}; Max-Age=604800; Path=\/; HttpOnly; SameSite=Strict,penstock-device=/,
      )
    })

    it('begin under whatever address the request came to, when none is set', async () => {
      const { email } = await addPerson(app())
      const host = 'localhost:8080'
      const body = { email, password }
      assert.equal((await signIn(app(), body, { origin: `http://${host}`, host })).status, 200)
      assert.equal((await signIn(app(), body, { origin: 'http://localhost:8081', host })).status, 403)
    })

    it('show the console the OpenID Connect provider when it is configured', async () => {
      const { body } = await app().request('GET', '/console/api/session', { key: null })
      assert.deepEqual(body.result.methods, { password: true, oidc: { name: 'Northwind' } })
    })
  },
  {
    hasPublicUrl: false,
    operations: { publicUrl: 'http://127.0.0.1:8080', privateEndpointServices: {}, oidc: { name: 'Northwind' } },
  },
)
