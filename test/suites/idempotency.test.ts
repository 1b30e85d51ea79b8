// R12: an idempotency key applies once. The requests here make a second execution visible: an existing table mapping is refused,
// and a name that was changed in between would be changed back.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type App, openApp } from '../../src/app.ts'
import { newId } from '../../src/lib/id.ts'
import { Log } from '../../src/lib/log.ts'
import { basic, type Key, onBothDatabases, openTestApp, type TestApp, type TestResponse } from '../harness/test-app.ts'

const atOnce = 50

function pipePath({ sample }: TestApp, kind: 'kafka' | 'postgres'): string {
  return `/v1/organizations/${sample.organizationId}/services/${sample.serviceId}/pipes/${sample.pipeIds[kind]}`
}

function memberPath({ sample }: TestApp, userId: string): string {
  return `/v1/organizations/${sample.organizationId}/members/${userId}`
}

async function patch(
  app: TestApp,
  path: string,
  idempotencyKey: string,
  body: unknown,
  more: { key?: Key; headers?: Record<string, string> } = {},
): Promise<TestResponse> {
  return app.request('PATCH', path, {
    body,
    ...(more.key ? { key: more.key } : {}),
    headers: { 'idempotency-key': idempotencyKey, accept: 'application/problem+json', ...more.headers },
  })
}

async function countRows(app: TestApp, table: string): Promise<number> {
  return Number((await app.query<{ count: number }>(`SELECT count(*) AS count FROM ${table}`))[0]!.count)
}

function tableToAdd(name: string): object {
  const mapping = { sourceSchemaName: 'public', sourceTable: name, targetTable: name }
  return { source: { postgres: { tableMappingsToAdd: [mapping] } } }
}

/** Sends one request many times concurrently, distributed over the Penstocks. */
async function sendAtOnce(app: TestApp, apps: App[]): Promise<void> {
  const key = newId()
  const body = tableToAdd(key)
  const activities = await countRows(app, 'activities')
  const answers = await Promise.all(
    Array.from({ length: atOnce }, (_, index) =>
      apps[index % apps.length]!.server.inject({
        method: 'PATCH',
        url: pipePath(app, 'postgres'),
        headers: { authorization: basic(app.admin), accept: 'application/problem+json', 'idempotency-key': key },
        payload: body,
      }),
    ),
  )
  const done = answers.filter(({ statusCode }) => statusCode === 200)
  const results = new Set(done.map((answer) => JSON.stringify([answer.json().result, answer.headers.etag])))
  assert.ok(done.length > 0)
  assert.equal(results.size, 1)
  for (const answer of answers) {
    if (answer.statusCode === 200) continue
    assert.equal(answer.json().code, 'idempotency_key_in_use', answer.payload)
    assert.equal(answer.headers['retry-after'], '1')
  }
  assert.equal(await countRows(app, 'activities'), activities + 1)

  for (const each of apps) {
    const again = await each.server.inject({
      method: 'PATCH',
      url: pipePath(app, 'postgres'),
      headers: { authorization: basic(app.admin), 'idempotency-key': key },
      payload: body,
    })
    assert.equal(again.statusCode, 200, again.payload)
    assert.ok(results.has(JSON.stringify([again.json().result, again.headers.etag])))
    assert.notEqual(again.json().requestId, done[0]!.json().requestId)
  }
  assert.equal(await countRows(app, 'activities'), activities + 1)
}

/** Makes these statements on the table fail until the returned function is called. */
async function breakTable(app: TestApp, table: string, statement: 'INSERT' | 'UPDATE'): Promise<() => Promise<void>> {
  if (app.dialect === 'sqlite') {
    await app.query(`CREATE TRIGGER broken BEFORE ${statement} ON ${table} BEGIN SELECT RAISE(ABORT, 'broken'); END`)
    return async () => void (await app.query('DROP TRIGGER broken'))
  }
  await app.query(
    "CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'broken'; END $$",
  )
  await app.query(`CREATE TRIGGER broken BEFORE ${statement} ON ${table} FOR EACH ROW EXECUTE FUNCTION broken()`)
  return async () => {
    await app.query(`DROP TRIGGER broken ON ${table}`)
    await app.query('DROP FUNCTION broken')
  }
}

