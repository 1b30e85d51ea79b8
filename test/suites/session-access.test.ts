// Operations with a session instead of an API key, where they differ: whose rights count and until when, what is recorded, and
// that requests with a key are unaffected.
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { newId } from '../../src/lib/id.ts'
import { insertMember } from '../../src/members/store.ts'
import { basic, onBothDatabases, type TestSession } from '../harness/test-app.ts'
import { freshAddress } from '../harness/world.ts'

onBothDatabases('operations with a session', (app) => {
  let port: number
  before(async () => {
    port = Number(new URL(await app().app.listen()).port)
  })

  async function setUp() {
    const { organizationId, admin, adminUserId } = await app().addOrganization()
    const userId = await app().addMember(organizationId, 'admin')
    const session = await app().addSession(userId)
    return { organizationId, path: `/v1/organizations/${organizationId}`, key: admin, adminUserId, userId, session }
  }

  async function nameOf(organizationId: string): Promise<string> {
    const [row] = await app().query<{ name: string }>(`SELECT name FROM organizations WHERE id = '${organizationId}'`)
    return row!.name
  }

  it('records the person as the actor', async () => {
    const { path, session, userId } = await setUp()
    const renamed = await app().request('PATCH', path, { session, body: { name: 'By a person' } })
    assert.equal(renamed.status, 200)
    const { body } = await app().request('GET', `${path}/activities`, { session })
    assert.deepEqual(body.result[0].actor, { type: 'user', id: userId, name: `User ${userId.slice(0, 8)}` })
    assert.equal(body.result[0].requestId, renamed.headers['x-request-id'])
    assert.ok(!JSON.stringify(body).includes(session.token))
  })

  it('applies Idempotency-Key per person', async () => {
    const { path, session, organizationId, userId } = await setUp()
    const create = (by: TestSession, target = path) =>
      app().request('POST', `${target}/keys`, {
        session: by,
        body: { name: 'made once', roles: ['developer'] },
        headers: { 'idempotency-key': 'one' },
      })
    const [first, again] = [await create(session), await create(session)]
    assert.equal(first.status, 200)
    assert.deepEqual(again.body.result, first.body.result)
    // Another session of the same person shares the idempotency keys.
    assert.deepEqual((await create(await app().addSession(userId))).body.result, first.body.result)
    const colleague = await app().addSession(await app().addMember(organizationId, 'admin'))
    assert.notEqual((await create(colleague)).body.result.keyId, first.body.result.keyId)
    const elsewhere = (await app().addOrganization()).organizationId
    await insertMember(app().sql, { organizationId: elsewhere, userId, role: 'admin', now: new Date().toISOString() })
    const inTheOther = await create(session, `/v1/organizations/${elsewhere}`)
    assert.notEqual(inTheOther.body.result.keyId, first.body.result.keyId)
  })

  it('lists all organizations of the person, in pages', async () => {
    const { userId, session, organizationId } = await setUp()
    const ids = [organizationId]
    for (let more = 0; more < 3; more++) {
      const added = (await app().addOrganization()).organizationId
      await insertMember(app().sql, { organizationId: added, userId, role: 'developer', now: new Date().toISOString() })
      ids.push(added)
    }
    const all = await app().request('GET', '/v1/organizations', { session })
    const listed = all.body.result.map(({ id }: { id: string }) => id)
    assert.deepEqual(listed.toSorted(), ids.toSorted())
    assert.deepEqual(
      all.body.result.map(({ createdAt }: { createdAt: string }) => createdAt),
      all.body.result
        .map(({ createdAt }: { createdAt: string }) => createdAt)
        .toSorted()
        .toReversed(),
    )
    const first = await app().request('GET', '/v1/organizations?limit=3', { session })
    const next = /^<(.*)>; rel="next"$/.exec(String(first.headers.link))![1]!
    const second = await app().request('GET', next, { session })
    const paged = [...first.body.result, ...second.body.result].map(({ id }: { id: string }) => id)
    assert.deepEqual(paged, listed)
    assert.equal(second.headers.link, undefined)
    const nobody = await app().addSession(userId)
    await app().query(`DELETE FROM members WHERE user_id = '${userId}'`)
    assert.deepEqual((await app().request('GET', '/v1/organizations', { session: nobody })).body.result, [])
  })

  it('answers that a session has no current key', async () => {
    const { path, session } = await setUp()
    const { status, body } = await app().request('GET', `${path}/keys/current`, { session })
    assert.equal(status, 404)
    assert.equal(body.error, 'NOT_FOUND: this request was made in a session of the console, not with an API key')
  })

  it('explains to a developer in the second person which role is needed', async () => {
    const { organizationId, path } = await setUp()
    const session = await app().addSession(await app().addMember(organizationId, 'developer'))
    const { status, body } = await app().request('PATCH', path, { session, body: { name: 'x' } })
    assert.equal(status, 403)
    assert.equal(body.error, 'FORBIDDEN: Update organization needs the role admin; you have the role developer')
  })

  it('sends the 401 challenge to programs, not to pages, where a browser would open a password dialog', async () => {
    const { path, session } = await setUp()
    const challenge = async (headers: Record<string, string>) => {
      const response = await app().request('GET', path, { key: null, headers, address: freshAddress() })
      assert.equal(response.status, 401)
      return response.headers['www-authenticate']
    }
    assert.equal(await challenge({}), 'Basic realm="penstock"')
    assert.equal(await challenge({ 'sec-fetch-mode': 'navigate' }), 'Basic realm="penstock"')
    // As fetch in a program sends it.
    assert.equal(await challenge({ 'sec-fetch-mode': 'cors' }), 'Basic realm="penstock"')
    const page = { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' }
    assert.equal(await challenge(page), undefined)
    assert.equal(await challenge({ ...page, authorization: 'Basic eDp5' }), 'Basic realm="penstock"')
    assert.equal(await challenge({ ...page, 'sec-fetch-mode': 'navigate' }), 'Basic realm="penstock"')
    assert.equal(await challenge({ cookie: '__Host-penstock-session=ses_1' }), undefined)
    const twice = `${session.headers.cookie}; ${session.headers.cookie}`
    assert.equal(await challenge({ cookie: twice }), 'Basic realm="penstock"')
    assert.equal(await challenge({ cookie: `${session.headers.cookie}%20` }), undefined)
  })

  it('does not count ended or unknown sessions as failures of the address', async () => {
    const address = freshAddress()
    const { path, session, userId } = await setUp()
    const ended = await app().addSession(userId, { now: '2020-01-01T00:00:00.000Z' })
    const unknown = `__Host-penstock-session=ses_${'0'.repeat(43)}`
    for (let count = 0; count < 25; count++) {
      const headers = { cookie: count % 2 ? unknown : ended.headers.cookie! }
      for (const asked of [path, '/console/api/sessions']) {
        assert.equal((await app().request('GET', asked, { key: null, headers, address })).status, 401)
      }
    }
    assert.equal((await app().request('GET', path, { session, address })).status, 200)
  })

  describe('beside an API key', () => {
    it('is ignored: the key decides', async () => {
      const { path, key, session } = await setUp()
      const strange = { ...session.headers, origin: 'https://attacker.example', 'sec-fetch-site': 'cross-site' }
      for (const headers of [session.headers, strange, { cookie: '__Host-penstock-session=x' }]) {
        const renamed = await app().request('PATCH', path, { key, body: { name: `By ${newId()}` }, headers })
        assert.equal(renamed.status, 200)
        const { body } = await app().request('GET', `${path}/activities`, { key })
        assert.equal(body.result[0].actor.type, 'key')
      }
      for (const authorization of [basic({ ...key, secret: 'wrong' }), 'Bearer x', '']) {
        const refused = await app().request('GET', path, {
          key: null,
          headers: { ...session.headers, authorization },
          address: freshAddress(),
        })
        assert.equal(refused.status, 401, authorization)
      }
    })
  })

  describe('of somebody who loses their rights', () => {
    const losses: [
      what: string,
      status: number,
      lose: (world: Awaited<ReturnType<typeof setUp>>) => Promise<unknown>,
    ][] = [
      ['is removed', 404, ({ path, key, userId }) => app().request('DELETE', `${path}/members/${userId}`, { key })],
      [
        'is demoted',
        403,
        ({ path, key, userId }) =>
          app().request('PATCH', `${path}/members/${userId}`, { key, body: { role: 'developer' } }),
      ],
      ['signs out', 401, ({ session }) => app().request('DELETE', '/console/api/session', { session })],
      [
        'signs out everywhere',
        401,
        async ({ userId }) =>
          app().request('DELETE', '/console/api/sessions', { session: await app().addSession(userId) }),
      ],
      [
        'is idle for too long',
        401,
        ({ session }) =>
          app().query(`UPDATE sessions SET used_at = '2020-01-01T00:00:00.000Z' WHERE id = '${session.id}'`),
      ],
      [
        'has had the session for too long',
        401,
        ({ session }) =>
          app().query(`UPDATE sessions SET expire_at = '2020-01-01T00:00:00.000Z' WHERE id = '${session.id}'`),
      ],
    ]
    for (const [what, status, lose] of losses) {
      it(`refuses the next request of a person who ${what}`, async () => {
        const world = await setUp()
        const { path, session, organizationId } = world
        assert.equal((await app().request('PATCH', path, { session, body: { name: 'Before' } })).status, 200)
        await app().app.sessionUses.settled()
        await lose(world)
        const address = freshAddress()
        assert.equal((await app().request('PATCH', path, { session, body: { name: 'After' }, address })).status, status)
        assert.equal((await app().request('GET', path, { session, address })).status, status === 403 ? 200 : status)
        assert.equal(await nameOf(organizationId), 'Before')
      })

      it(`refuses a write in progress when its person ${what}`, async () => {
        const world = await setUp()
        const { path, session, organizationId } = world
        const body = '{"name": "Renamed"}'
        const socket = connect(port, '127.0.0.1')
        let answer = ''
        socket.on('data', (chunk) => {
          answer += chunk.toString()
        })
        const ended = new Promise((resolve) => socket.on('close', resolve))
        const headers = Object.entries(session.headers).map(([name, value]) => `${name}: ${value}\r\n`)
        socket.write(
          `PATCH ${path} HTTP/1.1\r\nHost: localhost\r\n${headers.join('')}Content-Type: application/json\r\n` +
            `Content-Length: ${body.length}\r\nConnection: close\r\n\r\n${body.slice(0, 5)}`,
        )
        await sleep(100)
        await app().app.sessionUses.settled()
        await lose(world)
        socket.write(body.slice(5))
        await ended
        assert.match(answer, new RegExp(`^HTTP/1.1 ${status} `))
        assert.equal(await nameOf(organizationId), 'Another')
      })
    }
  })
})

onBothDatabases(
  'the rate limit of a person',
  (app) => {
    it('is counted over all sessions, apart from that of keys', async () => {
      const userId = await app().addMember(app().sample.organizationId, 'developer')
      const sessions = [await app().addSession(userId), await app().addSession(userId)]
      const path = `/v1/organizations/${app().sample.organizationId}`
      const statuses: number[] = []
      for (let request = 0; request < 4; request++) {
        statuses.push((await app().request('GET', path, { session: sessions[request % 2]! })).status)
      }
      assert.deepEqual(statuses, [200, 200, 200, 429])
      const { body } = await app().request('GET', path, { session: sessions[0]! })
      assert.match(body.error, /^TOO_MANY_REQUESTS: a person may make 3 requests in 60 s; /)
      assert.equal((await app().request('GET', path)).status, 200)
      // Calls of the console count too.
      const own = await app().request('GET', '/console/api/session', { session: sessions[1]! })
      assert.equal(own.status, 429)
    })
  },
  { rateLimit: { requests: 3, windowSeconds: 60 } },
)
