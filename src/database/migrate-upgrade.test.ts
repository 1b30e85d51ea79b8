// The data of a Penstock at schema 1, as this version finds it.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, afterEach, before, describe, it } from 'node:test'
import pg from 'pg'
import { basic, freshPostgresDatabase, type Key, openTestApp, type TestApp } from '../../test/harness/test-app.ts'
import { verifyChain } from '../activities/seal.ts'
import { type App, openApp } from '../app.ts'
import type { Config } from '../config.ts'
import { Log } from '../lib/log.ts'
import { StartError } from '../lib/start-error.ts'
import { findPipe, openSecrets } from '../pipes/store.ts'
import { openStoredData } from '../startup/open-database.ts'
import { loadMigrations, type MigrationTarget, migrate, selectMigrations } from './migrate.ts'
import { type Dialect, statement } from './sql.ts'

/** Each after the tables it references. */
const tables = [
  'installation',
  'organizations',
  'users',
  'members',
  'api_keys',
  'services',
  'private_endpoints',
  'service_private_endpoints',
  'pipes',
  'activities',
  'idempotency_records',
]
const newest = loadMigrations().at(-1)!.number

interface Store extends MigrationTarget {
  config: Config
  close(): Promise<void>
}

for (const dialect of ['sqlite', 'postgres'] as const) {
  describe(`an upgrade from schema 1 on ${dialect}`, () => {
    /** The source of the data for the stores at schema 1. */
    let source: TestApp
    let other: Awaited<ReturnType<TestApp['addOrganization']>>
    let paths: [string, Key][]
    const openStores: Store[] = []
    const openApps: App[] = []
    before(async () => {
      source = await openTestApp(dialect)
      other = await source.addOrganization()
      paths = await fill(source, other)
    })
    afterEach(async () => {
      for (const app of openApps.splice(0)) await app.close()
      for (const store of openStores.splice(0)) await store.close()
    })
    after(() => source?.close())

    /** An empty store with the migrations up to this one. */
    async function makeStore(schema: number): Promise<Store> {
      const store = await openStore(dialect, source.config)
      openStores.push(store)
      if (schema > 0) {
        await migrate(
          store,
          loadMigrations().filter(({ number }) => number <= schema),
        )
      }
      return store
    }

    async function filledStore(): Promise<Store> {
      const store = await makeStore(1)
      for (const table of tables) {
        const columns = await columnsOf(store, table)
        for (const row of await source.query<Record<string, unknown>>(`SELECT ${columns.join(', ')} FROM ${table}`)) {
          await store.execute(
            `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map((name) => literal(row[name])).join(', ')})`,
          )
        }
      }
      return store
    }

    async function open({ config }: Store): Promise<App> {
      const app = await openApp(config, { log: new Log('silent'), mayCreateKeys: false, onFatal: () => undefined })
      openApps.push(app)
      return app
    }

    const schemaOf = async (store: Store) => (await store.rows(selectMigrations)).at(-1)?.number

    it('keeps all data readable', async () => {
      const app = await open(await filledStore())
      assert.ok(paths.length > 20)
      for (const [path, key] of paths) {
        const answer = await send(app, 'GET', path, key)
        const expected = await source.request('GET', path, { key })
        assert.equal(answer.status, 200, path)
        assert.deepEqual(shown(answer.body), shown(expected.body), path)
        // The ETag of a list depends on its content, and keys contain their last use.
        if (!path.endsWith('/keys')) assert.equal(answer.etag, expected.headers.etag, path)
      }
    })

    it('keeps secrets, keys and idempotent responses', async () => {
      const store = await filledStore()
      const app = await open(store)
      const { organizationId, serviceId, pipeIds } = source.sample
      for (const pipeId of Object.values(pipeIds)) {
        const key = { organizationId, serviceId, pipeId }
        const pipe = (await findPipe(app.database.reader, key))!
        const before = (await findPipe(source.sql, key))!
        assert.deepEqual(openSecrets(app.vault, pipe), openSecrets(source.app.vault, before))
      }
      const again = await send(app, 'POST', `/v1/organizations/${organizationId}/keys`, source.admin, keyOnce)
      const first = await source.request('POST', `/v1/organizations/${organizationId}/keys`, keyOnce)
      assert.equal(again.status, 200)
      assert.deepEqual(again.body.result, first.body.result)
    })

    it('counts the admins of each organization, and protects the last one', async () => {
      const store = await filledStore()
      const app = await open(store)
      const counts = await store.rows(
        `SELECT admin_count, (SELECT count(*) FROM members WHERE organization_id = organizations.id AND role = 'admin') AS admins
         FROM organizations ORDER BY admin_count`,
      )
      assert.deepEqual(
        counts.map(({ admin_count, admins }) => [Number(admin_count), Number(admins)]),
        [
          [1, 1],
          [3, 3],
        ],
      )
      const members = `/v1/organizations/${other.organizationId}/members`
      const { result } = (await send(app, 'GET', members, other.admin)).body
      const admins = result.filter(({ role }: { role: string }) => role === 'admin')
      const statuses: number[] = []
      for (const { userId } of admins) {
        statuses.push((await send(app, 'DELETE', `${members}/${userId}`, other.admin)).status)
      }
      assert.deepEqual(statuses, [200, 200, 409])
    })

    it('seals old and new activities together', async () => {
      const store = await filledStore()
      const app = await open(store)
      const { organizationId } = source.sample
      const path = `/v1/organizations/${organizationId}`
      const before = (await send(app, 'GET', `${path}/activities`, source.admin)).body.result
      assert.equal((await send(app, 'PATCH', path, source.admin, { body: { name: 'After' } })).status, 200)
      const now = (await send(app, 'GET', `${path}/activities`, source.admin)).body.result
      assert.deepEqual(now.slice(1), before)
      assert.equal(now[0].type, 'organization_updated')
      await app.database.write('sealActivities', { organizationId }, organizationId)
      const report = await verifyChain(app.database.reader, app.vault, organizationId)
      assert.equal(report.problem, undefined)
      assert.equal(report.sealed, now.length)
    })

    it('finds people by their email in any case', async () => {
      const store = await filledStore()
      const { organizationId, userId } = source.sample
      await store.execute(`UPDATE users SET email = 'Amara.Okafor@Northwind.Example' WHERE id = '${userId}'`)
      const app = await open(store)
      const path = `/v1/organizations/${organizationId}`
      const { body, etag } = await send(app, 'GET', `${path}/members/${userId}`, source.admin)
      assert.equal(body.result.email, 'amara.okafor@northwind.example')
      assert.equal(etag, '"3.2"')
      const invitation = { email: 'AMARA.okafor@northwind.example', role: 'developer' }
      const refused = await send(app, 'POST', `${path}/invitations`, source.admin, { body: invitation })
      assert.equal(refused.status, 409)
    })

    it('is refused when emails differ only in case, and names them', async () => {
      const store = await filledStore()
      const { userId } = source.sample
      await store.execute(`UPDATE users SET email = 'Ingrid.Solheim@northwind.example' WHERE id = '${userId}'`)
      await assert.rejects(
        open(store),
        (error) =>
          error instanceof StartError &&
          /^Users have emails that differ only in the case of letters: (.*?)\. This version .* Give each an email of its own in the table users, then start again\.$/
            .exec(error.message)?.[1]
            ?.split(', ')
            .sort()
            .join() === 'Ingrid.Solheim@northwind.example,ingrid.solheim@northwind.example',
      )
      assert.equal(await schemaOf(store), 1)
      await store.execute(`UPDATE users SET email = 'Amara@northwind.example' WHERE id = '${userId}'`)
      await open(store)
      assert.equal(await schemaOf(store), newest)
    })

    describe('with read-only access', () => {
      const refused = (store: Store, sentence: RegExp) =>
        assert.rejects(
          openStoredData(store.config),
          (error) => error instanceof StartError && sentence.test(error.message),
        )

      it('is not run: an older schema is refused and stays unchanged', async () => {
        const store = await filledStore()
        await refused(store, new RegExp(`^The database is at schema 1, and this version needs ${newest}\\. Start this`))
        assert.equal(await schemaOf(store), 1)
      })

      it('refuses a newer schema', async () => {
        const store = await filledStore()
        await (await open(store)).close()
        openApps.pop()
        await store.execute("INSERT INTO schema_migrations VALUES (999, '0999-future', '2030-01-01T00:00:00.000Z')")
        await refused(store, /^The database is at schema 999, made by a newer Penstock; .* Use the newer version\.$/)
      })

      it('reports that there is no data, and creates nothing', async () => {
        const store = await makeStore(0)
        if (dialect === 'sqlite') return refused(store, /^There is no database at /)
        await refused(store, /^This Penstock has not been set up yet: it has no data\. Run "penstock init", or /)
        const made =
          "SELECT table_name FROM information_schema.tables WHERE table_schema NOT IN ('pg_catalog', 'information_schema')"
        assert.deepEqual(await store.rows(made), [])
        await migrate(store)
        await refused(store, /^This Penstock has not been set up yet: it has no data\. Run "penstock init", or /)
      })

      it('refuses writes', async () => {
        const store = await filledStore()
        await open(store)
        const data = await openStoredData(store.config)
        try {
          const rename = statement<{ name: string }>('UPDATE organizations SET name = :name')
          await assert.rejects(data.sql.run(rename, { name: 'changed' }))
        } finally {
          await data.close()
        }
        assert.deepEqual(await store.rows("SELECT id FROM organizations WHERE name = 'changed'"), [])
      })
    })
  })
}

