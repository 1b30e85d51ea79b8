// S1: nobody gets access without permission. Tests are generated from the list of operations, so that a new operation is covered.
// The expected status follows from the order of the checks, not from a table: throttle → 401 → address 403 → malformed
// organization 400 → organization 404 → role 403 → malformed id 400 → resource 404 → 200; for a session throttle → origin 403 →
// 401 → CSRF token 403 → malformed organization 400 and so on.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { METHODS } from 'node:http'
import { before, it } from 'node:test'
import { consoleActions } from '../../src/execution/console-actions.ts'
import { newId, randomBase62 } from '../../src/lib/id.ts'
import type { Role } from '../../src/operation/caller.ts'
import type { AnyOperation } from '../../src/operation/operation.ts'
import { operations } from '../../src/operations.ts'
import type { SessionToInsert } from '../../src/sessions/store.ts'
import { basic, type Key, onBothDatabases, type TestApp, type TestResponse } from '../harness/test-app.ts'
import { asker, asksEngine, freshAddress, type Ids, makeIds, pathOf, preparations } from '../harness/world.ts'

/** Routes that answer without an API key. A route that is neither here nor an operation fails the test. */
const publicRoutes = [
  '/',
  '/v1',
  '/health',
  '/ready',
  '/metrics',
  '/docs',
  '/docs/reference.css',
  '/docs/reference.js',
  '/problems',
  '/console',
  '/console/color-scheme.js',
  '/console/penstock.svg',
  '/problems/:code',
]

interface Caller {
  name: string
  /** Status of the caller before any lookup; absent if the caller is authenticated. */
  refused?: 401 | 403 | ((operation: AnyOperation) => 403 | undefined)
  role: 'admin' | 'developer'
  organization: 'own' | 'other'
  authorization(): string | undefined
  /** Headers of a session, instead of a key. */
  session?: Record<string, string>
  /** From 192.0.2.0/24, the only range that some keys allow. */
  fromListedAddress?: boolean
}

interface Resource {
  name: string
  state: 'existing' | 'missing' | 'malformed'
  /** Organization in the path. */
  organization: 'own' | 'other' | 'nobody'
  ids: Ids
  /** Parameters with replaced ids. */
  replaced: string[]
}

interface World {
  own: Ids
  other: Ids
  /** An admin key of the other organization. */
  otherAdmin: Key
  callers: Caller[]
}

function expectedStatus(operation: AnyOperation, caller: Caller, resource: Resource): number {
  const refused = typeof caller.refused === 'function' ? caller.refused(operation) : caller.refused
  if (refused) return refused
  const namesOrganization = parametersOf(operation).includes('organizationId')
  if (resource.state === 'malformed' && resource.replaced.includes('organizationId')) return 400
  if (namesOrganization && resource.organization !== caller.organization) return 404
  if (operation.access === 'admin' && caller.role !== 'admin') return 403
  if (resource.state === 'malformed') return 400
  // A session has no current key.
  if (operation.id === 'getCurrentKey' && caller.session) return 404
  return resource.state === 'missing' ? 404 : 200
}

function parametersOf(operation: AnyOperation): string[] {
  return [...operation.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!)
}

function resourcesOf(operation: AnyOperation, { own, other }: Pick<World, 'own' | 'other'>): Resource[] {
  const parameters = parametersOf(operation)
  const inside = parameters.filter((name) => name !== 'organizationId')
  const resource = (
    name: string,
    state: Resource['state'],
    organization: Resource['organization'],
    changes: Ids,
  ): Resource => ({ name, state, organization, ids: { ...own, ...changes }, replaced: Object.keys(changes) })

  const resources = [resource('existing', 'existing', 'own', {})]
  for (const name of parameters) {
    const organization = name === 'organizationId' ? 'nobody' : 'own'
    const isUuid = operation.params.properties[name].format === 'uuid'
    const malformed = isUuid ? 'not-a-uuid' : '%20'
    resources.push(resource(`missing ${name}`, 'missing', organization, { [name]: newId() }))
    resources.push(resource(`malformed ${name}`, 'malformed', organization, { [name]: malformed }))
  }
  for (const name of inside) {
    resources.push(resource(`foreign ${name}`, 'missing', 'own', { [name]: other[name]! }))
  }
  if (inside.length > 1) {
    const all = Object.fromEntries(inside.map((name) => [name, other[name]!]))
    resources.push(resource('foreign ids', 'missing', 'own', all))
  }
  resources.push(resource("another organization's ids", 'existing', 'other', other))
  return resources
}

async function send(
  app: TestApp,
  operation: AnyOperation,
  caller: Pick<Caller, 'authorization' | 'session' | 'fromListedAddress'>,
  ids: Ids,
): Promise<TestResponse> {
  const authorization = caller.authorization()
  return app.request(operation.method, pathOf(operation, ids), {
    key: null,
    address: caller.fromListedAddress ? '192.0.2.7' : freshAddress(),
    headers: { ...caller.session, ...(authorization === undefined ? {} : { authorization }) },
    ...(operation.example.body === undefined ? {} : { body: operation.example.body }),
  })
}

