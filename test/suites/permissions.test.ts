// S1: nobody gets access without permission. Tests are generated from the list of operations, so that a new operation is covered.
// The expected status follows from the order of the checks, not from a table: throttle → 401 → address 403 → malformed
// organization 400 → organization 404 → role 403 → malformed id 400 → resource 404 → 200; for a session throttle → origin 403 →
// 401 → CSRF token 403 → malformed organization 400 and so on.
import assert from 'node:assert/strict'
import { METHODS } from 'node:http'
import { before, it } from 'node:test'
import { consoleActions } from '../../src/execution/console-actions.ts'
import type { AnyOperation } from '../../src/operation/operation.ts'
import { operations } from '../../src/operations.ts'
import {
  callerNames,
  expectedStatus,
  makeWorld,
  type Resource,
  resourcesOf,
  send,
  type World,
} from '../harness/permission-world.ts'
import { onBothDatabases, type TestApp, type TestResponse } from '../harness/test-app.ts'
import { asker, asksEngine, freshAddress, type Ids, preparations } from '../harness/world.ts'

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
  '/docs/guides',
  '/docs/guides.css',
  '/docs/guides.js',
  '/docs/guides/search.json',
  '/problems',
  '/console',
  '/console/color-scheme.js',
  '/console/penstock.svg',
  '/problems/:code',
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
    const patterns = ['/console*', '/console/assets/:name', '/docs/guides*']
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
