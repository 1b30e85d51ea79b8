// `validateSamples`: connects to the source of the merged pipe before anything is changed.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { type Json, type ServiceOfPipes, serviceOfPipes } from '../../test/harness/pipes.ts'
import { exampleHost } from '../../test/harness/prepared-databases.ts'
import { examplePort, onBothDatabases } from '../../test/harness/test-app.ts'
import { startKafkaBroker } from '../../test/sources/kafka-broker/broker.ts'
import type { KafkaServer } from '../../test/sources/kafka-server.ts'
import { type OddServer, startSilent } from '../../test/sources/odd-servers.ts'

const goodLogin = { username: 'shop_reader', password: 'a-password' }
const wrongPassword = 'Wr0ng-and-secret'

const shopPipe = (postgres: Json = {}, source: Json = {}) => ({
  name: 'shop',
  source: {
    postgres: {
      host: exampleHost,
      database: 'shop',
      credentials: goodLogin,
      settings: { replicationMode: 'snapshot' },
      tableMappings: [{ sourceSchemaName: 'public', sourceTable: 'orders', targetTable: 'orders' }],
      ...postgres,
    },
    ...source,
  },
  destination: { database: 'default' },
  startPaused: true,
})

/** A proxy to a local port that forwards nothing until it is opened. */
async function gateTo(port: number) {
  const sockets = new Set<Socket>()
  const { promise: opened, resolve: open } = Promise.withResolvers<void>()
  let accepted = 0
  const server = createServer(async (socket) => {
    accepted++
    server.emit('accepted')
    await opened
    const onward = connect(port, '127.0.0.1')
    for (const each of [socket, onward]) {
      sockets.add(each)
      each.on('error', () => undefined)
    }
    socket.pipe(onward).pipe(socket)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    open,
    get accepted() {
      return accepted
    },
    nextAccepted: () => once(server, 'accepted'),
    stop: async () => {
      open()
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

onBothDatabases('validateSamples', (app) => {
  let service: ServiceOfPipes
  let silent: OddServer
  before(async () => {
    service = await serviceOfPipes(app())
    silent = await startSilent()
  })
  after(() => silent.stop())

  const patch = (pipeId: string, body: unknown, headers: Record<string, string> = {}) =>
    service.send('PATCH', `/${pipeId}`, body, { headers })
  const checked = (postgres: Json, more: Json = {}) => ({ source: { postgres, validateSamples: true }, ...more })

  describe('200', () => {
    it('creates a pipe whose source is good', async () => {
      const created = await service.create(shopPipe({}, { validateSamples: true }))
      assert.equal(created.state, 'Paused')
    })

    it('changes what was sent when the source is good with it', async () => {
      const { id } = await service.create(shopPipe({ credentials: { ...goodLogin, password: wrongPassword } }))
      const answer = await patch(id, checked({ credentials: { password: goodLogin.password } }, { name: 'rotated' }))
      assert.equal(answer.status, 200, answer.text)
      assert.equal(answer.body.result.name, 'rotated')
      assert.ok(!answer.text.includes('validateSamples'))
    })

    it('validates without changing anything', async () => {
      const { id } = await service.create(shopPipe())
      const stored = await service.load(id)
      const answer = await patch(id, { source: { validateSamples: true } })
      assert.equal(answer.status, 200, answer.text)
      assert.deepEqual(await service.load(id), stored)
    })

    it('repeats the answer of an Idempotency-Key without connecting again', async () => {
      const { id } = await service.create(shopPipe())
      const body = checked({ settings: { pullBatchSize: 7 } })
      const headers = { 'idempotency-key': `key-${id}` }
      const first = await patch(id, body, headers)
      assert.equal(first.status, 200, first.text)
      // From now on the stored source cannot be reached.
      assert.equal((await patch(id, { source: { postgres: { host: '127.0.0.1', port: 1 } } })).status, 200)
      assert.deepEqual((await patch(id, body, headers)).body.result, first.body.result)
    })

    it('lets others change the pipe during validation, and validates the merged pipe again before storing', async () => {
      const gate = await gateTo(await examplePort())
      try {
        const { id } = await service.create(shopPipe({ host: '127.0.0.1', port: gate.port }))
        const waiting = gate.nextAccepted()
        const slow = patch(id, { name: 'checked', source: { validateSamples: true } })
        await Promise.race([waiting, slow])
        const quick = await patch(id, { settings: { engine_max_threads: 3 } })
        assert.equal(quick.status, 200, quick.text)
        gate.open()
        const answer = await slow
        assert.equal(answer.status, 200, answer.text)
        assert.equal(answer.body.result.name, 'checked')
        assert.equal(answer.body.result.settings.engine_max_threads, 3)
        assert.equal(gate.accepted, 2)
      } finally {
        await gate.stop()
      }
    })
  })

  describe('400', () => {
    it('stores nothing when the pipe that others changed during validation is invalid', async () => {
      const gate = await gateTo(await examplePort())
      try {
        const { id } = await service.create(shopPipe({ host: '127.0.0.1', port: gate.port }))
        const waiting = gate.nextAccepted()
        const slow = patch(id, { name: 'not applied', source: { validateSamples: true } })
        await Promise.race([waiting, slow])
        assert.equal((await patch(id, { source: { postgres: { database: 'nowhere' } } })).status, 200)
        gate.open()
        const answer = await slow
        assert.equal(answer.status, 400, answer.text)
        assert.match(answer.body.detail, /the step "describe" failed: /)
        assert.equal((await service.load(id)).name, 'shop')
      } finally {
        await gate.stop()
      }
    })

    const failures: [what: string, postgres: Json, step: string, pointer: string, sentence: RegExp][] = [
      ['wrong password', { credentials: { password: wrongPassword } }, 'authenticate', 'credentials', /password/],
      ['unknown database', { database: 'nowhere' }, 'describe', 'database', /"?nowhere"?/],
      ['unknown host', { host: 'missing.northwind.example' }, 'connect', 'host', /does not resolve/],
      ['closed port', { host: '127.0.0.1', port: 1 }, 'connect', 'host', /nothing accepts connections/],
      [
        'unknown table',
        { tableMappingsToAdd: [{ sourceSchemaName: 'public', sourceTable: 'gone', targetTable: 'gone' }] },
        'describe',
        'tableMappings/1/sourceTable',
        /gone/,
      ],
    ]
    for (const [what, postgres, step, pointer, sentence] of failures) {
      it(`says which step failed and why, and changes nothing: ${what}`, async () => {
        const { id } = await service.create(shopPipe())
        // The attempt to use the stored password at another host is recorded even if it fails.
        const activitiesOfChanges = async () =>
          (await service.activities()).filter(({ type }) => type !== 'pipe_password_tried')
        const [stored, activities] = [await service.load(id), await activitiesOfChanges()]
        const answer = await patch(id, checked(postgres, { name: 'not applied' }))
        assert.equal(answer.status, 400, answer.text)
        assert.equal(answer.body.code, 'source_not_validated')
        assert.match(answer.body.detail, new RegExp(`the step "${step}" failed: `))
        assert.match(answer.body.detail, sentence)
        assert.deepEqual(
          answer.body.errors.map((error: Json) => error.pointer),
          [`#/source/postgres/${pointer}`],
        )
        assert.ok(!answer.text.includes(wrongPassword))
        assert.deepEqual(await service.load(id), stored)
        assert.deepEqual(await activitiesOfChanges(), activities)
      })
    }

    it('creates nothing', async () => {
      const before = (await service.send('GET', '')).body.result.length
      const answer = await service.send('POST', '', shopPipe({ database: 'nowhere' }, { validateSamples: true }))
      assert.equal(answer.status, 400)
      assert.equal(answer.body.code, 'source_not_validated')
      assert.equal((await service.send('GET', '')).body.result.length, before)
    })

    it('reports errors of the request without connecting', async () => {
      const { id } = await service.create(shopPipe({ host: '127.0.0.1', port: silent.port }))
      const before = silent.accepted()
      const wrong = [
        { name: '', source: { validateSamples: true } },
        { source: { validateSamples: true, kafka: { iamRole: 'arn:aws:iam::1:role/a' } } },
        { state: 'Running', source: { validateSamples: true } },
        checked({ credentials: { password: null } }),
      ]
      for (const body of wrong) {
        const answer = await patch(id, body)
        assert.equal(answer.body.code, 'invalid_body', answer.text)
      }
      assert.equal((await patch(id, { source: { validateSamples: true } }, { 'if-match': '"99"' })).status, 412)
      const unknown = await patch('00000000-0000-4000-8000-000000000000', { source: { validateSamples: true } })
      assert.equal(unknown.status, 404)
      assert.equal(silent.accepted(), before)
    })

    it('does not connect by default', async () => {
      const before = silent.accepted()
      const { id } = await service.create(shopPipe({ host: '127.0.0.1', port: silent.port }))
      assert.equal(
        (await patch(id, { source: { postgres: { database: 'other' }, validateSamples: false } })).status,
        200,
      )
      assert.equal(silent.accepted(), before)
    })
  })

  describe('of records against columns', () => {
    let broker: KafkaServer
    before(async () => {
      broker = await startKafkaBroker()
      await broker.createTopic('orders', 1)
      const values = [
        { id: 7, customer: 'Noor', placed: { at: '2026-11-02T16:40:09Z' } },
        { id: 8, customer: null },
      ]
      await broker.produce(
        'orders',
        values.map((value) => ({ partition: 0, value: Buffer.from(JSON.stringify(value)) })),
      )
    })
    after(() => broker.stop())

    const ordersPipe = (columns: Json[], fieldMappings: Json[] = []) => ({
      name: 'orders',
      source: {
        kafka: {
          type: 'kafka',
          authentication: 'SCRAM-SHA-256',
          brokers: broker.listeners.saslPlain,
          topics: 'orders',
          format: 'JSONEachRow',
          credentials: broker.user,
        },
        validateSamples: true,
      },
      destination: {
        database: 'default',
        table: 'orders',
        columns,
        tableDefinition: { engine: { type: 'MergeTree' } },
      },
      fieldMappings,
      startPaused: true,
    })

    it('accepts columns that the records can fill', async () => {
      const columns = [
        { name: 'id', type: 'UInt64' },
        { name: 'customer', type: 'Nullable(String)' },
        { name: 'placed_at', type: "DateTime64(3, 'UTC')" },
        { name: 'note', type: 'String' },
      ]
      const { id } = await service.create(
        ordersPipe(columns, [{ sourceField: 'placed.at', destinationField: 'placed_at' }]),
      )
      const { body } = await service.send('POST', '/schemaDiscovery', { pipeId: id })
      assert.deepEqual(body.result.misfits, [])
      assert.deepEqual(body.result.steps.at(-1).step, 'fit')
      assert.deepEqual(
        body.result.fields.map(({ name, type, isOptional }: Json) => [name, type, isOptional]),
        [
          ['id', 'Int64', false],
          ['customer', 'Nullable(String)', true],
          ['placed', 'Nullable(String)', true],
        ],
      )
      assert.deepEqual(body.result.rows[1], { id: 8, customer: null })
    })

    it('rejects columns that the records cannot fill, each with its reason', async () => {
      const columns = [
        { name: 'id', type: 'UInt64' },
        { name: 'customer', type: 'UInt8' },
        { name: 'amount', type: 'Float64' },
      ]
      const mapped = ordersPipe(columns, [{ sourceField: 'price', destinationField: 'amount' }])
      const answer = await service.send('POST', '', mapped)
      assert.equal(answer.status, 400, answer.text)
      assert.match(
        answer.body.detail,
        /^source\.kafka: the step "fit" failed: .*"price".*; change destination\.columns/,
      )
      assert.match(answer.body.detail, /"Noor"/)
      const { id } = await service.create({ ...mapped, source: { kafka: mapped.source.kafka } })
      const { body } = await service.send('POST', '/schemaDiscovery', { pipeId: id })
      assert.equal(body.result.misfits.length, 2)
      const patched = await service.send('POST', '/schemaDiscovery', { pipeId: id, patch: { fieldMappings: [] } })
      assert.equal(patched.body.result.misfits.length, 1)
    })
  })

  it('ends the connection when the caller hangs up', async () => {
    const { id } = await service.create(shopPipe({ host: '127.0.0.1', port: silent.port }))
    const { admin, organizationId, serviceId } = service
    const url = await app().app.listen()
    const accepted = silent.nextAccepted()
    const controller = new AbortController()
    const sent = fetch(`${url}/v1/organizations/${organizationId}/services/${serviceId}/pipes/${id}`, {
      method: 'PATCH',
      headers: {
        authorization: `Basic ${Buffer.from(`${admin.keyId}:${admin.secret}`).toString('base64')}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ source: { validateSamples: true } }),
      signal: controller.signal,
    })
    await Promise.race([accepted, sent])
    controller.abort()
    await assert.rejects(sent)
    // Without the abort, the attempt would take ten seconds.
    for (let wait = 0; silent.connections() > 0 && wait < 250; wait++) await new Promise((next) => setTimeout(next, 20))
    assert.equal(silent.connections(), 0)
  })
})
