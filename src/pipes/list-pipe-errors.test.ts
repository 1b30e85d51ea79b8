import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import type { TestEngine } from '../../test/fakes/engine-front.ts'
import { openEmbeddedEngine } from '../../test/harness/embedded-engine.ts'
import { leastPipes, withField } from '../../test/harness/pipes.ts'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import { loadCapabilities } from '../engine/capabilities.ts'
import { openEngineClient } from '../engine/client.ts'
import type { BadRow } from '../engine/engine.ts'
import { makeBadRowKeeper } from '../engine/keep-bad-rows.ts'
import { Egress } from '../lib/egress.ts'
import { Secret } from '../lib/secret.ts'
import { createPipe } from './create-pipe.ts'

/** Stores rejected rows as a worker of the pipe does. */
async function keep(engine: TestEngine, pipeId: string, rows: BadRow[], table = 'orders'): Promise<void> {
  const { protocol, host, port, username, password } = engine
  const access = { protocol, host, port, username, password: new Secret(password) }
  const client = openEngineClient(
    new Egress({ allowLoopback: true, allowPlaintext: true, deniedAddresses: [] }),
    access,
  )
  const { signal } = new AbortController()
  const lease = { database: engine.database, table }
  await makeBadRowKeeper(client, await loadCapabilities(client, signal), lease).keep(pipeId, rows, signal)
  client.close()
}

const withTables = (tables: string[]): object =>
  withField(
    leastPipes.postgres,
    'source.postgres.tableMappings',
    tables.map((table) => ({ sourceSchemaName: 'public', sourceTable: table, targetTable: table })),
  )

const badRow = (number: number, raw = `{"id": ${number}, "amount": "twelve"}`): BadRow => ({
  id: `row-${number}`,
  partition: '1',
  position: `offset ${number}`,
  raw: Buffer.from(raw),
  meta: '{}',
  reason: 'Cannot parse input: expected a number',
  at: new Date(Date.UTC(2026, 10, 15, 12, 0, number)).toISOString(),
})