const keyOnce = {
  body: { name: 'made once', roles: ['developer'] },
  headers: { 'idempotency-key': 'before the upgrade' },
}

/** Uses all features of schema 1; returns everything that can be read, and the key to read it with. */
async function fill(
  app: TestApp,
  other: { organizationId: string; admin: Key; serviceId: string },
): Promise<[string, Key][]> {
  const { organizationId, serviceId, userId, pipeIds } = app.sample
  const o = `/v1/organizations/${organizationId}`
  const theirs = `/v1/organizations/${other.organizationId}`
  // Schema 1 has no engines.
  await app.query('UPDATE services SET endpoint_url = NULL, endpoint_username = NULL, endpoint_password = NULL')
  await app.addMember(other.organizationId, 'admin')
  await app.addMember(other.organizationId, 'admin')
  await app.addMember(other.organizationId, 'developer')
  const change = async (method: string, path: string, options: object) => {
    const { status, text, body } = await app.request(method, path, options)
    assert.equal(status, 200, text)
    return body.result
  }
  const { key } = await change('POST', `${o}/keys`, keyOnce)
  await change('PATCH', `${o}/keys/${key.id}`, {
    body: { expireAt: '2099-12-31T00:00:00Z', ipAccessList: [{ source: '10.0.0.0/8', description: "build's" }] },
  })
  await change('PATCH', o, { body: { name: 'Before' } })
  await change('PATCH', `${o}/members/${userId}`, { body: { role: 'admin' } })
  await change('PATCH', `${o}/members/${userId}`, { body: { role: 'developer' } })
  await change('PATCH', `${o}/services/${serviceId}/pipes/${pipeIds.kafka}`, { body: { name: 'renamed' } })
  await change('POST', `${o}/services/${serviceId}/privateEndpoint`, {
    body: { id: 'vpce-0a1b2c3d4e5f67890', description: 'from the warehouse' },
  })
  await change('PATCH', theirs, { key: other.admin, body: { name: 'Their own' } })

  const lists: [string, string, Key][] = [
    [`${o}/members`, 'userId', app.admin],
    [`${o}/keys`, 'id', app.admin],
    [`${o}/services`, 'id', app.admin],
    [`${o}/services/${serviceId}/pipes`, 'id', app.admin],
    [`${o}/activities`, 'id', app.admin],
    [`${theirs}/members`, 'userId', other.admin],
    [`${theirs}/keys`, 'id', other.admin],
    [`${theirs}/services`, 'id', other.admin],
    [`${theirs}/services/${other.serviceId}/pipes`, 'id', other.admin],
    [`${theirs}/activities`, 'id', other.admin],
  ]
  const paths: [string, Key][] = [
    ['/v1/organizations', app.admin],
    [o, app.admin],
    [o, app.developer],
    [theirs, other.admin],
    [`${o}/invitations`, app.admin],
    [`${o}/keys/current`, app.developer],
    [`${o}/services/${serviceId}/privateEndpoint`, app.admin],
    [`${o}/services/${serviceId}/privateEndpointConfig`, app.admin],
    ...Object.values(pipeIds).map((id): [string, Key] => [
      `${o}/services/${serviceId}/pipes/${id}/settings`,
      app.admin,
    ]),
  ]
  for (const [path, id, reader] of lists) {
    paths.push([path, reader])
    const { body } = await app.request('GET', path, { key: reader })
    paths.push(...body.result.map((thing: Record<string, string>): [string, Key] => [`${path}/${thing[id]}`, reader]))
  }
  return paths
}