async function makeWorld(app: TestApp): Promise<World> {
  const { sample, admin } = app
  const another = await app.addOrganization()
  const own = await makeIds(app, admin, {
    organizationId: sample.organizationId,
    userId: sample.userId,
    serviceId: sample.serviceId,
  })
  const other = await makeIds(app, another.admin, {
    organizationId: another.organizationId,
    userId: await app.addMember(another.organizationId, 'developer'),
    serviceId: another.serviceId,
  })

  // Failures are also counted by key id: no key of the pool is used more often than the throttle allows.
  const requests = operations.reduce((sum, operation) => sum + resourcesOf(operation, { own, other }).length, 0)
  const pool = async (makeKey: () => Promise<Key>): Promise<() => Key> => {
    const keys: Key[] = []
    while (keys.length < requests / 10) keys.push(await makeKey())
    let next = 0
    return () => keys[next++ % keys.length]!
  }
  await app.query('BEGIN')
  const valid = await pool(() => app.addKey(sample.organizationId, 'admin'))
  const expired = await pool(() =>
    app.addKey(sample.organizationId, 'admin', { expireAt: new Date(Date.now() - 1000).toISOString() }),
  )
  const disabled = await pool(() => app.addKey(sample.organizationId, 'admin', { state: 'disabled' }))
  await app.query('COMMIT')
  const ipAccessList = [{ source: '192.0.2.0/24', description: 'the office' }]
  const listed = await app.addKey(sample.organizationId, 'admin', { ipAccessList })
  const unexpired = await app.addKey(sample.organizationId, 'admin', {
    expireAt: new Date(Date.now() + 3_600_000).toISOString(),
  })

  const session = async (organizationId: string, role: Role, more: Partial<SessionToInsert> = {}) =>
    (await app.addSession(await app.addMember(organizationId, role), more)).headers
  const adminSession = await session(sample.organizationId, 'admin')
  const { 'x-csrf-token': _token, ...withoutToken } = adminSession
  const { origin: _origin, 'sec-fetch-site': _site, ...withoutOrigin } = adminSession
  const person = { authorization: () => undefined, role: 'admin', organization: 'own' } as const
  const change = ({ method }: AnyOperation) => (method === 'GET' ? undefined : 403)

  const ours = { organization: 'own', role: 'admin' } as const
  const { developer } = app
  return {
    own,
    other,
    otherAdmin: another.admin,
    callers: [
      { name: 'no header', ...ours, refused: 401, authorization: () => undefined },
      { name: 'Bearer', ...ours, refused: 401, authorization: () => basic(admin).replace('Basic', 'Bearer') },
      { name: 'bad base64', ...ours, refused: 401, authorization: () => basic(admin).replace(/=*$/, '*') },
      {
        name: 'unknown id',
        ...ours,
        refused: 401,
        authorization: () => basic({ keyId: randomBase62(20), secret: admin.secret }),
      },
      {
        name: 'wrong secret',
        ...ours,
        refused: 401,
        authorization: () => basic({ keyId: valid().keyId, secret: `pst_${randomBytes(24).toString('hex')}` }),
      },
      { name: 'expired key', ...ours, refused: 401, authorization: () => basic(expired()) },
      { name: 'disabled key', ...ours, refused: 401, authorization: () => basic(disabled()) },
      { name: 'address not allowed', ...ours, refused: 403, authorization: () => basic(listed) },
      {
        name: "another organization's admin",
        organization: 'other',
        role: 'admin',
        authorization: () => basic(another.admin),
      },
      { name: 'developer', organization: 'own', role: 'developer', authorization: () => basic(developer) },
      { name: 'admin', ...ours, authorization: () => basic(admin) },
      { name: 'admin from an allowed address', ...ours, authorization: () => basic(listed), fromListedAddress: true },
      { name: 'admin with a key that expires later', ...ours, authorization: () => basic(unexpired) },
      {
        name: 'unknown session',
        ...person,
        refused: 401,
        session: { ...adminSession, cookie: `__Host-penstock-session=ses_${'0'.repeat(43)}` },
      },
      {
        name: 'expired session',
        ...person,
        refused: 401,
        session: await session(sample.organizationId, 'admin', { expireAt: new Date(Date.now() - 1).toISOString() }),
      },
      {
        name: 'session that was not used for long',
        ...person,
        refused: 401,
        session: await session(sample.organizationId, 'admin', {
          now: new Date(Date.now() - 12 * 3_600_000).toISOString(),
        }),
      },
      { name: 'session without a CSRF token', ...person, refused: change, session: withoutToken },
      {
        name: 'session with the CSRF token of another',
        ...person,
        refused: change,
        session: { ...adminSession, 'x-csrf-token': (await session(sample.organizationId, 'admin'))['x-csrf-token']! },
      },
      { name: 'session without an origin', ...person, refused: change, session: withoutOrigin },
      {
        name: 'session of a foreign origin',
        ...person,
        refused: change,
        session: { ...withoutOrigin, origin: 'https://attacker.example' },
      },
      {
        name: 'session on a foreign site',
        ...person,
        refused: 403,
        session: { ...adminSession, 'sec-fetch-site': 'cross-site' },
      },
      {
        name: 'session of a non-member',
        ...person,
        organization: 'other',
        session: await session(another.organizationId, 'admin'),
      },
      {
        name: 'session of a developer',
        ...person,
        role: 'developer',
        session: await session(sample.organizationId, 'developer'),
      },
      { name: 'session of an admin', ...person, session: adminSession },
    ],
  }
}

