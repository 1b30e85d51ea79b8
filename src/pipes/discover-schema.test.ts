import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { before, describe, it } from 'node:test'
import { startPaperEngine } from '../../test/fakes/paper-engine.ts'
import { type Json, leastPipes, type ServiceOfPipes, serviceOfPipes } from '../../test/harness/pipes.ts'
import { exampleHost } from '../../test/harness/prepared-databases.ts'
import { onBothDatabases } from '../../test/harness/test-app.ts'

const mapping = { sourceSchemaName: 'public', sourceTable: 'orders', targetTable: 'orders' }
const shop = {
  host: exampleHost,
  database: 'shop',
  credentials: { username: 'shop_reader', password: 'a-password' },
  settings: { replicationMode: 'snapshot' },
  tableMappings: [mapping],
}
const orders = { sourceSchemaName: 'public', sourceTable: 'orders', primaryKey: ['id'] }

onBothDatabases('discoverSchema', (app) => {
  let service: ServiceOfPipes
  before(async () => {
    service = await serviceOfPipes(app())
  })
  const discover = (body: unknown) => service.send('POST', '/schemaDiscovery', body)

  describe('200', () => {
    it('shows fields, types and rows of the tables', async () => {
      const { status, body, text } = await discover({ source: { postgres: shop } })
      assert.equal(status, 200, text)
      const { steps, tables, availableTables, fields, rows, misfits } = body.result
      assert.deepEqual(
        steps.map(({ step }: Json) => step),
        ['connect', 'authenticate', 'describe', 'read', 'decode'],
      )
      assert.ok(steps.every(({ durationMs }: { durationMs: number }) => durationMs >= 0))
      assert.deepEqual([fields, rows, misfits], [[], [], []])
      assert.deepEqual(availableTables, [orders])
      const placedAt: string = tables[0].rows[0].placed_at
      assert.deepEqual(tables, [
        {
          ...orders,
          fields: [
            { name: 'id', type: 'Int64', isOptional: false },
            { name: 'placed_at', type: "DateTime64(6, 'UTC')", isOptional: false },
          ],
          rows: [{ id: 1, placed_at: placedAt }],
        },
      ])
      assert.equal(new Date(placedAt).toISOString(), '2026-11-02T16:40:09.120Z')
    })

    it('offers types that the engine of the service has', async () => {
      const own = await serviceOfPipes(app())
      const engine = await startPaperEngine()
      try {
        const { url, username, password } = engine
        const path = `/v1/organizations/${own.organizationId}/services/${own.serviceId}`
        const patched = await app().request('PATCH', path, {
          key: own.admin,
          body: { endpoint: { url, username, password } },
        })
        assert.equal(patched.status, 200, patched.text)
        const { body, text } = await own.send('POST', '/schemaDiscovery', { source: { postgres: shop } })
        assert.deepEqual(
          body.result?.tables[0].fields.map(({ name, type }: Json) => [name, type]),
          [
            ['id', 'Int64'],
            ['placed_at', 'String'],
          ],
          text,
        )
      } finally {
        await engine.close()
      }
    })

    it('lists the tables before any is mapped', async () => {
      const { tableMappings: _, ...unmapped } = shop
      const { body, text } = await discover({ source: { postgres: unmapped } })
      assert.deepEqual(body.result?.availableTables, [orders], text)
      assert.deepEqual(body.result.tables, [])
    })

    it('reads the source of a pipe with its stored secrets, and as an update would change it', async () => {
      const pipe = { name: 'shop', source: { postgres: shop }, destination: { database: 'default' }, startPaused: true }
      const { id: pipeId } = await service.create(pipe)
      const stored = await service.load(pipeId)
      const plain = await discover({ pipeId })
      assert.equal(plain.status, 200, plain.text)
      assert.equal(plain.body.result.tables.length, 1)
      assert.equal((await discover({ pipeId: pipeId.toUpperCase() })).status, 200)
      const patched = await discover({ pipeId, patch: { source: { postgres: { database: 'nowhere' } } } })
      assert.equal(patched.body.code, 'source_not_validated')
      assert.deepEqual(await service.load(pipeId), stored)
    })

    it('changes and records nothing, and connects again with every request', async () => {
      const activities = await service.activities()
      for (const headers of [{}, { 'idempotency-key': 'same' }, { 'idempotency-key': 'same' }]) {
        assert.equal(
          (await service.send('POST', '/schemaDiscovery', { source: { postgres: shop } }, { headers })).status,
          200,
        )
      }
      assert.deepEqual(await service.activities(), activities)
      const records = await app().query(
        `SELECT * FROM idempotency_records WHERE organization_id = '${service.organizationId}'`,
      )
      assert.deepEqual(records, [])
    })
  })

  describe('400', () => {
    it('requires a source or a pipe, and one source', async () => {
      const pipeId = '00000000-0000-4000-8000-000000000000'
      for (const body of [
        {},
        { source: { postgres: shop }, pipeId },
        { source: {} },
        { source: { postgres: shop }, patch: {} },
      ]) {
        const answer = await discover(body)
        assert.equal(answer.body.code, 'invalid_body', answer.text)
      }
      const { kafka } = leastPipes.kafka!.source as Json
      assert.equal((await discover({ source: { postgres: shop, kafka } })).body.code, 'invalid_body')
    })

    it('keeps the rules of a new source', async () => {
      const answer = await discover({ source: { postgres: { ...shop, credentials: { username: 'a' } } } })
      assert.deepEqual(
        answer.body.errors.map(({ pointer }: Json) => pointer),
        ['#/source/postgres/credentials'],
      )
    })

    it('says which step failed, never with the secret', async () => {
      const secret = 'Wr0ng-and-secret'
      const credentials = { username: 'shop_reader', password: secret }
      const answer = await discover({ source: { postgres: { ...shop, credentials } } })
      assert.equal(answer.status, 400)
      assert.equal(answer.body.code, 'source_not_validated')
      assert.match(answer.body.detail, /^source\.postgres\.credentials: the step "authenticate" failed: /)
      assert.ok(!answer.text.includes(secret))
    })
  })

  it('sends a stored password to no other address', async () => {
    let accepted = 0
    const server = createServer((socket) => {
      accepted++
      socket.destroy()
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    const pipe = { name: 'shop', source: { postgres: shop }, destination: { database: 'default' }, startPaused: true }
    const { id: pipeId } = await service.create(pipe)
    const elsewhere = (postgres: Json) => discover({ pipeId, patch: { source: { postgres } } })
    for (const address of [{ host: '127.0.0.1', port }, { host: '127.0.0.1' }, { port }]) {
      for (const credentials of [undefined, { username: 'shop_reader' }]) {
        const answer = await elsewhere({ ...address, ...(credentials ? { credentials } : {}) })
        assert.equal(answer.body.code, 'invalid_body', answer.text)
        assert.deepEqual(
          answer.body.errors.map(({ pointer }: Json) => pointer),
          ['#/patch/source/postgres/credentials'],
        )
      }
    }
    assert.equal(accepted, 0)
    const brought = await elsewhere({ host: '127.0.0.1', port, credentials: { password: 'of-its-own' } })
    assert.equal(brought.body.code, 'source_not_validated')
    assert.ok(accepted > 0)
    server.close()
  })

  it('404 for a pipe or a service that is not there', async () => {
    const pipeId = '00000000-0000-4000-8000-000000000000'
    assert.equal((await discover({ pipeId })).status, 404)
    const path = `/v1/organizations/${service.organizationId}/services/${pipeId}/pipes/schemaDiscovery`
    assert.equal(
      (await app().request('POST', path, { key: service.admin, body: { source: { postgres: shop } } })).status,
      404,
    )
  })
})