async function openStore(dialect: Dialect, config: Config): Promise<Store> {
  const locked: Store['locked'] = (work) => work()
  if (dialect === 'postgres') {
    const databaseUrl = await freshPostgresDatabase()
    const client = new pg.Client({ connectionString: databaseUrl })
    await client.connect()
    return {
      dialect,
      config: { ...config, databaseUrl },
      execute: async (text) => void (await client.query(text)),
      rows: async (text) => (await client.query(text)).rows,
      locked,
      close: () => client.end(),
    }
  }
  const dataFolder = mkdtempSync(join(tmpdir(), 'penstock-test-'))
  let opened: DatabaseSync | undefined
  const database = () => {
    opened ??= new DatabaseSync(join(dataFolder, 'penstock.db'), { timeout: 5_000 })
    return opened
  }
  return {
    dialect,
    config: { ...config, dataFolder },
    execute: async (text) => database().exec(text),
    rows: async (text) => database().prepare(text).all(),
    locked,
    close: async () => {
      opened?.close()
      rmSync(dataFolder, { recursive: true, force: true })
    },
  }
}

async function columnsOf(store: Store, table: string): Promise<string[]> {
  const rows = await store.rows(
    store.dialect === 'sqlite'
      ? `SELECT name FROM pragma_table_info('${table}')`
      : `SELECT column_name AS name FROM information_schema.columns WHERE table_name = '${table}'`,
  )
  return rows.map(({ name }) => String(name))
}

function literal(value: unknown): string {
  if (value === null) return 'NULL'
  return typeof value === 'number' ? String(value) : `'${String(value).replaceAll("'", "''")}'`
}

interface Answer {
  status: number
  etag: unknown
  // biome-ignore lint/suspicious/noExplicitAny: responses of every shape.
  body: any
}

async function send(
  app: App,
  method: string,
  url: string,
  key: Key,
  { body, headers = {} }: { body?: object; headers?: Record<string, string> } = {},
): Promise<Answer> {
  const response = await app.server.inject({
    method: method as 'GET',
    url,
    headers: { authorization: basic(key), ...headers },
    ...(body ? { payload: body } : {}),
  })
  return { status: response.statusCode, etag: response.headers.etag, body: JSON.parse(response.payload) }
}

/** Without fields that differ by request. */
function shown(body: object): unknown {
  return JSON.parse(JSON.stringify(body), (name, value) =>
    name === 'requestId' || name === 'usedAt' ? undefined : value,
  )
}
