// Signing in with a password or a link.
import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import { describe, it, mock } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  addPerson,
  browserOf,
  hoursAgo,
  isSignedIn,
  origin,
  password,
  sessionIdsOf,
  signIn,
  tokenOf,
} from '../../test/harness/sessions.ts'
import { stopClock } from '../../test/harness/stopped-clock.ts'
import { onBothDatabases, type TestResponse } from '../../test/harness/test-app.ts'
import { freshAddress } from '../../test/harness/world.ts'
import { newId } from '../lib/id.ts'
import { mostSessionsOfPerson } from './session.ts'

onBothDatabases('sessions', (app) => {
  describe('signIn', () => {
    it('begins a session and sets its cookie', async () => {
      const { userId, email } = await addPerson(app())
      const response = await signIn(app(), { email: email.toUpperCase(), password })
      assert.equal(response.status, 200)
      assert.deepEqual(Object.keys(response.body), ['requestId', 'result', 'status'])
      assert.deepEqual(response.body.result, { userId })
      assert.equal(response.headers['cache-control'], 'no-store')
      const [session, device, ...others] = response.headers['set-cookie'] as unknown as string[]
      assert.match(
        session!,
        /^__Host-penstock-session=ses_[0-9A-Za-z]{43}; Max-Age=604800; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
      )
      assert.match(
        device!,
        /^__Host-penstock-device=dev_\w{87}; Max-Age=34560000; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
      )
      assert.deepEqual(others, [])
      const [row] = await app().query<Record<string, string>>(`SELECT * FROM sessions WHERE user_id = '${userId}'`)
      assert.equal(row!.user_agent, 'Firefox')
      assert.match(row!.address!, /^10\./)
      assert.equal(Date.parse(row!.expire_at!) - Date.parse(row!.created_at!), 7 * 86_400_000)
      assert.ok(!JSON.stringify(row).includes(tokenOf(response)))
    })

    it('has one and the same answer for everybody who does not get in', async () => {
      const { email } = await addPerson(app())
      const withoutPassword = await app().addMember(app().sample.organizationId, 'developer')
      const answers = [
        await signIn(app(), { email, password: `${password}!` }),
        await signIn(app(), { email, password: '' }),
        await signIn(app(), { email: 'nobody@northwind.example', password }),
        await signIn(app(), { email: 'not an email', password }),
        await signIn(app(), { email: '', password }),
        await signIn(app(), { email: `${withoutPassword}@northwind.example`, password }),
        await signIn(app(), { email: `${withoutPassword}@northwind.example`, password: '' }),
      ]
      for (const { status, headers, body } of answers) {
        assert.equal(status, 401)
        assert.deepEqual(body, { error: 'UNAUTHORIZED: wrong email or password', status: 401 })
        assert.equal(headers['set-cookie'], undefined)
        assert.equal(headers['www-authenticate'], undefined)
      }
    })

    it('does the same work for an unknown person, one without a password and a wrong password', async () => {
      const { email } = await addPerson(app())
      const withoutPassword = await app().addMember(app().sample.organizationId, 'developer')
      const work: unknown[] = []
      for (const who of [email, `${withoutPassword}@northwind.example`, 'nobody@northwind.example']) {
        const computed = mock.method(crypto, 'argon2')
        await signIn(app(), { email: who, password: 'wrong' })
        work.push(computed.mock.calls.map(({ arguments: [, { memory, passes }] }) => [memory, passes]))
        computed.mock.restore()
      }
      assert.deepEqual(work, Array(3).fill([[19_456, 2]]))
    })

    it('refuses a password that was changed while it was compared', async () => {
      const { userId } = await addPerson(app())
      const call = {
        actionId: 'signIn',
        request: { requestId: newId(), address: '::1', userAgent: '', deviceToken: undefined, signedIn: undefined },
        params: {},
        body: {},
        prepared: { userId, passwordHash: 'the one before' },
      }
      await assert.rejects(app().app.database.write('writeAction', call, userId), { code: 'sign_in_failed' })
      assert.deepEqual(await sessionIdsOf(app(), userId), [])
    })

    it('ends the session that was presented, and gives another token', async () => {
      const { userId, email } = await addPerson(app())
      const planted = await app().addSession((await addPerson(app())).userId)
      const first = await browserOf(
        app(),
        await signIn(app(), { email, password }, { cookie: planted.headers.cookie! }),
      )
      assert.equal(await isSignedIn(app(), planted), false)
      const second = await browserOf(app(), await signIn(app(), { email, password }, { cookie: first.headers.cookie! }))
      assert.notEqual(first.token, second.token)
      assert.equal(await isSignedIn(app(), first), false)
      assert.equal(await isSignedIn(app(), second), true)
      assert.deepEqual(await sessionIdsOf(app(), userId), [second.id])
    })

    it(`keeps the newest ${mostSessionsOfPerson} sessions of a person`, async () => {
      const { userId, email } = await addPerson(app())
      const oldest = await app().addSession(userId, { now: hoursAgo(3) })
      for (let added = 1; added < mostSessionsOfPerson; added++) {
        await app().addSession(userId, { now: hoursAgo(2 - added / 100) })
      }
      assert.equal(await isSignedIn(app(), oldest), true)
      const newest = await browserOf(app(), await signIn(app(), { email, password }))
      const kept = await sessionIdsOf(app(), userId)
      assert.equal(kept.length, mostSessionsOfPerson)
      assert.equal(kept.at(-1), newest.id)
      assert.equal(await isSignedIn(app(), oldest), false)
    })

    /** Responds as if every password were wrong, without comparing. */
    const allWrong = () =>
      mock.method(crypto, 'argon2', (_algorithm: unknown, _parameters: unknown, done: unknown) =>
        setImmediate(() => (done as (err: null, tag: Buffer) => void)(null, Buffer.alloc(32))),
      )

    const guessFrom = (address: string, email: string, headers: Record<string, string> = {}, sent = 'x') =>
      app().request('POST', '/console/api/session', {
        key: null,
        address,
        headers: { origin, ...headers },
        body: { email, password: sent },
      })
    const deviceCookieOf = ({ headers }: TestResponse) =>
      (headers['set-cookie'] as unknown as string[])
        .find((cookie) => cookie.startsWith('__Host-penstock-device='))!
        .split(';')[0]!

    it('is slowed down by wrong passwords for the same person from the same address', async (t) => {
      const clock = stopClock(t)
      const { email } = await addPerson(app())
      const address = freshAddress()
      const statuses: number[] = []
      const computed = allWrong()
      for (let guess = 0; guess < 25; guess++) {
        statuses.push((await guessFrom(address, guess % 2 ? email : email.toUpperCase())).status)
      }
      assert.deepEqual(statuses, [...Array(20).fill(401), ...Array(5).fill(429)])
      // Those that were turned away were not compared.
      assert.equal(computed.mock.callCount(), 20)
      computed.mock.restore()
      // Nothing shows that this is the person.
      assert.equal((await guessFrom(address, email, {}, password)).status, 429)
      const other = await addPerson(app())
      assert.equal((await guessFrom(address, other.email, {}, password)).status, 200)
      assert.equal((await signIn(app(), { email, password })).status, 200)
      clock.advance(1_000)
      assert.equal((await guessFrom(address, email, {}, password)).status, 200)
    })

    it('stays possible in a browser that the person has signed in with, whoever guesses', async (t) => {
      stopClock(t)
      const { email } = await addPerson(app())
      const address = freshAddress()
      const cookie = deviceCookieOf(await guessFrom(address, email, {}, password))
      assert.match(cookie, /^__Host-penstock-device=dev_[0-9A-Za-z]{22}_[0-9a-f]{64}$/)
      const computed = allWrong()
      for (let count = 0; count < 25; count++) await guessFrom(address, email)
      computed.mock.restore()
      assert.equal((await guessFrom(address, email, {}, password)).status, 429)
      assert.equal((await guessFrom(address, email, { cookie }, password)).status, 200)

      // It is not valid for another person, and gives no more guesses than anybody has.
      const other = await addPerson(app())
      const again = allWrong()
      for (let count = 0; count < 20; count++) await guessFrom(address, other.email)
      assert.equal((await guessFrom(address, other.email, { cookie })).status, 429)
      assert.equal((await guessFrom(address, email, { cookie: cookie.replace(/.$/, '0') })).status, 429)
      for (let count = 0; count < 20; count++) assert.equal((await guessFrom(address, email, { cookie })).status, 401)
      assert.equal((await guessFrom(freshAddress(), email, { cookie })).status, 429)
      again.mock.restore()
    })

    it('compares no more of many guesses at once than one after another', async (t) => {
      stopClock(t)
      const { email } = await addPerson(app())
      const address = freshAddress()
      const computed = allWrong()
      for (let count = 0; count < 19; count++) await guessFrom(address, email)
      const answers = await Promise.all(Array.from({ length: 60 }, () => guessFrom(address, email)))
      assert.equal(computed.mock.callCount(), 20)
      assert.deepEqual(answers.map(({ status }) => status).toSorted(), [401, ...Array(59).fill(429)])
      computed.mock.restore()
    })

    it('counts only wrong passwords', async (t) => {
      stopClock(t)
      const { email } = await addPerson(app())
      const address = freshAddress()
      const send = (body: unknown) =>
        app().request('POST', '/console/api/session', { key: null, address, headers: { origin }, body })
      for (let count = 0; count < 25; count++) {
        assert.equal((await send({ email, password, more: 1 })).status, 400)
      }
      for (let count = 0; count < 25; count++) assert.equal((await send({ email, password })).status, 200)
    })

    it('rejects sign-ins beyond the queue, without logging a failure', async (t) => {
      stopClock(t)
      const pending: (() => void)[] = []
      const computed = mock.method(crypto, 'argon2', (_algorithm: unknown, _parameters: unknown, done: unknown) =>
        pending.push(() => (done as (err: null, tag: Buffer) => void)(null, Buffer.alloc(32))),
      )
      app().logged.length = 0
      let settled = 0
      const sent = Array.from({ length: 261 }, (_, index) =>
        signIn(app(), { email: `${index}@northwind.example`, password }).finally(() => settled++),
      )
      // One is compared, 256 wait, and the others are answered at once.
      while (settled < 4) await nextTurn()
      const ended = Promise.all(sent)
      let isOver = false
      void ended.finally(() => {
        isOver = true
      })
      while (!isOver) {
        pending.shift()?.()
        await nextTurn()
      }
      computed.mock.restore()
      const statuses = (await ended).map(({ status }) => status)
      assert.equal(statuses.filter((status) => status === 503).length, 4)
      assert.equal(statuses.filter((status) => status === 401).length, 257)
      assert.ok(!app().logged.some((line) => JSON.parse(line).level >= 50))
    })

    it('rejects an invalid body, without an echo of the password', async () => {
      for (const [body, status] of [
        [{}, 400],
        [{ email: 'a@b' }, 400],
        [{ email: 'a@b', password: 7 }, 400],
        [{ email: 'a@b', password: 'secret-'.repeat(40) }, 400],
        [{ email: 'a'.repeat(255), password }, 400],
        [{ email: 'a@b', password: 'secret-word', remember: true }, 400],
        [[], 400],
      ] as const) {
        const response = await signIn(app(), body)
        assert.equal(response.status, status)
        assert.doesNotMatch(response.text, /secret-/)
      }
      const text = `{"email":"a@b","email":"c@d","password":"secret-word"}`
      const twice = await app().request('POST', '/console/api/session', { key: null, text, headers: { origin } })
      assert.equal(twice.status, 400)
      const empty = await app().request('POST', '/console/api/session', { key: null, headers: { origin } })
      assert.equal(empty.status, 400)
      const form = await app().request('POST', '/console/api/session', {
        key: null,
        text: 'email=a',
        headers: { origin, 'content-type': 'application/x-www-form-urlencoded' },
      })
      assert.equal(form.status, 415)
    })

    it('is only for pages of this Penstock', async () => {
      const { email } = await addPerson(app())
      for (const headers of [
        { origin: 'https://attacker.example' },
        { origin: 'null' },
        { origin, 'sec-fetch-site': 'cross-site' },
        // Under another address than the one that is set.
        { origin: 'http://localhost:8080', host: 'localhost:8080' },
      ]) {
        const response = await signIn(app(), { email, password }, headers)
        assert.equal(response.status, 403, JSON.stringify(headers))
        assert.equal(response.headers['set-cookie'], undefined)
      }
      const without = await app().request('POST', '/console/api/session', { key: null, body: { email, password } })
      assert.equal(without.status, 403)
    })
  })

  describe('signInWithLink', () => {
    const sendLink = (token: string, headers: Record<string, string> = {}) =>
      app().request('POST', '/console/api/session/link', {
        key: null,
        body: { token },
        address: freshAddress(),
        headers: { origin, ...headers },
      })

    it('signs its person in once', async () => {
      const { userId, email } = await addPerson(app())
      const order = { email: email.toUpperCase(), minutes: 15 }
      const token = (await app().app.database.write('createSignInLink', order, 'link'))!
      assert.match(token, /^lnk_[0-9A-Za-z]{43}$/)
      const links = await app().query<object>(`SELECT * FROM sign_in_links WHERE user_id = '${userId}'`)
      assert.ok(!JSON.stringify(links).includes(token))
      const response = await sendLink(token)
      assert.equal(response.status, 200)
      assert.deepEqual(response.body.result, { userId })
      assert.equal(await isSignedIn(app(), await browserOf(app(), response)), true)
      const again = await sendLink(token)
      assert.equal(again.status, 401)
      assert.equal(again.body.error, 'UNAUTHORIZED: the link has been used already or has expired; ask for a new one')
      assert.equal((await sessionIdsOf(app(), userId)).length, 1)
    })

    it('signs in one of two who use it at once', async () => {
      const { userId, email } = await addPerson(app())
      const token = (await app().app.database.write('createSignInLink', { email, minutes: 15 }, 'link'))!
      const answers = await Promise.all([sendLink(token), sendLink(token), sendLink(token)])
      assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 401, 401])
      assert.equal((await sessionIdsOf(app(), userId)).length, 1)
    })

    it('says whom it is for, and stays usable', async () => {
      const { email, userId } = await addPerson(app())
      const token = (await app().app.database.write('createSignInLink', { email, minutes: 15 }, 'link'))!
      const look = (sent: string) =>
        app().request('POST', '/console/api/link', { key: null, body: { token: sent }, headers: { origin } })
      for (let count = 0; count < 2; count++) {
        const { status, body, headers } = await look(token)
        assert.deepEqual([status, Object.keys(body.result), body.result.email], [200, ['name', 'email'], email])
        assert.equal(headers['set-cookie'], undefined)
      }
      assert.deepEqual(await sessionIdsOf(app(), userId), [])
      assert.equal((await sendLink(token)).status, 200)
      const used = await look(token)
      assert.deepEqual([used.status, used.body.error], [401, (await sendLink(token)).body.error])
    })

    it('lets its person in at an address where others guess', async (t) => {
      stopClock(t)
      const { email } = await addPerson(app())
      const token = (await app().app.database.write('createSignInLink', { email, minutes: 15 }, 'link'))!
      const address = freshAddress()
      const send = async (path: string, sent: string) =>
        (await app().request('POST', path, { key: null, address, body: { token: sent }, headers: { origin } })).status
      const statuses: number[] = []
      for (let count = 0; count < 22; count++) {
        statuses.push(await send(count % 2 ? '/console/api/session/link' : '/console/api/invitation', 'lnk_x'))
      }
      assert.deepEqual(new Set(statuses.slice(0, 20)), new Set([401, 404]))
      assert.deepEqual(statuses.slice(20), [429, 429])
      assert.equal(await send('/console/api/session/link', token), 200)
    })

    it('rejects an expired link, an unknown one and an invalid one', async () => {
      const { userId, email } = await addPerson(app())
      const token = (await app().app.database.write('createSignInLink', { email, minutes: 1 }, 'link'))!
      await app().query(`UPDATE sign_in_links SET expire_at = '${hoursAgo(0)}' WHERE user_id = '${userId}'`)
      for (const sent of [token, `lnk_${'0'.repeat(43)}`, '', 'x'])
        assert.equal((await sendLink(sent)).status, 401, sent)
      assert.equal((await sendLink('x'.repeat(65))).status, 400)
      assert.deepEqual(await sessionIdsOf(app(), userId), [])
    })

    it('is not made for nobody', async () => {
      const order = { email: 'nobody@northwind.example', minutes: 15 }
      assert.equal((await app().app.database.write('createSignInLink', order, 'link')) ?? undefined, undefined)
    })

    it('ends the session that was presented', async () => {
      const { email } = await addPerson(app())
      const planted = await app().addSession((await addPerson(app())).userId)
      const token = (await app().app.database.write('createSignInLink', { email, minutes: 15 }, 'link'))!
      assert.equal((await sendLink(token, { cookie: planted.headers.cookie! })).status, 200)
      assert.equal(await isSignedIn(app(), planted), false)
    })
  })
})
