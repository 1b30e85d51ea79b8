import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import type { TestEngine } from '../../test/fakes/engine-front.ts'
import { openEmbeddedEngine } from '../../test/harness/embedded-engine.ts'
import { leastPipes, withField } from '../../test/harness/pipes.ts'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import { createPipe } from './create-pipe.ts'

onBothDatabases('getPipeRows and listServiceTables', (app) => {
  let engine: TestEngine
  before(async () => {
    engine = await openEmbeddedEngine()
    await engine.run('CREATE TABLE orders (id UInt64, note Nullable(String)) ENGINE = MergeTree ORDER BY id')
    await engine.run("INSERT INTO orders VALUES (1, 'first'), (2, NULL)")
    await engine.run('CREATE TABLE items (sku String) ENGINE = MergeTree ORDER BY sku')
  })
  after(() => engine.close())

  const kafkaPipe = (table: string) => {
    const example = createPipe.example.body as { destination: object }
    return { ...example, destination: { ...example.destination, database: engine.database, table } }
  }

  async function setUp({ inserts = 1, pipe = kafkaPipe('orders') as object } = {}) {
    const { organizationId, admin } = await app().addOrganization()
    const services = `/v1/organizations/${organizationId}/services`
    const { url, username, password } = engine
    const service = { name: 'embedded', provider: 'aws', region: 'eu-west-1', endpoint: { url, username, password } }
    const serviceId: string = (await app().request('POST', services, { key: admin, body: service })).body.result.id
    const pipes = `${services}/${serviceId}/pipes`
    const pipeId: string = (await app().request('POST', pipes, { key: admin, body: pipe })).body.result.id
    if (inserts > 0) await app().query(`INSERT INTO pipe_figures (pipe_id, inserts) VALUES ('${pipeId}', ${inserts})`)
    const key = await app().addKey(organizationId, 'developer')
    const rows = (query = '') => app().request('GET', `${pipes}/${pipeId}/rows${query}`, { key })
    const tables = (of = serviceId) => app().request('GET', `${services}/${of}/tables`, { key })
    return { organizationId, rows, tables }
  }

  it('200: the newest rows first, with the columns and the size of the table', async () => {
    const { rows } = await setUp()
    const { status, body } = await rows()
    assert.equal(status, 200, body.error)
    const { tables, ...read } = body.result
    assert.deepEqual(read, {
      table: 'orders',
      columns: [
        { name: 'id', type: 'UInt64' },
        { name: 'note', type: 'Nullable(String)' },
      ],
      rows: [
        ['2', null],
        ['1', 'first'],
      ],
      isCut: false,
    })
    assert.deepEqual([tables.length, tables[0].rows, tables[0].bytes > 0], [1, 2, true])
    assert.deepEqual((await rows('?limit=1')).body.result.rows, [['2', null]])
  })

  it('200: the rows of the table asked for, and the sizes of all tables of a PostgreSQL pipe', async () => {
    const mappings = ['orders', 'items'].map((table) => ({
      sourceSchemaName: 'public',
      sourceTable: table,
      targetTable: table,
    }))
    const pipe = withField(leastPipes.postgres, 'source.postgres.tableMappings', mappings)
    const { rows } = await setUp({ pipe: { ...pipe, destination: { database: engine.database } } })
    const first = (await rows()).body.result
    assert.deepEqual([first.table, first.tables.length, first.rows.length], ['orders', 2, 2])
    const second = (await rows('?table=items')).body.result
    assert.deepEqual([second.table, second.rows], ['items', []])
  })

  it('200: the newest versions of the rows of a copy, without deleted ones', async () => {
    const columns = 'id UInt64, note String, _penstock_version UInt64, _penstock_deleted UInt8'
    await engine.run(`CREATE TABLE copy (${columns}) ENGINE = ReplacingMergeTree(_penstock_version) ORDER BY id`)
    await engine.run("INSERT INTO copy SELECT number, 'loaded', 5, 0 FROM numbers(1000)")
    await engine.run("INSERT INTO copy VALUES (1, 'changed', 6, 0), (2, '', 7, 1), (3, '', 8, 1)")
    await engine.run("INSERT INTO copy VALUES (3, 'back', 9, 0), (1, '', 10, 1), (1000, '', 11, 1)")
    const { rows } = await setUp({ pipe: kafkaPipe('copy') })
    const read = (await rows()).body.result
    assert.equal(read.rows.length, 100)
    assert.deepEqual(read.rows[0], ['3', 'back', '9', '0'])
    for (const [id, note, version] of read.rows.slice(1)) {
      assert.deepEqual([note, version], ['loaded', '5'])
      assert.ok(!['1', '2', '3', '1000'].includes(id), id)
    }
    await engine.run("INSERT INTO copy SELECT number, '', 20, 1 FROM numbers(1001)")
    assert.deepEqual((await rows('?limit=1')).body.result.rows, [])
    await engine.run('DROP TABLE copy')
  })

  it('200: fewer rows of a table with very many columns', async () => {
    const names = Array.from({ length: 2_000 }, (_, index) => `c${index}`)
    await engine.run(`CREATE TABLE wide (${names.map((name) => `${name} String`).join()}) ENGINE = Memory`)
    await engine.run(`INSERT INTO wide SELECT ${names.map(() => "repeat('x', 30)").join()} FROM numbers(100)`)
    const { rows } = await setUp({ pipe: kafkaPipe('wide') })
    const read = (await rows()).body.result
    assert.deepEqual([read.columns.length, read.rows.length, read.isCut], [2_000, 32, true])
    assert.ok(JSON.stringify(read.rows).length < 1_500_000)
    assert.equal(read.rows[0][0], 'x'.repeat(16))
    await engine.run('DROP TABLE wide')
  })

  it('200: no rows of a table that was dropped', async () => {
    const { rows } = await setUp({ pipe: kafkaPipe('dropped') })
    const { status, body } = await rows()
    assert.deepEqual([status, body.result.tables, body.result.rows], [200, [], []])
  })

  it('200: the tables of a service, and none of a service without an endpoint', async () => {
    const { organizationId, tables } = await setUp()
    const listed: { database: string; table: string; rows: number }[] = (await tables()).body.result
    assert.deepEqual(
      listed.filter(({ database }) => database === engine.database).map(({ table, rows }) => [table, rows]),
      [
        ['items', 0],
        ['orders', 2],
      ],
    )
    assert.deepEqual((await tables(await app().addService(organizationId))).body.result, [])
  })

  it('200: nothing while the pipe has inserted nothing, without asking the engine', async () => {
    const { rows } = await setUp({ inserts: 0 })
    const asked = engine.queries.length
    const { status, body } = await rows()
    assert.deepEqual([status, body.result], [200, { tables: [], table: 'orders', columns: [], rows: [], isCut: false }])
    assert.equal(engine.queries.length, asked)
  })

  it('400: a table that is not of the pipe', async () => {
    const { rows } = await setUp()
    const { status, body } = await rows('?table=users')
    assert.equal(status, 400)
    assert.equal(body.error, 'BAD_REQUEST: table must be a destination table of the pipe ("orders"), not "users"')
  })

  it('503: the engine is away', async () => {
    const { rows, tables } = await setUp()
    await engine.stop()
    try {
      for (const answer of [await rows(), await tables()]) {
        assert.equal(answer.status, 503)
        assert.match(answer.body.error, /^UNAVAILABLE: nothing accepts connections at 127\.0\.0\.1:\d+/)
      }
    } finally {
      await engine.start()
    }
  })
})
