// A stored password is sent only to the host and port that it was stored for. A caller could otherwise send it to a host of their own.
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { type Json, type ServiceOfPipes, serviceOfPipes } from '../../test/harness/pipes.ts'
import { exampleHost } from '../../test/harness/prepared-databases.ts'
import { examplePort, onBothDatabases } from '../../test/harness/test-app.ts'
import { message, type StandIn, signInRequest, standIn } from '../../test/sources/postgres-servers.ts'
import { Egress } from '../lib/egress.ts'
import type { PostgresSource } from '../source-shapes/postgres-source.ts'
import { ProbeFailure } from '../source-shapes/source-failure.ts'
import type { SourceSecrets } from '../source-shapes/source-kind.ts'
import { makePostgresAccess } from '../sources/postgres/postgres-access.ts'
import { MaintenanceFailure, removeOwnObjects } from '../sources/postgres/postgres-maintenance.ts'
import type { SourceContext } from '../sources/source.ts'
import { openSecrets } from './store.ts'

const login = { username: 'shop_reader', password: 'a-password' }

interface Thief extends StandIn {
  /** Messages of the client after the startup message. */
  heard: Buffer[]
}

/** Builds the response to a message of the client. */
type Demand = Buffer | ((said: Buffer) => Buffer)

/** PostgreSQL server without TLS that sends these responses in order, whatever the client sends. */
async function startThief(...demands: Demand[]): Promise<Thief> {
  const heard: Buffer[] = []
  const server = await standIn((socket) => {
    let count = 0
    const left = [Buffer.from('N'), ...demands]
    socket.on('data', (bytes) => {
      if (++count > 2) heard.push(bytes)
      const next = left.shift()
      if (next) socket.write(typeof next === 'function' ? next(bytes) : next)
      else socket.destroy()
    })
  })
  return { ...server, heard }
}

const inClear = [signInRequest(3)]
const sasl = (step: number, text: string) =>
  message('R', Buffer.concat([signInRequest(step).subarray(5), Buffer.from(text)]))
/** The server's first SCRAM message, valid except for the part after the nonce. */
const scram = (rest: string): Demand[] => [
  sasl(10, 'SCRAM-SHA-256\0\0'),
  (said) => sasl(11, `r=${/,r=([^,\0]+)$/.exec(said.toString('latin1'))![1]}x,${rest}`),
]
const demands: Record<string, Demand[]> = {
  'the password in the clear': inClear,
  'the password with MD5': [message('R', Buffer.from([0, 0, 0, 5, 1, 2, 3, 4]))],
  'SCRAM with one iteration': [
    sasl(10, 'SCRAM-SHA-256\0\0'),
    // The nonce does not begin with that of the client, which must abort before it sends its proof.
    sasl(11, 'r=x,s=c2FsdA==,i=1'),
  ],
  // The driver uses the last of several.
  'SCRAM with iterations given twice': scram('s=c2FsdA==,i=4096,i=1'),
  'SCRAM with iterations before the salt': scram('i=4096,s=c2FsdA==,i=1'),
  'SCRAM with more than PostgreSQL sends': scram('s=c2FsdA==,i=4096,x=1'),
  'SCRAM with an extension before the nonce': [
    sasl(10, 'SCRAM-SHA-256\0\0'),
    (said) => sasl(11, `m=1,r=${/,r=([^,\0]+)$/.exec(said.toString('latin1'))![1]}x,s=c2FsdA==,i=4096`),
  ],
}

