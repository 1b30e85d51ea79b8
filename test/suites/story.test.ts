// A complete story over HTTP only: an organization uses Penstock from its first key to its last pipe.
import assert from 'node:assert/strict'
import { before, it } from 'node:test'
import { basic, type Key, onBothDatabases } from '../harness/test-app.ts'

// biome-ignore lint/suspicious/noExplicitAny: the story looks into answers of every shape.
type Json = any

interface ReadResponse {
  status: number
  headers: Headers
  body: Json
  text: string
}

const columns = [
  { name: 'order_id', type: 'UInt64' },
  { name: 'customer', type: 'String' },
]
const destination = {
  database: 'analytics',
  table: 'orders',
  columns,
  tableDefinition: { engine: { type: 'MergeTree' }, sortingKey: ['order_id'] },
}

const newPipes = {
  kafka: {
    name: 'orders from kafka',
    source: {
      kafka: {
        type: 'kafka',
        format: 'JSONEachRow',
        brokers: 'broker.northwind.example:9092',
        topics: 'orders',
        authentication: 'PLAIN',
        credentials: { username: 'penstock', password: 'story-kafka-password' },
      },
    },
    destination,
    startPaused: true,
  },
  kinesis: {
    name: 'clicks from kinesis',
    source: {
      kinesis: {
        format: 'JSONEachRow',
        region: 'us-east-1',
        streamName: 'clicks',
        iteratorType: 'TRIM_HORIZON',
        authentication: 'IAM_USER',
        accessKey: { accessKeyId: 'AKIAIOSFODNN7EXAMPLE', secretKey: 'story-kinesis-secret' },
      },
    },
    destination: { ...destination, table: 'clicks' },
    startPaused: true,
  },
  objectStorage: {
    name: 'exports from s3',
    source: {
      objectStorage: {
        type: 's3',
        format: 'JSONEachRow',
        url: 'https://northwind-exports.s3.us-east-1.amazonaws.com/orders/*.json',
        authentication: 'IAM_ROLE',
        iamRole: 'arn:aws:iam::123456789012:role/penstock',
      },
    },
    destination: { ...destination, table: 'exports' },
    fieldMappings: [{ destinationField: 'customer', sourceField: 'customer_name' }],
    startPaused: true,
  },
  postgres: {
    name: 'shop from postgres',
    source: {
      postgres: {
        host: 'shop.northwind.example',
        port: 5432,
        database: 'shop',
        credentials: { username: 'replicator', password: 'story-postgres-password' },
        tableMappings: [{ sourceSchemaName: 'public', sourceTable: 'customers', targetTable: 'shop_customers' }],
      },
    },
    destination: { database: 'analytics' },
    startPaused: true,
  },
}

