import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import { newId } from '../lib/id.ts'
import { insertMember, insertUser } from './store.ts'

onBothDatabases('listMembers', (app) => {
  /** An organization of its own for each test, with an admin who joined now. */
  async function setUp() {
    const { organizationId, admin, adminUserId } = await app().addOrganization()
    const add = async (joinedAt: string) => {
      const id = newId()
      await insertUser(app().sql, { id, name: 'Old Hand', email: `${id}@northwind.example`, now: joinedAt })
      await insertMember(app().sql, { organizationId, userId: id, role: 'developer', now: joinedAt })
      return id
    }
    const addNamed = async (name: string, email: string) => {
      const id = newId()
      const now = '2026-01-01T00:00:00.000Z'
      await insertUser(app().sql, { id, name, email: `${id}.${email}`, now })
      await insertMember(app().sql, { organizationId, userId: id, role: 'developer', now })
      return id
    }
    const list = (query = '', key = admin) =>
      app().request('GET', `/v1/organizations/${organizationId}/members${query}`, { key })
    return { organizationId, admin, adminUserId, add, addNamed, list }
  }

  const idsOf = (result: { userId: string }[]) => result.map(({ userId }) => userId)

  describe('200', () => {
    it('gives whole members in the envelope, those who joined last first', async () => {
      const { adminUserId, organizationId, admin, add, list } = await setUp()
      const first = await add('2026-01-01T00:00:00.000Z')
      const second = await add('2026-02-01T00:00:00.000Z')
      const { status, body, headers } = await list()
      assert.equal(status, 200)
      assert.deepEqual(Object.keys(body), ['requestId', 'result', 'status'])
      assert.deepEqual(idsOf(body.result), [adminUserId, second, first])
      assert.deepEqual(body.result[2], {
        userId: first,
        name: 'Old Hand',
        email: `${first}@northwind.example`,
        role: 'developer',
        joinedAt: '2026-01-01T00:00:00.000Z',
      })
      assert.equal(headers.link, undefined)
      for (const member of body.result) {
        const path = `/v1/organizations/${organizationId}/members/${member.userId}`
        assert.deepEqual((await app().request('GET', path, { key: admin })).body.result, member)
      }
    })

    it('returns all members page by page, also when several joined at the same time', async () => {
      const { add, list } = await setUp()
      for (let count = 0; count < 4; count++) await add('2026-01-01T00:00:00.000Z')
      for (let count = 0; count < 3; count++) await add('2026-01-02T00:00:00.000Z')
      const whole = idsOf((await list()).body.result)
      const seen: string[] = []
      let query = '?limit=3'
      for (let page = 0; page < 3; page++) {
        const { status, body, headers } = await list(query)
        assert.equal(status, 200)
        seen.push(...idsOf(body.result))
        assert.equal(headers.link === undefined, page === 2)
        query = /<[^?]+(\?[^>]+)>; rel="next"/.exec(String(headers.link))?.[1] ?? ''
      }
      assert.equal(seen.length, 8)
      assert.deepEqual(seen, whole)
    })

    it('neither repeats nor hides anybody when somebody joins or leaves between two pages', async () => {
      const { organizationId, admin, add, list } = await setUp()
      const old = [await add('2026-01-02T00:00:00.000Z'), await add('2026-01-01T00:00:00.000Z')]
      const first = await list('?limit=2')
      const query = /<[^?]+(\?[^>]+)>/.exec(String(first.headers.link))![1]!
      await app().addMember(organizationId, 'developer')
      // The last member of the page, which the cursor refers to.
      const path = `/v1/organizations/${organizationId}/members/${old[0]}`
      assert.equal((await app().request('DELETE', path, { key: admin })).status, 200)
      assert.deepEqual(idsOf((await list(query)).body.result), [old[1]])
    })

    it('searches names and email addresses, page by page, and takes every character as itself', async () => {
      const { addNamed, list } = await setUp()
      const zoe = await addNamed('Zoë Ångström', 'zoe@northwind.example')
      const percent = await addNamed('100% Real_Name!', 'percent@northwind.example')
      const other = await addNamed('Someone Else', 'ZOE-TWO@northwind.example')
      const find = async (text: string) => idsOf((await list(`?search=${encodeURIComponent(text)}`)).body.result)
      assert.deepEqual(await find('zOë å'), [], 'only A to Z match in either case')
      assert.deepEqual(await find('zoë Å'), [zoe])
      assert.deepEqual((await find('zoe')).toSorted(), [zoe, other].toSorted())
      assert.deepEqual(await find('SOMEONE'), [other])
      for (const text of ['0%', 'l_n', 'NAME!', '100% real_name!']) assert.deepEqual(await find(text), [percent], text)
      for (const text of ['%%', '_', '!', "'", '\\']) {
        assert.deepEqual(await find(text), text === '_' || text === '!' ? [percent] : [], text)
      }
      const pages: string[] = []
      let query = '?search=northwind&limit=2'
      while (query !== '') {
        const { status, body, headers } = await list(query)
        assert.equal(status, 200)
        pages.push(...idsOf(body.result))
        query = /<[^?]+(\?[^>]+)>; rel="next"/.exec(String(headers.link))?.[1] ?? ''
      }
      assert.deepEqual(pages, await find('northwind'))
    })

    it('has the members of this organization only', async () => {
      const ours = await setUp()
      const theirs = await setUp()
      const now = new Date().toISOString()
      await insertMember(app().sql, {
        organizationId: theirs.organizationId,
        userId: ours.adminUserId,
        role: 'developer',
        now,
      })
      const { result } = (await ours.list()).body
      assert.deepEqual(idsOf(result), [ours.adminUserId])
      assert.equal(result[0].role, 'admin')
    })

    it('lets a developer read', async () => {
      const { organizationId, list } = await setUp()
      assert.equal((await list('', await app().addKey(organizationId, 'developer'))).status, 200)
    })
  })

  describe('400', () => {
    it('refuses a limit out of bounds, a made-up cursor and other parameters', async () => {
      const { list } = await setUp()
      for (const query of [
        '?limit=0',
        '?limit=1001',
        '?limit=ten',
        '?cursor=abc',
        '?role=admin',
        '?search=',
        `?search=${'x'.repeat(201)}`,
      ]) {
        const { status, body } = await list(query)
        assert.equal(status, 400, query)
        assert.match(body.error, /^BAD_REQUEST: /)
      }
    })
  })

  it('400: a character that no database stores', async () => {
    const { organizationId } = app().sample
    const { status, body } = await app().request('GET', `/v1/organizations/${organizationId}/members?search=%00`)
    assert.equal(status, 400)
    assert.equal(body.error, 'BAD_REQUEST: the query contains the character U+0000, which is not allowed')
  })
})
