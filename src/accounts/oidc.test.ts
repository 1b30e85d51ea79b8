import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { after, describe, it } from 'node:test'
import { type Claims, startOpenidProvider } from '../../test/fakes/openid-provider.ts'
import { origin, sessionCookie, Visitor } from '../../test/harness/console-visitor.ts'
import { onBothDatabases, openTestApp } from '../../test/harness/test-app.ts'
import { hashPassword } from '../lib/password.ts'
import { Secret } from '../lib/secret.ts'

const callback = '/console/oidc/callback'
const attemptCookie = '__Host-penstock-oidc'
const provider = await startOpenidProvider(`${origin}${callback}`)

const settings = (issuer: string) => ({
  oidc: { issuer, clientId: provider.clientId, clientSecret: new Secret(provider.clientSecret), name: 'Northwind' },
  operations: { publicUrl: origin, privateEndpointServices: {}, oidc: { name: 'Northwind' } },
})

after(() => provider.close())

onBothDatabases(
  'signing in with OpenID Connect',
  (app) => {
    let people = 0

    /** A member, and what the provider knows of them. */
    async function setUp() {
      const userId = await app().addMember(app().sample.organizationId, 'developer')
      const claims: Claims = {
        sub: `${app().dialect}-${++people}`,
        email: `${userId}@northwind.example`,
        email_verified: true,
      }
      return { userId, claims, visitor: new Visitor(app()) }
    }
    /** Signs in at the provider, up to the redirect back. */
    async function visit(visitor: Visitor, claims: Claims | null, to = '/console/members'): Promise<string> {
      const start = await visitor.request('GET', `/console/oidc/start?to=${encodeURIComponent(to)}`)
      assert.equal(start.status, 303)
      provider.person = claims
      const { pathname, search } = await provider.visit(String(start.headers.location))
      assert.equal(pathname, callback)
      return `${pathname}${search}`
    }
    async function signIn(visitor: Visitor, claims: Claims | null, to?: string) {
      return visitor.request('GET', await visit(visitor, claims, to))
    }
    const problemOf = ({ status, headers }: Awaited<ReturnType<typeof signIn>>): string => {
      assert.equal(status, 303)
      const { pathname, searchParams } = new URL(String(headers.location))
      assert.equal(pathname, '/console/sign-in')
      return searchParams.get('problem')!
    }
    const subjectOf = async (userId: string) =>
      (await app().query<{ oidc_subject: string | null }>(`SELECT oidc_subject FROM users WHERE id = '${userId}'`))[0]!
        .oidc_subject
    const countOf = async (table: string) =>
      Number((await app().query<{ count: number }>(`SELECT count(*) AS count FROM ${table}`))[0]!.count)

    describe('lets in', () => {
      it('a person by a verified email, binds the identity, and goes on to the page', async () => {
        const { userId, claims, visitor } = await setUp()
        assert.deepEqual((await visitor.session()).methods, { password: true, oidc: { name: 'Northwind' } })
        const { status, headers, text } = await signIn(visitor, claims, '/console/members?sort=name&x=1')
        assert.equal(status, 200)
        assert.match(
          text,
          /<meta http-equiv="refresh" content="0; url=https:\/\/penstock\.example\.com\/console\/members\?sort=name&#38;x=1">/,
        )
        assert.doesNotMatch(text, /<script/)
        assert.match(String(headers['content-security-policy']), /^default-src 'none'/)
        assert.equal(headers['cache-control'], 'no-store')
        assert.equal((await visitor.session()).user.id, userId)
        assert.equal(await subjectOf(userId), `${provider.issuer} ${claims.sub}`)
      })

      it('the same person afterwards by the identity, whatever their email is then', async () => {
        const { userId, claims, visitor } = await setUp()
        await signIn(visitor, claims)
        for (const email of ['renamed@northwind.example', undefined]) {
          const later = new Visitor(app())
          const changed = { sub: claims.sub, email_verified: false, ...(email ? { email } : {}) }
          assert.equal((await signIn(later, changed)).status, 200)
          assert.equal((await later.session()).user.id, userId)
        }
      })

      it('only the person: sessions and links from before the identity was bound end', async () => {
        const { userId, claims, visitor } = await setUp()
        const email = claims.email!
        const passwordHash = await hashPassword('correct horse battery')
        await app().query(`UPDATE users SET password_hash = '${passwordHash}' WHERE id = '${userId}'`)
        const other = new Visitor(app())
        await other.signInAs(userId)
        const makeLink = async () =>
          (await app().app.database.write('createSignInLink', { email, minutes: 15 }, 'link'))!
        const token = await makeLink()
        const [bystander, bystanders] = [new Visitor(app()), await setUp()]
        await bystander.signInAs(bystanders.userId)

        assert.equal((await signIn(visitor, claims)).status, 200)
        const { user } = await visitor.session()
        assert.deepEqual([user.id, user.hasPassword], [userId, false])
        assert.equal((await other.session()).signedIn, false)
        const password = 'correct horse battery'
        assert.equal((await other.request('POST', '/console/api/session', { email, password })).status, 401)
        assert.equal((await other.request('POST', '/console/api/session/link', { token })).status, 401)
        assert.equal((await bystander.session()).signedIn, true)

        // Only the first time: later sessions and links stay.
        await other.request('POST', '/console/api/session/link', { token: await makeLink() })
        const later = await makeLink()
        assert.equal((await signIn(new Visitor(app()), claims)).status, 200)
        assert.equal((await other.session()).user.id, userId)
        assert.equal(
          (await new Visitor(app()).request('POST', '/console/api/session/link', { token: later })).status,
          200,
        )
      })

      it('an email in other letters', async () => {
        const { userId, claims, visitor } = await setUp()
        await signIn(visitor, { ...claims, email: claims.email!.toUpperCase() })
        assert.equal((await visitor.session()).user.id, userId)
      })

      it('nobody by an email whose letters only look like those of another', async () => {
        const { userId, claims } = await setUp()
        const [email, passwordHash] = [`kim-${userId}@northwind.example`, await hashPassword('correct horse battery')]
        await app().query(
          `UPDATE users SET email = '${email}', password_hash = '${passwordHash}' WHERE id = '${userId}'`,
        )
        const owner = new Visitor(app())
        await owner.signInAs(userId)
        // U+212A KELVIN SIGN and U+0130 are k and i in lower case, U+017F is S in upper case.
        for (const lookalike of ['\u212aim', 'k\u0130m', 'ki\u217f', 'kim\u017f']) {
          const visitor = new Visitor(app())
          const stranger = { ...claims, sub: `${claims.sub} ${lookalike}`, email: email.replace('kim', lookalike) }
          assert.equal(problemOf(await signIn(visitor, stranger)), 'oidc_email_missing', lookalike)
          assert.equal((await visitor.session()).signedIn, false)
        }
        assert.deepEqual([await subjectOf(userId), (await owner.session()).user.hasPassword], [null, true])
      })

      it('nobody onto a page of another site', async () => {
        const { claims, visitor } = await setUp()
        for (const to of ['//evil.example/', 'https://evil.example/', '.evil.example/console/', '@evil.example']) {
          const { status, text } = await signIn(visitor, claims, to)
          assert.equal(status, 200)
          assert.match(text, /content="0; url=https:\/\/penstock\.example\.com\/console\/"/)
        }
      })

      it('a person in two windows at once', async () => {
        const { userId, claims } = await setUp()
        const visitors = [new Visitor(app()), new Visitor(app()), new Visitor(app())]
        const returns: string[] = []
        for (const visitor of visitors) returns.push(await visit(visitor, claims))
        await Promise.all(visitors.map((visitor, index) => visitor.request('GET', returns[index]!)))
        for (const visitor of visitors) assert.equal((await visitor.session()).user.id, userId)
      })

      it('somebody who is invited and comes from the page of the invitation, who can then accept', async () => {
        const { organizationId, admin } = await app().addOrganization()
        const email = `invited.${app().dialect}@northwind.example`
        const { body } = await app().request('POST', `/v1/organizations/${organizationId}/invitations`, {
          key: admin,
          body: { email, role: 'admin' },
        })
        const token = String(body.result.link).split('#')[1]!
        const visitor = new Visitor(app())
        const claims = { sub: `${app().dialect}-invited`, email, email_verified: true, name: ' Noor\nHaddad ' }
        assert.equal(problemOf(await signIn(visitor, claims)), 'oidc_invited')
        assert.equal(
          problemOf(await signIn(visitor, { ...claims, email_verified: false }, '/console/invitations/accept')),
          'oidc_email_not_verified',
        )
        assert.equal((await signIn(visitor, claims, '/console/invitations/accept')).status, 200)
        const { user, organizations } = await visitor.session()
        const { id } = user
        assert.deepEqual(user, { id, name: 'Noor Haddad', email, hasPassword: false, mayReplacePassword: true })
        assert.deepEqual(organizations, [])
        assert.equal((await visitor.request('POST', '/console/api/invitation/accept', { token })).status, 200)
        assert.deepEqual((await visitor.session()).organizations, [
          { id: organizationId, name: 'Another', role: 'admin' },
        ])
      })
    })

    describe('keeps out', () => {
      it('an email that the provider has not verified, whatever it calls that', async () => {
        const { userId, claims, visitor } = await setUp()
        for (const email_verified of [false, undefined, 'true', 1, null]) {
          const { email_verified: _, ...rest } = claims
          const unverified = { ...rest, ...(email_verified === undefined ? {} : { email_verified }) }
          assert.equal(problemOf(await signIn(visitor, unverified)), 'oidc_email_not_verified')
        }
        assert.equal(problemOf(await signIn(visitor, { sub: claims.sub, email_verified: true })), 'oidc_email_missing')
        assert.equal(await subjectOf(userId), null)
        assert.equal((await visitor.session()).signedIn, false)
      })

      it('people who are neither known nor invited, and stores nothing of them', async () => {
        const { claims, visitor } = await setUp()
        const users = await countOf('users')
        for (const to of ['/console/members', '/console/invitations/accept']) {
          const stranger = { ...claims, email: 'stranger@northwind.example' }
          assert.equal(problemOf(await signIn(visitor, stranger, to)), 'oidc_unknown_person')
        }
        assert.equal(await countOf('users'), users)
        assert.equal(visitor.cookies.has(sessionCookie), false)
      })

      it('another identity with the email of somebody who is bound already', async () => {
        const { userId, claims, visitor } = await setUp()
        await signIn(visitor, claims)
        const other = new Visitor(app())
        assert.equal(problemOf(await signIn(other, { ...claims, sub: `${claims.sub}-other` })), 'oidc_other_identity')
        assert.equal(await subjectOf(userId), `${provider.issuer} ${claims.sub}`)
        assert.equal((await other.session()).signedIn, false)
      })

      it('a callback of a sign-in that was not started in this browser', async () => {
        const { claims, visitor } = await setUp()
        const attacker = new Visitor(app())
        const returned = await visit(attacker, claims)
        assert.equal(problemOf(await visitor.request('GET', returned)), 'oidc_attempt_expired')

        // During an attempt of their own.
        await visitor.request('GET', '/console/oidc/start')
        assert.equal(problemOf(await visitor.request('GET', returned)), 'oidc_attempt_expired')
        assert.equal((await visitor.session()).signedIn, false)
      })

      it('a state that is wrong or missing', async () => {
        for (const change of [
          (parameters: URLSearchParams) => parameters.set('state', 'another'),
          (parameters: URLSearchParams) => parameters.delete('state'),
          (parameters: URLSearchParams) => parameters.append('state', 'another'),
        ]) {
          const { claims, visitor } = await setUp()
          const returned = new URL(await visit(visitor, claims), origin)
          change(returned.searchParams)
          const problem = problemOf(await visitor.request('GET', `${returned.pathname}${returned.search}`))
          assert.ok(['oidc_attempt_expired', 'oidc_failed'].includes(problem), problem)
          assert.equal((await visitor.session()).signedIn, false)
        }
      })

      it('an attempt that took too long, or that somebody has changed', async (context) => {
        const { claims, visitor } = await setUp()
        const returned = await visit(visitor, claims)
        const attempt = visitor.cookies.get(attemptCookie)!
        visitor.cookies.set(attemptCookie, `${attempt.slice(0, -1)}${attempt.endsWith('A') ? 'B' : 'A'}`)
        assert.equal(problemOf(await visitor.request('GET', returned)), 'oidc_attempt_expired')
        visitor.cookies.set(attemptCookie, attempt)
        context.mock.timers.enable({ apis: ['Date'], now: Date.now() + 600_001 })
        assert.equal(problemOf(await visitor.request('GET', returned)), 'oidc_attempt_expired')
      })

      it('a callback that is used again', async () => {
        const { claims, visitor } = await setUp()
        const returned = await visit(visitor, claims)
        const attempt = visitor.cookies.get(attemptCookie)!
        assert.equal((await visitor.request('GET', returned)).status, 200)
        assert.equal(visitor.cookies.has(attemptCookie), false)
        assert.equal(problemOf(await visitor.request('GET', returned)), 'oidc_attempt_expired')
        const thief = new Visitor(app())
        thief.cookies.set(attemptCookie, attempt)
        assert.equal(problemOf(await thief.request('GET', returned)), 'oidc_failed')
        assert.equal((await thief.session()).signedIn, false)
      })

      it('somebody whom the provider turns away, who can still sign in to the page that was asked for', async () => {
        const { visitor } = await setUp()
        const { status, headers } = await signIn(visitor, null, '/console/o/one?tab=a&b=c')
        assert.equal(status, 303)
        const { pathname, searchParams } = new URL(String(headers.location))
        assert.equal(pathname, '/console/sign-in')
        assert.deepEqual(Object.fromEntries(searchParams), { problem: 'oidc_denied', to: '/console/o/one?tab=a&b=c' })
      })

      it('attempts without end, but nobody else at the same address', async () => {
        const { claims, visitor } = await setUp()
        const start = await visitor.request('GET', '/console/oidc/start')
        const state = new URL(String(start.headers.location)).searchParams.get('state')
        const cookie = `${attemptCookie}=${visitor.cookies.get(attemptCookie)}`
        const fail = async () =>
          problemOf(await visitor.request('GET', `${callback}?code=x&state=${state}`, undefined, { cookie }))
        const problems = await Promise.all(Array.from({ length: 60 }, fail))
        assert.ok(problems.every((problem) => ['oidc_failed', 'oidc_busy'].includes(problem)))
        assert.equal((await signIn(visitor, claims)).status, 200)
      })
    })

    it('keeps the attempt in a cookie that pages cannot read', async () => {
      const { headers } = await new Visitor(app()).request('GET', '/console/oidc/start')
      assert.match(
        String(headers['set-cookie']),
        /^__Host-penstock-oidc=k1\.[\w-]+; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
      )
      const { searchParams } = new URL(String(headers.location))
      assert.equal(searchParams.get('code_challenge_method'), 'S256')
      for (const name of ['state', 'nonce', 'code_challenge']) {
        const value = searchParams.get(name)!
        assert.match(value, /^[\w-]{43}$/)
        assert.ok(!String(headers['set-cookie']).includes(value))
      }
    })

    it('offers only GET', async () => {
      for (const path of ['/console/oidc/start', callback]) {
        assert.equal((await new Visitor(app()).request('POST', path, {})).status, 405)
      }
    })

    it('writes no secret into the log, and says there why somebody was kept out', async () => {
      const { claims, visitor } = await setUp()
      const returned = await visit(visitor, { ...claims, email_verified: false })
      app().logged.length = 0
      const { headers } = await visitor.request('GET', returned)
      const log = app().logged.join('')
      assert.match(log, /oidc_email_not_verified: no account is bound to the identity/)
      assert.ok(log.includes(String(headers['x-request-id'])))
      const code = new URL(returned, origin).searchParams.get('code')!
      for (const secret of [provider.clientSecret, code, claims.email!]) assert.ok(!log.includes(secret))
    })
  },
  settings(provider.issuer),
)