onBothDatabases('listPipeErrors', (app) => {
  let engine: TestEngine
  before(async () => {
    engine = await openEmbeddedEngine()
  })
  after(() => engine.close())

  async function setUp({ refused = 3, kind = 'kafka' as 'kafka' | 'postgres' } = {}) {
    const { organizationId, admin } = await app().addOrganization()
    const services = `/v1/organizations/${organizationId}/services`
    const { url, username, password, database } = engine
    const endpoint = { url, username, password }
    const service = { name: 'embedded', provider: 'aws', region: 'eu-west-1', endpoint }
    const serviceId: string = (await app().request('POST', services, { key: admin, body: service })).body.result.id
    const pipes = `${services}/${serviceId}/pipes`
    const example = createPipe.example.body as { destination: object }
    const body =
      kind === 'postgres'
        ? { ...withTables(['orders', 'items', 'notes']), destination: { database } }
        : { ...example, destination: { ...example.destination, database, table: 'orders' } }
    const pipeId: string = (await app().request('POST', pipes, { key: admin, body })).body.result.id
    if (refused > 0) {
      await app().query(`INSERT INTO pipe_figures (pipe_id, rows_refused) VALUES ('${pipeId}', ${refused})`)
    }
    const list = (query = '', key = admin) => app().request('GET', `${pipes}/${pipeId}/errors${query}`, { key })
    const updateService = (changes: object) =>
      app().request('PATCH', `${services}/${serviceId}`, { key: admin, body: { endpoint: changes } })
    return { organizationId, serviceId, pipeId, list, updateService }
  }

  it('200: the newest first, of this pipe only, and no more than asked for', async () => {
    const { organizationId, pipeId, list } = await setUp()
    const other = await setUp()
    await keep(engine, pipeId, [badRow(1), badRow(2), badRow(3, 'x'.repeat(12_000))])
    await keep(engine, other.pipeId, [badRow(4)])
    const { status, body, headers } = await list()
    assert.equal(status, 200)
    assert.equal(headers.link, undefined)
    assert.deepEqual(
      body.result.map(({ id }: { id: string }) => id),
      ['row-3', 'row-2', 'row-1'],
    )
    assert.deepEqual(body.result[1], {
      id: 'row-2',
      at: '2026-11-15T12:00:02.000Z',
      partition: '1',
      position: 'offset 2',
      reason: 'Cannot parse input: expected a number',
      raw: '{"id": 2, "amount": "twelve"}',
      isCut: false,
    })
    assert.deepEqual([body.result[0].raw.length, body.result[0].isCut], [10_000, true])
    const developer = await app().addKey(organizationId, 'developer')
    const few = await list('?limit=1', developer)
    assert.deepEqual(
      few.body.result.map(({ id }: { id: string }) => id),
      ['row-3'],
    )
  })

  it('200: of a postgres pipe, the newest of all its tables', async () => {
    const { pipeId, list } = await setUp({ kind: 'postgres' })
    const other = await setUp({ kind: 'postgres' })
    await keep(engine, pipeId, [badRow(1), badRow(5)], 'orders')
    await keep(engine, pipeId, [badRow(2), badRow(4)], 'items')
    await keep(engine, pipeId, [badRow(3)], 'items')
    await keep(engine, other.pipeId, [badRow(6)], 'items')
    await keep(engine, pipeId, [badRow(7)], 'not_of_this_pipe')
    const ids = async (query = '') => (await list(query)).body.result.map(({ id }: { id: string }) => id)
    assert.deepEqual(await ids(), ['row-5', 'row-4', 'row-3', 'row-2', 'row-1'])
    assert.deepEqual(await ids('?limit=2'), ['row-5', 'row-4'])
  })

  it('200: the engine is not asked for a pipe without rejected rows', async () => {
    const { list } = await setUp({ refused: 0 })
    const asked = engine.queries.length
    const { status, body } = await list()
    assert.deepEqual([status, body.result], [200, []])
    assert.equal(engine.queries.length, asked)
  })

  it('400: the engine refuses the password', async () => {
    const { list, updateService } = await setUp()
    assert.equal((await updateService({ password: 'another password' })).status, 200)
    const { status, body } = await list()
    assert.equal(status, 400)
    assert.match(body.error, /^BAD_REQUEST: the engine at 127\.0\.0\.1:\d+ refused the user name or the password/)
  })

  it('400: the service has no endpoint', async () => {
    const { serviceId, list } = await setUp()
    await app().query(`UPDATE services SET endpoint_url = NULL WHERE id = '${serviceId}'`)
    const { status, body } = await list()
    assert.deepEqual([status, body.error], [400, 'BAD_REQUEST: the service has no endpoint; register one'])
  })

  it('400: an invalid limit', async () => {
    const { list } = await setUp()
    for (const limit of ['0', '101', 'all']) assert.equal((await list(`?limit=${limit}`)).status, 400)
  })

  it('503: the engine is away, which is not logged as a failure', async () => {
    const { list } = await setUp()
    await engine.stop()
    try {
      const logged = app().logged.length
      const { status, body, headers } = await list()
      assert.equal(status, 503)
      assert.match(body.error, /^UNAVAILABLE: nothing accepts connections at 127\.0\.0\.1:\d+/)
      assert.equal(headers['retry-after'], '5')
      const failures = app()
        .logged.slice(logged)
        .filter((line) => line.includes('a request failed'))
      assert.deepEqual(failures, [])
    } finally {
      await engine.start()
    }
  })

  it('503: one organization asks slow engines for too much at once', async () => {
    const { list } = await setUp()
    engine.delayNext({ matching: /system\.tables/, delayMs: 300, times: 4 })
    const answers = await Promise.all([list(), list(), list(), list(), list()])
    const statuses = answers.map(({ status }) => status)
    assert.deepEqual(statuses.toSorted(), [200, 200, 200, 200, 503])
    assert.match(answers[statuses.indexOf(503)]!.body.error, /too many reads from engines are in progress/)
    assert.equal((await list()).status, 200)
  })

  it('503: the text of the engine is not passed on', async () => {
    const { list } = await setUp()
    engine.failNext({ matching: /system\.tables/, code: 241, message: 'Memory limit of the host secret-name exceeded' })
    const { status, body } = await list()
    assert.equal(status, 503)
    assert.match(body.error, /too little memory/)
    assert.doesNotMatch(body.error, /secret-name/)
    assert.ok(!app().logged.some((line) => line.includes('secret-name')))
  })
})