onBothDatabases('the stored password of a pipe from PostgreSQL', (app) => {
  const thieves: Thief[] = []
  after(() => Promise.all(thieves.map((thief) => thief.stop())))

  async function setUp(demand: Demand[] = inClear) {
    const thief = await startThief(...demand)
    thieves.push(thief)
    const service: ServiceOfPipes = await serviceOfPipes(app())
    const { id } = await service.create({
      name: 'shop',
      source: {
        postgres: {
          host: exampleHost,
          database: 'shop',
          credentials: login,
          settings: { replicationMode: 'snapshot' },
          tableMappings: [{ sourceSchemaName: 'public', sourceTable: 'orders', targetTable: 'orders' }],
        },
      },
      destination: { database: 'default' },
      startPaused: true,
    })
    const patch = (postgres: Json | undefined, validateSamples: boolean) =>
      service.send('PATCH', `/${id}`, {
        source: { ...(postgres ? { postgres } : {}), ...(validateSamples ? { validateSamples } : {}) },
      })
    const secrets = async () => openSecrets(app().app.vault, await service.load(id))
    const tried = async () => (await service.activities()).filter(({ type }) => type === 'pipe_password_tried')
    return { thief, service, id, patch, secrets, tried, there: { host: '127.0.0.1', port: thief.port } }
  }

  for (const [name, demand] of Object.entries(demands)) {
    it(`is not sent to another host that wants ${name}, and the attempt is recorded`, async () => {
      const { thief, service, id, patch, tried, there } = await setUp(demand)
      const stored = await service.load(id)
      const answer = await patch(there, true)
      assert.equal(answer.status, 400, answer.text)
      assert.match(answer.body.detail, /the step "authenticate" failed: .* in a way that reveals it/)
      assert.match(answer.body.detail, /send credentials\.password again/)
      assert.equal(answer.body.errors[0].pointer, '#/source/postgres/credentials')
      // Nothing, or the first SCRAM message, which does not depend on the password.
      assert.ok(thief.heard.length === demand.length - 1, String(thief.heard.length))
      assert.deepEqual(await service.load(id), stored)
      const [activity, ...others] = await tried()
      assert.deepEqual(others, [])
      assert.deepEqual(activity!.target, { type: 'pipe', id, serviceId: service.serviceId })
      assert.deepEqual(activity!.changes, [
        { field: 'source.postgres.host', from: exampleHost, to: '127.0.0.1' },
        { field: 'source.postgres.port', from: 5432, to: there.port },
      ])
      assert.equal(activity!.request_id, answer.headers['x-request-id'])
    })
  }

  it('is tried at another host that asks for SCRAM', async () => {
    const { patch, tried, secrets } = await setUp()
    const port = await examplePort()
    assert.equal((await patch({ host: '127.0.0.1', port }, true)).status, 200)
    assert.equal((await tried()).length, 1)
    assert.deepEqual((await secrets()).passwordFor, { host: exampleHost, port: 5432 })
  })

  it('is sent when it comes with the request', async () => {
    const { thief, patch, tried, there } = await setUp()
    await patch({ ...there, credentials: { password: 'of the thief' } }, true)
    assert.match(Buffer.concat(thief.heard).toString('latin1'), /^p.*of the thief\0$/s)
    assert.deepEqual(await tried(), [])
  })

  it('stays for the host that it was sent for until it is sent again', async () => {
    const { thief, service, id, patch, secrets, tried, there } = await setUp()
    assert.equal((await patch(there, false)).status, 200)
    const passwordFor = { host: exampleHost, port: 5432 }
    assert.deepEqual(await secrets(), { credentials: login, passwordFor })
    // Also with another user name, and when an update only validates the source.
    assert.equal((await patch({ credentials: { username: 'other' }, database: 'x' }, false)).status, 200)
    assert.deepEqual((await secrets()).passwordFor, passwordFor)
    assert.equal((await patch(undefined, true)).status, 400)
    assert.equal((await tried()).length, 1)
    const path = `/v1/organizations/${service.organizationId}/services/${service.serviceId}/pipes/schemaDiscovery`
    const looked = await app().request('POST', path, { key: service.admin, body: { pipeId: id } })
    assert.equal(looked.status, 400)
    assert.match(looked.body.error, /credentials must have password, because the stored one was sent for orders-db\./)
    assert.deepEqual(thief.heard, [])

    // Back to the original host, in upper case.
    assert.equal((await patch({ host: exampleHost.toUpperCase(), port: 5432 }, false)).status, 200)
    assert.equal((await secrets()).passwordFor, undefined)

    // The same password, sent for the current host.
    assert.equal((await patch(there, false)).status, 200)
    assert.equal((await patch({ credentials: { password: login.password } }, false)).status, 200)
    assert.equal((await secrets()).passwordFor, undefined)
    const last = (await service.activities()).at(-1)!
    assert.deepEqual(last.changes, [{ field: 'source.postgres.credentials', to: 'changed' }])
  })
})

describe('a worker of a pipe whose host was changed', () => {
  const context: SourceContext = {
    organizationId: '',
    caCertificates: undefined,
    allowPlaintext: true,
    awsEndpoints: {},
    reversePrivateEndpoints: new Map(),
  }
  const secrets: SourceSecrets = { credentials: login, passwordFor: { host: exampleHost, port: 5432 } }
  const connectOptions = () => ({
    egress: new Egress({ allowLoopback: true, deniedAddresses: [] }),
    signal: AbortSignal.timeout(10_000),
  })

  it('does not send the stored password there, nor does the cleanup of the source', async () => {
    const thief = await startThief(...inClear)
    try {
      const source = { host: '127.0.0.1', port: thief.port, database: 'shop' }
      const access = makePostgresAccess(source as PostgresSource, secrets, context)
      await assert.rejects(access.open(connectOptions(), { isReplication: true }), (error) => {
        assert.ok(error instanceof ProbeFailure)
        assert.deepEqual([error.step, error.code, error.field], ['authenticate', 'credentials_refused', 'credentials'])
        return true
      })
      await assert.rejects(
        removeOwnObjects({ source, secrets, context }, connectOptions(), { slot: 'a' }),
        MaintenanceFailure,
      )
      assert.deepEqual(thief.heard, [])
    } finally {
      await thief.stop()
    }
  })
})