onBothDatabases('R12 idempotency', (app) => {
  it(`R12 ${atOnce} concurrent requests with one key have one effect and one answer`, async () => {
    for (let round = 0; round < 5; round++) await sendAtOnce(app(), [app().app])
  })

  it('R12 a replay returns the first answer and changes nothing, whatever happened in between', async () => {
    const path = pipePath(app(), 'kafka')
    const first = await patch(app(), path, 'replay', { name: 'first' })
    await app().request('PATCH', path, { body: { name: 'second' } })
    const activities = await countRows(app(), 'activities')
    const again = await patch(app(), path, 'replay', { name: 'first' })
    assert.equal(again.status, 200)
    assert.deepEqual(again.body.result, first.body.result)
    assert.equal(again.headers.etag, first.headers.etag)
    assert.equal((await app().request('GET', path)).body.result.name, 'second')
    assert.equal(await countRows(app(), 'activities'), activities)
  })

  it('R12 a replay of a created endpoint has the warning of the first answer', async () => {
    const { sample } = app()
    const path = `/v1/organizations/${sample.organizationId}/services/${sample.serviceId}/privateEndpoint`
    const create = (id: string, query = '') =>
      app().request('POST', `${path}${query}`, { body: { id }, headers: { 'idempotency-key': 'endpoint' } })
    const first = await create('unusual')
    assert.match(String(first.headers.warning), /does not look like/)
    const again = await create('unusual')
    assert.equal(again.headers.warning, first.headers.warning)
    assert.deepEqual(again.body.result, first.body.result)
    assert.equal((await create('another')).status, 409)
    assert.equal((await create('unusual', '?strict=false')).status, 409)
  })

  it('R12 a key is refused for another body, path or operation', async () => {
    const path = pipePath(app(), 'kafka')
    assert.equal((await patch(app(), path, 'one request', { name: 'one' })).status, 200)
    for (const other of [
      await patch(app(), path, 'one request', { name: 'two' }),
      await patch(app(), pipePath(app(), 'postgres'), 'one request', { name: 'one' }),
      await patch(app(), memberPath(app(), app().sample.userId), 'one request', { role: 'admin' }),
    ]) {
      assert.equal(other.status, 409)
      assert.equal(other.body.code, 'idempotency_key_reused')
    }
    assert.equal((await app().request('GET', path)).body.result.name, 'one')
  })

  it('R12 keys of different clients are independent', async () => {
    const path = pipePath(app(), 'kafka')
    const colleague = await app().addKey(app().sample.organizationId, 'admin')
    assert.equal((await patch(app(), path, 'mine', { name: 'mine' })).body.result.name, 'mine')
    assert.equal((await patch(app(), path, 'mine', { name: 'yours' }, { key: colleague })).body.result.name, 'yours')
    const stranger = await app().addOrganization()
    const theirs = `/v1/organizations/${stranger.organizationId}/members/${stranger.adminUserId}`
    assert.equal((await patch(app(), theirs, 'mine', { role: 'admin' }, { key: stranger.admin })).status, 200)
  })

  it('R12 a refused request is not recorded', async () => {
    const { adminUserId, userId } = app().sample
    const refused: [status: number, send: () => Promise<TestResponse>, repair: () => Promise<unknown>][] = [
      [
        409,
        () => patch(app(), memberPath(app(), adminUserId), 'last admin', { role: 'developer' }),
        () => app().request('PATCH', memberPath(app(), userId), { body: { role: 'admin' } }),
      ],
      [
        400,
        () => patch(app(), pipePath(app(), 'postgres'), 'bad', tableToAdd('orders')),
        () =>
          app().request('PATCH', pipePath(app(), 'postgres'), {
            body: {
              source: {
                postgres: { tableMappingsToRemove: [{ sourceSchemaName: 'public', sourceTable: 'orders' }] },
              },
            },
          }),
      ],
      [
        412,
        () =>
          patch(app(), memberPath(app(), userId), 'version', { role: 'admin' }, { headers: { 'if-match': '"3.1"' } }),
        () => app().query(`UPDATE members SET version = 3 WHERE user_id = '${userId}'`),
      ],
    ]
    for (const [status, send, repair] of refused) {
      const records = await countRows(app(), 'idempotency_records')
      assert.equal((await send()).status, status)
      assert.equal(await countRows(app(), 'idempotency_records'), records)
      await repair()
      const after = await send()
      assert.equal(after.status, 200, after.text)
      assert.equal(await countRows(app(), 'idempotency_records'), records + 1)
    }
  })

  it('R12 a key expires after 24 hours', async () => {
    const path = pipePath(app(), 'kafka')
    const age = async (ms: number) => {
      const then = new Date(Date.now() - ms).toISOString()
      await app().query(`UPDATE idempotency_records SET created_at = '${then}' WHERE idempotency_key = 'old'`)
    }
    const hours = 3_600_000
    assert.equal((await patch(app(), path, 'old', { name: 'yesterday' })).status, 200)
    await age(24 * hours - 60_000)
    assert.equal((await patch(app(), path, 'old', { name: 'today' })).status, 409)
    await age(24 * hours + 1_000)
    assert.equal((await patch(app(), path, 'old', { name: 'today' })).status, 200)
    assert.equal((await app().request('GET', path)).body.result.name, 'today')
    assert.equal((await patch(app(), path, 'old', { name: 'tomorrow' })).status, 409)

    await age(24 * hours + 1_000)
    const records = await countRows(app(), 'idempotency_records')
    await app().app.database.write('forgetOldKeys', { now: new Date().toISOString() }, 'maintenance')
    assert.equal(await countRows(app(), 'idempotency_records'), records - 1)
  })

  for (const [table, statement] of [
    ['idempotency_records', 'INSERT'],
    ['idempotency_records', 'UPDATE'],
    ['activities', 'INSERT'],
  ] as const) {
    it(`R12 change, activity and record are one transaction: ${statement} of ${table} fails`, async () => {
      const path = pipePath(app(), 'kafka')
      const key = newId()
      const before = await app().request('GET', path)
      const rows = [await countRows(app(), 'activities'), await countRows(app(), 'idempotency_records')]
      const repair = await breakTable(app(), table, statement)
      try {
        const failed = await patch(app(), path, key, { name: key })
        assert.equal(failed.status, 500, failed.text)
      } finally {
        await repair()
      }
      const afterwards = await app().request('GET', path)
      assert.deepEqual(afterwards.body.result, before.body.result)
      assert.equal(afterwards.headers.etag, before.headers.etag)
      assert.deepEqual([await countRows(app(), 'activities'), await countRows(app(), 'idempotency_records')], rows)

      assert.equal((await patch(app(), path, key, { name: key })).body.result.name, key)
      assert.deepEqual(
        [await countRows(app(), 'activities'), await countRows(app(), 'idempotency_records')],
        rows.map((count) => count + 1),
      )
    })
  }

  it('R12 the stored answer is sealed', async () => {
    await patch(app(), pipePath(app(), 'kafka'), 'sealed', { name: 'a name to look for' })
    const [record] = await app().query<{ answer: string }>(
      "SELECT answer FROM idempotency_records WHERE idempotency_key = 'sealed'",
    )
    assert.match(record!.answer, /^k1\.[\w-]+$/)
    assert.ok(!Buffer.from(record!.answer.slice(3), 'base64url').includes('a name to look for'))
  })
})

describe('R12 idempotency with two Penstocks on one PostgreSQL', () => {
  let first: TestApp
  let second: App
  before(async () => {
    first = await openTestApp('postgres')
    second = await openApp(first.config, { log: new Log('silent'), mayCreateKeys: false, onFatal: () => undefined })
  })
  after(async () => {
    await second?.close()
    await first?.close()
  })

  it(`R12 ${atOnce} concurrent requests with one key have one effect and one answer`, async () => {
    for (let round = 0; round < 20; round++) await sendAtOnce(first, [first.app, second])
  })

  it('R12 each Penstock replays the answers of the other', async () => {
    const path = pipePath(first, 'kafka')
    const answer = await patch(first, path, 'shared', { name: 'first' })
    await first.request('PATCH', path, { body: { name: 'second' } })
    const again = await second.server.inject({
      method: 'PATCH',
      url: path,
      headers: { authorization: basic(first.admin), 'idempotency-key': 'shared' },
      payload: { name: 'first' },
    })
    assert.equal(again.statusCode, 200)
    assert.deepEqual(again.json().result, answer.body.result)
  })
})