onBothDatabases('story', (app) => {
  let url: string
  before(async () => {
    url = await app().app.listen()
  })

  it('runs a complete story', async () => {
    let key: Key = app().admin
    const everything: string[] = []
    const send = async (method: string, path: string, body?: unknown, by: Key = key): Promise<ReadResponse> => {
      const response = await fetch(new URL(path, url), {
        method,
        headers: {
          authorization: basic(by),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      const isJson = response.headers.get('content-type')?.includes('json')
      everything.push(text)
      return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined }
    }
    const expect = async (
      status: number,
      method: string,
      path: string,
      body?: unknown,
      by?: Key,
    ): Promise<ReadResponse> => {
      const answered = await send(method, path, body, by)
      assert.equal(answered.status, status, `${method} ${path} → ${answered.text}`)
      return answered
    }
    const ask = async (method: string, path: string, body?: unknown): Promise<Json> =>
      (await expect(200, method, path, body)).body.result

    // Read the organization of the key.
    const [organization, ...others] = await ask('GET', '/v1/organizations')
    assert.deepEqual(others, [])
    const o = `/v1/organizations/${organization.id}`
    assert.deepEqual(await ask('GET', o), organization)
    assert.equal((await ask('PATCH', o, { name: 'Northwind Traders' })).name, 'Northwind Traders')
    assert.equal((await ask('GET', `${o}/keys/current`)).keyId, key.keyId)

    // Invite a colleague, and revoke the invitation.
    const invitation = await ask('POST', `${o}/invitations`, { email: 'Lin.Chen@northwind.example', role: 'developer' })
    assert.match(invitation.link, /^https:\/\/penstock\.example\.com\/.*#inv_[0-9A-Za-z]{43}$/)
    const { link: _, ...shown } = invitation
    assert.deepEqual(await ask('GET', `${o}/invitations/${invitation.id}`), shown)
    assert.deepEqual(await ask('GET', `${o}/invitations`), [shown])
    await expect(409, 'POST', `${o}/invitations`, { email: 'lin.chen@northwind.example', role: 'admin' })
    await expect(200, 'DELETE', `${o}/invitations/${invitation.id}`)
    await expect(404, 'GET', `${o}/invitations/${invitation.id}`)

    // Change members: one is promoted and demoted, the last admin stays, the developer leaves.
    const members = await ask('GET', `${o}/members`)
    assert.equal(members.length, 2)
    const { adminUserId, userId } = app().sample
    assert.equal((await ask('PATCH', `${o}/members/${userId}`, { role: 'admin' })).role, 'admin')
    assert.equal((await ask('PATCH', `${o}/members/${userId}`, { role: 'developer' })).role, 'developer')
    await expect(409, 'DELETE', `${o}/members/${adminUserId}`)
    await expect(200, 'DELETE', `${o}/members/${userId}`)
    await expect(404, 'GET', `${o}/members/${userId}`)

    // A deployment key replaces the first one and is rotated.
    const made = await ask('POST', `${o}/keys`, {
      name: 'deployment',
      roles: ['admin'],
      ipAccessList: [{ source: '127.0.0.0/8', description: 'this machine' }],
    })
    const first = key
    key = { keyId: made.keyId, secret: made.keySecret }
    assert.equal((await ask('GET', `${o}/keys/current`)).id, made.key.id)
    await expect(409, 'DELETE', `${o}/keys/${made.key.id}`)
    await expect(409, 'PATCH', `${o}/keys/${made.key.id}`, { state: 'disabled' })
    const rotated = await ask('POST', `${o}/keys/${made.key.id}/rotate`, { graceSeconds: 3600 })
    await expect(200, 'GET', o)
    const before = key
    key = { keyId: made.keyId, secret: rotated.keySecret }
    await expect(200, 'GET', o)
    await expect(400, 'POST', `${o}/keys/${made.key.id}/rotate`, { graceSeconds: 0 })
    key = first
    const again = await ask('POST', `${o}/keys/${made.key.id}/rotate`, {})
    key = { keyId: made.keyId, secret: rotated.keySecret }
    await expect(401, 'GET', o)
    await expect(401, 'GET', o, undefined, before)
    key = { keyId: made.keyId, secret: again.keySecret }
    const firstKey = (await ask('GET', `${o}/keys`)).find(({ keyId }: Json) => keyId === first.keyId)
    assert.equal((await ask('PATCH', `${o}/keys/${firstKey.id}`, { state: 'disabled' })).state, 'disabled')
    await expect(401, 'GET', o, undefined, first)
    await expect(200, 'DELETE', `${o}/keys/${firstKey.id}`)

    // Register a service with private endpoints.
    const service = await ask('POST', `${o}/services`, {
      name: 'warehouse',
      provider: 'aws',
      region: 'us-east-1',
      endpoint: {
        url: 'https://warehouse.northwind.example:8443',
        username: 'penstock',
        password: 'story-engine-password',
      },
    })
    assert.equal(service.state, 'provisioning')
    assert.deepEqual(service.endpoints, [
      { protocol: 'https', host: 'warehouse.northwind.example', port: 8443, username: 'penstock' },
    ])
    const s = `${o}/services/${service.id}`
    assert.ok((await ask('GET', `${s}/privateEndpointConfig`)).endpointServiceId)
    const endpoint = await ask('POST', `${s}/privateEndpoint`, { id: 'vpce-0a1b2c3d', description: 'Production' })
    assert.deepEqual(await ask('GET', `${s}/privateEndpoint`), [endpoint])
    assert.deepEqual((await ask('GET', o)).privateEndpoints, [endpoint])
    assert.deepEqual((await ask('GET', s)).privateEndpointIds, ['vpce-0a1b2c3d'])
    assert.equal(
      (await ask('PATCH', s, { name: 'warehouse (eu)', endpoint: { password: 'story-new-password' } })).name,
      'warehouse (eu)',
    )

    // Create a pipe of each kind, and change each.
    const pipes: Record<string, Json> = {}
    for (const [kind, body] of Object.entries(newPipes)) {
      const pipe = await ask('POST', `${s}/pipes`, body)
      assert.deepEqual(await ask('GET', `${s}/pipes/${pipe.id}`), pipe)
      assert.deepEqual(Object.keys(pipe.source), [kind])
      assert.equal(pipe.state, kind === 'postgres' ? 'Paused' : 'Stopped')
      const p = `${s}/pipes/${pipe.id}`
      await ask('PATCH', p, { name: `${pipe.name}, renamed` })
      assert.equal((await ask('PUT', `${p}/settings`, { engine_max_threads: 8 })).engine_max_threads, 8)
      assert.equal((await ask('GET', `${p}/settings`)).engine_max_threads, 8)
      assert.equal((await ask('PATCH', `${p}/scaling`, { replicas: 2 })).scaling.replicas, 2)
      assert.equal((await ask('PATCH', `${p}/state`, { command: 'start' })).state, 'Provisioning')
      await expect(400, 'PATCH', `${p}/state`, { command: 'start' })
      assert.equal((await ask('PATCH', `${p}/state`, { command: 'stop' })).state, pipe.state)
      pipes[kind] = await ask('GET', p)
    }

    // List in pages, newest first.
    const listed: Json[] = []
    let next: string | undefined = `${s}/pipes?limit=3`
    for (let pages = 0; next; pages++) {
      const page = await expect(200, 'GET', next)
      listed.push(...page.body.result)
      next = /<([^>]+)>; rel="next"/.exec(page.headers.get('link') ?? '')?.[1]
      assert.ok(pages < 2)
    }
    assert.deepEqual(listed, [pipes.postgres, pipes.objectStorage, pipes.kinesis, pipes.kafka])

    // Read the metrics.
    const figures = await expect(200, 'GET', `${s}/prometheus`)
    assert.match(figures.headers.get('content-type')!, /^text\/plain; version=0\.0\.4/)
    assert.ok(figures.text.includes(pipes.kafka.id))
    await expect(200, 'GET', `${o}/prometheus`)

    const watched = `${s}/pipes/${pipes.kafka.id}`
    assert.equal((await ask('GET', `${watched}/metrics`)).rowsRead, 0)
    assert.deepEqual(await ask('GET', `${watched}/errors`), [])
    assert.notEqual((await ask('POST', `${watched}/errorReplay`)).replayRequestedAt, null)

    // Check that everything was recorded, newest first.
    const activities: Json[] = await ask('GET', `${o}/activities?limit=1000`)
    const types = activities.map(({ type }) => type).toReversed()
    assert.deepEqual(types.slice(0, 4), [
      'organization_updated',
      'invitation_created',
      'invitation_deleted',
      'member_role_changed',
    ])
    assert.equal(types.filter((type) => type === 'pipe_created').length, 4)
    assert.deepEqual(await ask('GET', `${o}/activities/${activities[0].id}`), activities[0])
    assert.equal((await ask('GET', `${o}/activities?type=service_created`)).length, 1)

    // Delete everything in the required order.
    const { body } = await expect(409, 'DELETE', s)
    assert.match(body.error, /4 pipes/)
    for (const { id } of Object.values(pipes)) {
      await expect(200, 'DELETE', `${s}/pipes/${id}`)
      await expect(404, 'GET', `${s}/pipes/${id}`)
    }
    await expect(200, 'DELETE', `${s}/privateEndpoint/vpce-0a1b2c3d`)
    assert.deepEqual((await ask('GET', o)).privateEndpoints, [])
    await expect(200, 'DELETE', s)
    await expect(404, 'GET', s)

    // Each secret was shown at most once.
    const answered = everything.join('\n')
    for (const secret of ['story-kafka', 'story-kinesis', 'story-postgres', 'story-engine', 'story-new']) {
      assert.ok(!answered.includes(secret), secret)
    }
    for (const secret of [made.keySecret, rotated.keySecret, again.keySecret]) {
      assert.equal(answered.split(secret).length, 2, 'a key secret is shown once')
    }
  })
})
