// `validateSamples`: the source of the merged pipe is really connected to, before anything is changed.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { exampleHost } from '../../test/example-database.ts'
import { onBothDatabases } from '../../test/harness.ts'
import { type Json, type ServiceOfPipes, serviceOfPipes } from '../../test/pipes.ts'

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

/** Accepts and keeps silent, and counts who comes. */
async function silentServer() {
  const sockets = new Set<Socket>()
  let accepted = 0
  const server = createServer((socket) => {
    accepted++
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.resume()
    socket.on('close', () => sockets.delete(socket))
    server.emit('accepted')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    get accepted() {
      return accepted
    },
    get open() {
      return sockets.size
    },
    nextAccepted: () => once(server, 'accepted'),
    hangUp: () => {
      for (const socket of sockets) socket.destroy()
    },
    stop: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

onBothDatabases('validateSamples', (app) => {
  let service: ServiceOfPipes
  let silent: Awaited<ReturnType<typeof silentServer>>
  before(async () => {
    service = await serviceOfPipes(app())
    silent = await silentServer()
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

    it('looks without changing anything', async () => {
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
      // From now on the stored source leads nowhere.
      assert.equal((await patch(id, { source: { postgres: { host: '127.0.0.1', port: 1 } } })).status, 200)
      assert.deepEqual((await patch(id, body, headers)).body.result, first.body.result)
    })

    it('checks again when somebody else changes the pipe meanwhile', async () => {
      const { id } = await service.create(shopPipe({ host: '127.0.0.1', port: silent.port }))
      const accepted = silent.nextAccepted()
      const slow = patch(id, { name: 'checked', source: { validateSamples: true } })
      await accepted
      const quick = await patch(id, { source: { postgres: { host: exampleHost, port: 5432 } } })
      assert.equal(quick.status, 200, quick.text)
      // What is checked is still the old place, which fails; what is stored is the new one, which is looked at only then.
      silent.hangUp()
      assert.equal((await slow).status, 400)
      const { id: other } = await service.create(shopPipe())
      const racing = await Promise.all([
        patch(other, { name: 'checked', source: { validateSamples: true } }),
        patch(other, { settings: { engine_max_threads: 3 } }),
        patch(other, { settings: { engine_max_insert_threads: 3 } }),
      ])
      assert.deepEqual(
        racing.map(({ status }) => status),
        [200, 200, 200],
      )
      const { name, settings } = (await service.send('GET', `/${other}`)).body.result
      assert.deepEqual([name, settings.engine_max_threads, settings.engine_max_insert_threads], ['checked', 3, 3])
    })
  })

  describe('400', () => {
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
        const [stored, activities] = [await service.load(id), await service.activities()]
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
        assert.deepEqual(await service.activities(), activities)
      })
    }

    it('creates nothing', async () => {
      const before = (await service.send('GET', '')).body.result.length
      const answer = await service.send('POST', '', shopPipe({ database: 'nowhere' }, { validateSamples: true }))
      assert.equal(answer.status, 400)
      assert.equal(answer.body.code, 'source_not_validated')
      assert.equal((await service.send('GET', '')).body.result.length, before)
    })

    it('tells what is wrong with the request without connecting', async () => {
      const { id } = await service.create(shopPipe({ host: '127.0.0.1', port: silent.port }))
      const before = silent.accepted
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
      assert.equal(silent.accepted, before)
    })

    it('touches no network unless it is asked to', async () => {
      const before = silent.accepted
      const { id } = await service.create(shopPipe({ host: '127.0.0.1', port: silent.port }))
      assert.equal(
        (await patch(id, { source: { postgres: { database: 'other' }, validateSamples: false } })).status,
        200,
      )
      assert.equal(silent.accepted, before)
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
    await accepted
    controller.abort()
    await assert.rejects(sent)
    for (let wait = 0; silent.open > 0 && wait < 100; wait++) await new Promise((next) => setTimeout(next, 20))
    assert.equal(silent.open, 0)
  })
})
