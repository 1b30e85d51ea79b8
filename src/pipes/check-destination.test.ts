import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { TestEngine } from '../../test/fakes/engine-front.ts'
import { startPaperEngine } from '../../test/fakes/paper-engine.ts'
import { openEmbeddedEngine } from '../../test/harness/embedded-engine.ts'
import { type ServiceOfPipes, serviceOfPipes } from '../../test/harness/pipes.ts'
import { onBothDatabases } from '../../test/harness/test-app.ts'

onBothDatabases('checkDestination', (app) => {
  let service: ServiceOfPipes
  const engines: TestEngine[] = []
  before(async () => {
    service = await serviceOfPipes(app())
  })
  after(async () => {
    for (const engine of engines) await engine.close()
  })
  const check = (body: unknown, of = service) => of.send('POST', '/destinationCheck', body)

  async function useEngine(open: () => Promise<TestEngine> = openEmbeddedEngine): Promise<TestEngine> {
    const engine = await open()
    engines.push(engine)
    const { organizationId, serviceId, admin } = service
    const { url, username, password } = engine
    const path = `/v1/organizations/${organizationId}/services/${serviceId}`
    const body = { endpoint: { url, username, password } }
    const { status, text } = await app().request('PATCH', path, { key: admin, body })
    assert.equal(status, 200, text)
    return engine
  }

  describe('200', () => {
    it('finds the database, the table and the types', async () => {
      const engine = await useEngine()
      await engine.run('CREATE TABLE orders (id UInt64) ENGINE = MergeTree ORDER BY id')
      const columns = [{ name: 'id', type: 'Array(Nullable(Int64))' }]
      const { status, body, text } = await check({
        database: engine.database,
        table: 'orders',
        managedTable: false,
        columns,
      })
      assert.equal(status, 200, text)
      const { databases, ...found } = body.result
      assert.ok(databases.includes(engine.database), text)
      assert.deepEqual(found, { databaseExists: true, tableExists: true, errors: [] })
      assert.ok(!text.includes(engine.password))
    })

    it('names a database that does not exist, and a table that nobody would create', async () => {
      const { database } = await useEngine()
      const { body } = await check({ database: "no'where", table: 'orders' })
      assert.deepEqual(body.result.errors, [
        {
          pointer: '#/database',
          detail: 'the engine has no database "no\'where"; create it with CREATE DATABASE, or choose another',
        },
      ])
      assert.deepEqual((await check({ database, table: 'missing' })).body.result.errors, [])
      const unmanaged = await check({ database, table: 'missing', managedTable: false })
      assert.deepEqual(unmanaged.body.result.errors, [
        {
          pointer: '#/table',
          detail: `the database "${database}" has no table "missing"; create it, or let Penstock manage it`,
        },
      ])
    })

    it('names the columns whose types an older engine does not have', async () => {
      await useEngine(startPaperEngine)
      const columns = [
        { name: 'id', type: 'Int64' },
        { name: 'at', type: "Nullable(DateTime64(3, 'UTC'))" },
      ]
      assert.deepEqual((await check({ database: 'default', columns })).body.result.errors, [
        {
          pointer: '#/columns/1/type',
          detail: 'the engine has no type DateTime64, which the column "at" needs; use another type, or a newer engine',
        },
      ])
    })
  })

  it('400: a type that no ClickHouse has, and what is not of the shape', async () => {
    const refused = await check({ database: 'default', columns: [{ name: 'n', type: 'Int65' }] })
    assert.equal(refused.status, 400)
    assert.match(refused.text, /columns\[0\]\.type of the column \\"n\\" names Int65, which is not a type/)
    assert.equal((await check({})).status, 400)
    assert.equal((await check({ database: 'default', engine: 'x' })).status, 400)
  })

  it('503: an engine that does not answer', async () => {
    const engine = await useEngine()
    await engine.close()
    engines.splice(engines.indexOf(engine), 1)
    const { status, text } = await check({ database: 'default' })
    assert.equal(status, 503)
    assert.match(text, /nothing accepts connections at 127\.0\.0\.1/)
  })
})