const callerNames = [
  'no header',
  'Bearer',
  'bad base64',
  'unknown id',
  'wrong secret',
  'expired key',
  'disabled key',
  'address not allowed',
  "another organization's admin",
  'developer',
  'admin',
  'admin from an allowed address',
  'admin with a key that expires later',
  'unknown session',
  'expired session',
  'session that was not used for long',
  'session without a CSRF token',
  'session with the CSRF token of another',
  'session without an origin',
  'session of a foreign origin',
  'session on a foreign site',
  'session of a non-member',
  'session of a developer',
  'session of an admin',
]

/** Every row of every table, as text. */
async function dumpTables(app: TestApp): Promise<Record<string, string[]>> {
  const tables = await app.query<{ name: string }>(
    app.dialect === 'sqlite'
      ? "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
      : "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'",
  )
  const dump: Record<string, string[]> = {}
  for (const { name } of tables) {
    const rows = await app.query<object>(`SELECT * FROM ${name}`)
    // The last use of a key is recorded whatever the answer.
    dump[name] = rows.map((row) => JSON.stringify({ ...row, used_at: undefined })).sort()
  }
  return dump
}

/** Observable parts of an answer, with the ids of the path replaced by their names. */
function withoutIds(response: TestResponse, ids: Ids): unknown {
  let { text } = response
  for (const [name, id] of Object.entries(ids)) text = text.replaceAll(id, `{${name}}`)
  // Ids of private endpoints differ in length.
  const { date: _date, 'x-request-id': _requestId, 'content-length': _length, ...headers } = response.headers
  return { status: response.status, headers, text }
}