describe('a provider that does not answer', () => {
  it('stops neither the server nor other ways to sign in', async () => {
    const gone = await startOpenidProvider(`${origin}${callback}`)
    await gone.close()
    const app = await openTestApp('sqlite', settings(gone.issuer))
    try {
      const visitor = new Visitor(app)
      const { status, headers } = await visitor.request('GET', '/console/oidc/start')
      assert.equal(status, 303)
      assert.equal(headers.location, `${origin}/console/sign-in?problem=oidc_unreachable`)
      for (const [to, kept] of [
        ['/console/members', '&to=%2Fconsole%2Fmembers'],
        ['https://elsewhere.example/console/', ''],
      ]) {
        const asked = await visitor.request('GET', `/console/oidc/start?to=${encodeURIComponent(to!)}`)
        assert.equal(asked.headers.location, `${origin}/console/sign-in?problem=oidc_unreachable${kept}`)
      }
      assert.equal((await visitor.session()).signedIn, false)
      assert.match(app.logged.join(''), /oidc_unreachable/)
    } finally {
      await app.close()
    }
  })

  it('is asked again as soon as it is back', async () => {
    let answers = false
    const proxy = createServer((request, response) => {
      if (!answers) {
        response.writeHead(502).end()
        return
      }
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ issuer: address(), authorization_endpoint: `${address()}/auth`, url: request.url }))
    })
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
    const address = () => `http://127.0.0.1:${(proxy.address() as { port: number }).port}`
    const app = await openTestApp('sqlite', settings(address()))
    try {
      const start = async () => String((await new Visitor(app).request('GET', '/console/oidc/start')).headers.location)
      assert.equal(await start(), `${origin}/console/sign-in?problem=oidc_unreachable`)
      answers = true
      assert.ok((await start()).startsWith(`${address()}/auth?`))
    } finally {
      await app.close()
      proxy.closeAllConnections()
      proxy.close()
    }
  })
})
