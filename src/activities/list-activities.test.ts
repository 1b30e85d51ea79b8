import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Key, onBothDatabases } from '../../test/harness/test-app.ts'
import type { Sql } from '../database/sql.ts'
import { firstIdAt, newId, newTimeOrderedId, timeOfId } from '../lib/id.ts'
import { insertActivity, listActivities } from './store.ts'

const newYear = Date.UTC(2026, 0, 1)

interface Shown {
  id: string
  type: string
  createdAt: string
}

onBothDatabases('listActivities', (app) => {
  /** A separate organization for each test. */
  async function setUp() {
    const { organizationId, admin, adminUserId } = await app().addOrganization()
    const userId = await app().addMember(organizationId, 'developer')
    const url = `/v1/organizations/${organizationId}`
    const list = (query = '', key: Key = admin) => app().request('GET', `${url}/activities${query}`, { key })
    const shown = async (query = ''): Promise<Shown[]> => {
      const { status, body, text } = await list(query)
      assert.equal(status, 200, text)
      return body.result
    }
    const setRole = (role: string, options = {}) =>
      app().request('PATCH', `${url}/members/${userId}`, { key: admin, body: { role }, ...options })
    return { organizationId, admin, adminUserId, userId, url, list, shown, setRole }
  }

  /** Inserts into the table: one activity per timestamp, with alternating types. */
  async function insertAt(organizationId: string, timesMs: number[], types = ['one']): Promise<string[]> {
    const rows = timesMs.map((ms, index) => {
      const time = ms.toString(16).padStart(12, '0')
      const id = `${time.slice(0, 8)}-${time.slice(8)}-7${index.toString(16).padStart(3, '0').slice(-3)}-${newId().slice(19)}`
      return { id, at: new Date(ms).toISOString(), type: types[index % types.length]! }
    })
    const actorId = newId()
    for (let index = 0; index < rows.length; index += 1000) {
      await app().query(
        `INSERT INTO activities
           (organization_id, id, type, created_at, actor_id, address, user_agent, request_id, target, changes) VALUES
         ${rows
           .slice(index, index + 1000)
           .map(
             ({ id, at, type }) =>
               `('${organizationId}', '${id}', '${type}', '${at}', '${actorId}', '192.0.2.1', '', '${newId()}', '{"type":"member","id":"x"}', '[]')`,
           )
           .join()}`,
      )
    }
    return rows.map(({ id }) => id)
  }

  describe('200', () => {
    it('returns an empty list in the envelope', async () => {
      const { list } = await setUp()
      const { status, body, headers } = await list()
      assert.equal(status, 200)
      assert.deepEqual(body, { requestId: headers['x-request-id'], result: [], status: 200 })
    })

    it('returns all fields of a change', async () => {
      const { organizationId, userId, shown, setRole } = await setUp()
      const key = await app().addKey(organizationId, 'admin', { name: 'Deploy key' })
      const started = new Date().toISOString()
      const changed = await setRole('admin', { key, address: '192.0.2.44', headers: { 'user-agent': 'curl/8.9' } })
      const [record] = await app().query<{ id: string }>(`SELECT id FROM api_keys WHERE key_id = '${key.keyId}'`)
      const [activity, ...others] = await shown()
      assert.deepEqual(others, [])
      const { id, createdAt } = activity!
      // Ids of a process only grow, and activities have their time: another file may have sealed activities ahead of the clock.
      const latest = new Date(timeOfId(newTimeOrderedId())).toISOString()
      assert.ok(createdAt >= started && createdAt <= latest, createdAt)
      assert.deepEqual(activity, {
        id,
        type: 'member_role_changed',
        createdAt,
        actor: { type: 'key', id: record!.id, name: 'Deploy key' },
        address: '192.0.2.44',
        userAgent: 'curl/8.9',
        requestId: changed.body.requestId,
        target: { type: 'member', id: userId },
        changes: [{ field: 'role', from: 'developer', to: 'admin' }],
      })
    })

    it('returns values of every type, including null, and all ids of the target', async () => {
      const { organizationId, shown } = await setUp()
      const changes = [
        { field: 'a', from: null, to: { nested: [1, { deep: true }], text: 'x' } },
        { field: 'b', to: [] },
        { field: 'c', from: 0.5 },
        { field: 'd', from: false, to: 'changed' },
      ]
      const target = { type: 'pipe', id: 'p', serviceId: 's' }
      const caller = { type: 'key' as const, id: newId(), organizationId, address: '::1', userAgent: '' }
      const now = new Date().toISOString()
      await insertActivity(app().sql, {
        type: 'pipe_updated',
        caller,
        requestId: newId(),
        now,
        sealedMs: 0,
        target,
        changes,
      })
      const [activity] = (await shown()) as unknown as { changes: unknown; target: unknown; actor: unknown }[]
      assert.deepEqual(activity!.changes, changes)
      assert.deepEqual(activity!.target, target)
      assert.deepEqual(activity!.actor, { type: 'key', id: caller.id }, 'a key that is gone has no name')
    })

    it('names users, and no key of another organization', async () => {
      const { organizationId, adminUserId, shown, setRole } = await setUp()
      await setRole('admin')
      const rename = (set: string) =>
        app().query(`UPDATE activities SET ${set} WHERE organization_id = '${organizationId}'`)
      const actor = async () => ((await shown())[0] as unknown as { actor: unknown }).actor
      await rename(`actor_type = 'user', actor_id = '${adminUserId}'`)
      assert.deepEqual(await actor(), { type: 'user', id: adminUserId, name: `User ${adminUserId.slice(0, 8)}` })
      const [foreign] = await app().query<{ id: string }>(
        `SELECT id FROM api_keys WHERE organization_id <> '${organizationId}' LIMIT 1`,
      )
      await rename(`actor_type = 'key', actor_id = '${foreign!.id}'`)
      assert.deepEqual(await actor(), { type: 'key', id: foreign!.id })
      await rename(`actor_type = 'system', actor_id = 'penstock'`)
      assert.deepEqual(await actor(), { type: 'system', id: 'penstock' })
    })

    it('returns ids that contain the millisecond of createdAt, newest first', async () => {
      const { shown, setRole } = await setUp()
      for (let index = 0; index < 20; index++) await setRole(index % 2 === 0 ? 'admin' : 'developer')
      const activities = await shown()
      assert.equal(activities.length, 20)
      assert.deepEqual(
        activities.map(({ id }) => id),
        activities
          .map(({ id }) => id)
          .toSorted()
          .toReversed(),
      )
      for (const { id, createdAt } of activities) {
        assert.equal(Number.parseInt(id.replace('-', '').slice(0, 12), 16), Date.parse(createdAt))
      }
    })

    it('returns a time range: from_date inclusive, to_date exclusive', async () => {
      const { organizationId, shown } = await setUp()
      const ids = await insertAt(
        organizationId,
        [0, 1, 2, 3].map((ms) => newYear + ms),
      )
      const at = (ms: number) => new Date(newYear + ms).toISOString()
      const range = async (query: string) => (await shown(query)).map(({ id }) => ids.indexOf(id))
      const cases: [string, number[]][] = [
        ['', [3, 2, 1, 0]],
        [`?from_date=${at(1)}`, [3, 2, 1]],
        [`?to_date=${at(2)}`, [1, 0]],
        [`?from_date=${at(1)}&to_date=${at(3)}`, [2, 1]],
        [`?from_date=${at(1)}&to_date=${at(1)}`, []],
        [`?from_date=${at(4)}`, []],
        [`?to_date=${at(0)}`, []],
        ['?from_date=2026-01-01T01:00:00.001%2B01:00&to_date=2025-12-31T23:30:00.003-00:30', [2, 1]],
        ['?from_date=2026-01-01T00:00:00Z&to_date=2026-01-01T00:00:01Z', [3, 2, 1, 0]],
        // Between two milliseconds.
        ['?from_date=2026-01-01T00:00:00.0005Z', [3, 2, 1]],
        ['?from_date=2026-01-01T00:00:00.001000000Z', [3, 2, 1]],
        ['?to_date=2026-01-01T00:00:00.0015Z', [1, 0]],
        ['?from_date=0000-01-01T00:00:00Z&to_date=9999-12-31T23:59:59.999999999-23:59', [3, 2, 1, 0]],
      ]
      for (const [query, expected] of cases) assert.deepEqual(await range(query), expected, query)
    })

    it('returns one type, also with a time range', async () => {
      const { organizationId, shown } = await setUp()
      await insertAt(
        organizationId,
        [0, 1, 2, 3, 4].map((ms) => newYear + ms),
        ['one', 'two'],
      )
      const types = async (query: string) =>
        (await shown(query)).map(({ createdAt }) => Date.parse(createdAt) - newYear)
      assert.deepEqual(await types('?type=one'), [4, 2, 0])
      assert.deepEqual(await types('?type=two'), [3, 1])
      assert.deepEqual(await types('?type=three'), [])
      assert.deepEqual(
        await types(`?type=one&from_date=2026-01-01T00:00:00.001Z&to_date=2026-01-01T00:00:00.004Z`),
        [2],
      )
    })

    it('returns consecutive pages, also with a range or type, and while activities are added', async () => {
      const { organizationId, admin, list, shown, setRole } = await setUp()
      await insertAt(
        organizationId,
        Array.from({ length: 25 }, (_, index) => newYear + Math.floor(index / 3)),
        ['one', 'two'],
      )
      for (const filter of ['', '&type=one', '&from_date=2026-01-01T00:00:00.002Z&to_date=2026-01-01T00:00:00.006Z']) {
        const expected = (await shown(`?limit=1000${filter}`)).map(({ id }) => id)
        const seen: string[] = []
        let next: string | undefined
        let answer = await list(`?limit=4${filter}`)
        do {
          assert.ok(answer.body.result.length <= 4)
          seen.push(...answer.body.result.map(({ id }: Shown) => id))
          next = /^<(.*)>; rel="next"$/.exec(String(answer.headers.link))?.[1]
          await setRole(seen.length % 8 === 0 ? 'admin' : 'developer')
          if (next) answer = await app().request('GET', next, { key: admin })
        } while (next)
        assert.deepEqual(seen, expected, filter)
      }
    })

    it('never returns activities of another organization', async () => {
      const { shown } = await setUp()
      const other = await setUp()
      await other.setRole('admin')
      assert.deepEqual(await shown(), [])
      assert.deepEqual(await shown('?type=member_role_changed'), [])
    })

    it('lets a developer read', async () => {
      const { organizationId, list } = await setUp()
      assert.equal((await list('', await app().addKey(organizationId, 'developer'))).status, 200)
    })

    it('finds a page far down by an index', async () => {
      const { organizationId } = await setUp()
      await insertAt(
        organizationId,
        Array.from({ length: 3000 }, (_, index) => newYear + index),
        ['one', 'two'],
      )
      if (app().dialect === 'postgres') await app().query('ANALYZE activities')
      for (const [type, index] of [
        [undefined, /activities_pkey|PRIMARY KEY/],
        ['one', /activities_by_type/],
      ] as const) {
        const range = { organizationId, type, from: firstIdAt(0), before: firstIdAt(newYear + 10), rows: 101 }
        const plan = await planOf((sql) => listActivities(sql, range))
        assert.match(plan, index)
        assert.doesNotMatch(plan, /Seq Scan|SCAN activities/)
        // Only the ids of a page are sorted, not all activities.
        if (type === undefined) assert.doesNotMatch(plan, /Sort|TEMP B-TREE/)
        else assert.doesNotMatch(plan, /activities USING PRIMARY KEY \(organization_id=\? AND id>/)
      }
    })
  })

  /** Query plan of the database. */
  async function planOf(ask: (sql: Sql) => Promise<unknown>): Promise<string> {
    const { dialect, sql } = app()
    let plan = ''
    const all: Sql['all'] = async (statement, values) => {
      const { text, parameters } = statement.for(dialect)
      const filled = text.replaceAll(/[?$](\d+)/g, (_, number: string) => {
        const value = values[parameters[Number(number) - 1]!]
        return typeof value === 'number' ? String(value) : `'${value}'`
      })
      const rows = await app().query(`${dialect === 'sqlite' ? 'EXPLAIN QUERY PLAN' : 'EXPLAIN'} ${filled}`)
      plan = rows.map((row) => JSON.stringify(row)).join('\n')
      return []
    }
    await ask({ ...sql, dialect, all })
    return plan
  }

  describe('400', () => {
    const refused: [string, RegExp][] = [
      ['?from_date=yesterday', /from_date must be a date and time such as 2026-01-31T12:00:00Z, not "yesterday"/],
      ['?to_date=2026-02-30T00:00:00Z', /to_date must be a date and time/],
      ['?to_date=2026-02-03', /to_date must be a date and time/],
      ['?type=', /type must have 1 to 64 characters, not 0/],
      ['?type=Member', /type must be lower-case letters and underscores such as member_role_changed, not "Member"/],
      ['?limit=0', /limit must be an integer between 1 and 1000, not 0/],
      ['?cursor=abc', /cursor must be a value from the Link header of a page/],
      ['?fromDate=2026-01-01T00:00:00Z', /fromDate is not a known field, did you mean "from_date"\?/],
    ]
    for (const [query, sentence] of refused) {
      it(`rejects ${query}`, async () => {
        const { list } = await setUp()
        const { status, body } = await list(query)
        assert.equal(status, 400)
        assert.match(body.error, sentence)
      })
    }

    it('rejects a range that ends before it begins, and names both fields', async () => {
      const { admin, url } = await setUp()
      const query = '?from_date=2026-01-02T00:00:00Z&to_date=2026-01-01T00:00:00Z'
      const { status, body } = await app().request('GET', `${url}/activities${query}`, {
        key: admin,
        headers: { accept: 'application/problem+json' },
      })
      assert.equal(status, 400)
      assert.equal(body.code, 'invalid_query')
      const detail = 'from_date must not be after to_date, but 2026-01-02T00:00:00Z is after 2026-01-01T00:00:00Z'
      assert.equal(body.detail, detail)
      assert.deepEqual(
        body.errors.map((error: { detail: string }) => error.detail),
        [detail, detail],
      )
    })
  })

  it('404 for another organization', async () => {
    const { url } = await setUp()
    assert.equal((await app().request('GET', `${url}/activities`)).status, 404)
  })
})

onBothDatabases('getActivity', (app) => {
  const unknownId = '00000000-0000-4000-8000-000000000000'

  async function setUp() {
    const { organizationId, admin } = await app().addOrganization()
    const userId = await app().addMember(organizationId, 'developer')
    const url = `/v1/organizations/${organizationId}`
    await app().request('PATCH', `${url}/members/${userId}`, { key: admin, body: { role: 'admin' } })
    const [activity] = (await app().request('GET', `${url}/activities`, { key: admin })).body.result
    const get = (id: string, key: Key = admin) => app().request('GET', `${url}/activities/${id}`, { key })
    return { organizationId, activity, get }
  }

  it('200: the same activity as in the list, for both roles', async () => {
    const { organizationId, activity, get } = await setUp()
    for (const key of [undefined, await app().addKey(organizationId, 'developer')]) {
      const { status, body, headers } = await get(activity.id, key)
      assert.equal(status, 200)
      assert.deepEqual(body, { requestId: headers['x-request-id'], result: activity, status: 200 })
    }
  })

  it('400 for a malformed id', async () => {
    const { get } = await setUp()
    const { status, body } = await get('last')
    assert.equal(status, 400)
    assert.equal(body.error, 'BAD_REQUEST: activityId must be a uuid, not "last"')
  })

  it('404 for an unknown activity, and the same for one of another organization', async () => {
    const { organizationId, get } = await setUp()
    const other = await setUp()
    for (const id of [unknownId, other.activity.id]) {
      const { status, body } = await get(id)
      assert.equal(status, 404)
      assert.equal(body.error, `NOT_FOUND: activity ${id} was not found in organization ${organizationId}`)
    }
  })
})