onBothDatabases('S1 permissions', (app) => {
  let world: World
  let untouched: Record<string, string[]>
  before(async () => {
    world = await makeWorld(app())
    // Otherwise Penstock seals a few seconds later. Twice: a run in progress does not include later rows.
    for (let runs = 0; runs < 2; runs++) await app().app.sealer.sealTouched()
    untouched = await dumpTables(app())
  })
  const caller = (name: string) => world.callers.find((each) => each.name === name)!

  /** The ids to send, after preparations that the operation needs to be accepted. */
  async function prepared(operation: AnyOperation, resource: Resource, accepted: boolean): Promise<Ids> {
    const prepare = preparations[operation.id]
    if (!accepted || !prepare) return resource.ids
    const isOther = resource.organization === 'other'
    const ids = isOther ? world.other : world.own
    const ask = asker(app(), isOther ? world.otherAdmin : app().admin, ids)
    return { ...resource.ids, ...(await prepare(ask, app(), ids)) }
  }

  async function check(operation: AnyOperation, callerName: string, accepted: boolean): Promise<number> {
    const wrong: string[] = []
    let sent = 0
    for (const resource of resourcesOf(operation, world)) {
      const expected = expectedStatus(operation, caller(callerName), resource)
      if ((expected === 200) !== accepted) continue
      const response = await send(app(), operation, caller(callerName), await prepared(operation, resource, accepted))
      sent++
      const statusToExpect = accepted && asksEngine.includes(operation.id) ? 503 : expected
      if (response.status !== statusToExpect) {
        wrong.push(`${resource.name}: ${response.status} instead of ${statusToExpect}: ${response.text}`)
      } else if (!accepted) {
        assert.deepEqual(Object.keys(response.body), ['error', 'status'])
        assert.equal(response.body.status, expected)
        const challenge = expected === 401 && !caller(callerName).session
        assert.equal(response.headers['www-authenticate'], challenge ? 'Basic realm="penstock"' : undefined)
      }
    }
    assert.deepEqual(wrong, [])
    return sent
  }

  it('S1 has every caller', () => {
    assert.deepEqual(
      world.callers.map(({ name }) => name),
      callerNames,
    )
  })

  for (const operation of operations) {
    for (const callerName of callerNames) {
      it(`S1 ${operation.id} refuses ${callerName} without permission`, async () => {
        const refusals = resourcesOf(operation, world).filter(
          (resource) => expectedStatus(operation, caller(callerName), resource) !== 200,
        )
        assert.equal(await check(operation, callerName, false), refusals.length)
      })
    }
  }

  it('S1 answers every kind of wrong credentials with the same 401', async () => {
    const wrong = world.callers.filter(({ refused }) => refused === 401)
    for (const kind of [wrong.filter(({ session }) => !session), wrong.filter(({ session }) => session)]) {
      assert.ok(kind.length >= 3)
      for (const operation of operations) {
        const seen = new Set<string>()
        for (const each of kind) seen.add(JSON.stringify(withoutIds(await send(app(), operation, each, world.own), {})))
        assert.equal(seen.size, 1)
      }
    }
  })

  it('S1 answers for resources of another organization exactly as for missing ones', async () => {
    let compared = 0
    for (const operation of operations) {
      const resources = resourcesOf(operation, world)
      for (const missing of resources.filter(({ state }) => state === 'missing')) {
        const twin = resources.find(
          (each) =>
            each !== missing && each.replaced.join() === missing.replaced.join() && each.name.startsWith('foreign'),
        )
        const foreign =
          missing.organization === 'nobody'
            ? { ids: { ...world.own, organizationId: world.other.organizationId! } }
            : twin
        if (!foreign || missing.name.startsWith('foreign')) continue
        for (const each of [caller('admin'), caller('session of an admin')]) {
          const toMissing = await send(app(), operation, each, missing.ids)
          const toForeign = await send(app(), operation, each, foreign.ids)
          assert.equal(toMissing.status, 404)
          assert.deepEqual(withoutIds(toForeign, foreign.ids), withoutIds(toMissing, missing.ids))
          compared++
        }
      }
    }
    assert.ok(compared >= 2 * operations.length)
  })

  it('S1 refuses every HTTP method that is not declared', async () => {
    const byPath = Map.groupBy(operations, ({ path }) => path)
    for (const offered of byPath.values()) {
      const declared = offered.map(({ method }) => method as string)
      for (const method of METHODS.filter((each) => each !== 'CONNECT' && !declared.includes(each))) {
        for (const name of ['no header', 'developer', 'admin']) {
          const response = await send(app(), { ...offered[0]!, method: method as 'PUT' }, caller(name), world.own)
          assert.equal(response.status, 405, `${method} by ${name}`)
          assert.equal(response.headers.allow, declared.join(', '))
        }
      }
    }
  })

  it('S1 changes no data by refused requests', async () => {
    assert.deepEqual(await dumpTables(app()), untouched)
  })

  for (const operation of operations) {
    it(`S1 ${operation.id} accepts every permitted caller`, async () => {
      let accepted = 0
      for (const callerName of callerNames) accepted += await check(operation, callerName, true)
      assert.ok(accepted >= 4)
    })
  }

  it('S1 the OpenAPI document has exactly the operations', async () => {
    const { body } = await app().request('GET', '/v1', { key: null })
    const documented = Object.entries<Record<string, { 'x-required-role': string }>>(body.paths).flatMap(
      ([path, methods]) =>
        Object.entries(methods).map(([method, each]) => `${method.toUpperCase()} ${path} ${each['x-required-role']}`),
    )
    assert.deepEqual(
      documented.sort(),
      operations.map(({ method, path, access }) => `${method} ${path} ${access}`).sort(),
    )
    assert.deepEqual(body.security, [{ apiKey: [] }])
  })

  it('S1 every route is an operation or public', async () => {
    const served = pathsOf(app().app.server.printRoutes({ commonPrefix: false }))
    const paths = new Set([...operations, ...consoleActions].map(({ path }) => path.replaceAll(/\{(\w+)\}/g, ':$1')))
    // Page addresses, as the tree prints a wildcard, and asset names.
    const patterns = ['/console*', '/console/assets/:name']
    assert.deepEqual(served.sort(), [...paths, ...publicRoutes, ...patterns].sort())
    for (const path of publicRoutes) {
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
        const response = await app().request(method, path, { body: {}, address: freshAddress() })
        assert.equal(response.status, 405, `${method} ${path}`)
        assert.equal(response.headers.allow, 'GET, HEAD')
      }
    }
  })
})

/** The paths in the route tree that Fastify prints. */
function pathsOf(tree: string): string[] {
  const parents: string[] = []
  const paths: string[] = []
  for (const line of tree.split('\n')) {
    const match = /^([│ ]*)[├└]── (\S+)(?: \((.*)\))?$/.exec(line)
    if (!match) continue
    parents.length = match[1]!.length / 4
    parents.push(match[2]!)
    if (match[3]) paths.push(parents.join(''))
  }
  return paths
}
