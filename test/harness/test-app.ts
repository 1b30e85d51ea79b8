// A complete Penstock on a fresh database, for tests over HTTP. Each such test runs on both databases.
import { mkdtempSync, rmSync } from 'node:fs'
import { isIP, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import pg from 'pg'
import { type App, openApp } from '../../src/app.ts'
import type { Config } from '../../src/config.ts'
import type { FatalReason } from '../../src/database/database.ts'
import type { Dialect, Sql } from '../../src/database/sql.ts'
import { bind } from '../../src/database/sql.ts'
import { SqliteConnection } from '../../src/database/sqlite.ts'
import { startPostgres } from '../../src/embedded-postgres/postgres-server.ts'
import { SessionGuard } from '../../src/http/session-guard.ts'
import type { Sample } from '../../src/installation/sample.ts'
import { newKey } from '../../src/keys/key.ts'
import { insertKey, type KeyToInsert } from '../../src/keys/store.ts'
import { Egress, EgressError } from '../../src/lib/egress.ts'
import type { EgressLimits } from '../../src/lib/egress-http.ts'
import { isHost } from '../../src/lib/host.ts'
import { newId } from '../../src/lib/id.ts'
import { Log } from '../../src/lib/log.ts'
import { insertMember, insertUser } from '../../src/members/store.ts'
import type { Role } from '../../src/operation/caller.ts'
import { insertOrganization } from '../../src/organizations/store.ts'
import type { Provider } from '../../src/services/service.ts'
import { insertService } from '../../src/services/store.ts'
import { csrfTokenOf, latestExpiryOf, newSessionToken } from '../../src/sessions/session.ts'
import { insertSession, type SessionToInsert } from '../../src/sessions/store.ts'
import { databaseUrl, exampleHost, prepareDatabases, schemaTemplate } from './prepared-databases.ts'

export interface Key {
  keyId: string
  secret: string
}

/** Session of a browser. */
export interface TestSession {
  id: string
  token: string
  csrfToken: string
  /** Headers that the console sends. */
  headers: Record<string, string>
}

export interface RequestOptions {
  /** Default: the admin key of the sample; `null` sends no Authorization header. */
  key?: Key | null
  /** Instead of a key. */
  session?: TestSession
  body?: unknown
  /** Sent unchanged, instead of `body`. */
  text?: string | Buffer
  headers?: Record<string, string>
  /** Client address; every address has its own throttle. */
  address?: string
}

export interface TestResponse {
  status: number
  headers: Record<string, string | string[] | number | undefined>
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape.
  body: any
}

export interface TestApp {
  dialect: Dialect
  app: App
  config: Config
  /** Direct database access, bypassing Penstock. */
  sql: Sql
  sample: Sample
  admin: Key
  developer: Key
  /** Log lines; empty with the level `silent`, so that long runs do not fill the memory. */
  logged: string[]
  /** Reasons for which the process would have ended. */
  fatal: FatalReason[]
  request(method: string, path: string, options?: RequestOptions): Promise<TestResponse>
  addOrganization(): Promise<{ organizationId: string; admin: Key; adminUserId: string; serviceId: string }>
  addMember(organizationId: string, role: Role): Promise<string>
  addKey(organizationId: string, role: Role, more?: Partial<KeyToInsert>): Promise<Key>
  addService(organizationId: string, provider?: Provider): Promise<string>
  /** Default: a user who has just signed in. */
  addSession(userId: string, more?: Partial<SessionToInsert>): Promise<TestSession>
  /** Rows of an ad-hoc statement without parameters. */
  query<Row>(text: string): Promise<Row[]>
  close(): Promise<void>
}

/** Generated requests name hosts that may exist. Keeps all connections of a test on this machine. */
class LoopbackEgress extends Egress {
  constructor({ allowLoopback, allowPlaintext }: Config) {
    super({ allowLoopback, allowPlaintext, deniedAddresses: [] })
  }

  override async connect(host: string, port: number, limits: EgressLimits): Promise<Socket> {
    if (host !== exampleHost || port !== 5432) return super.connect(host, port, limits)
    return super.connect('127.0.0.1', await examplePort(), limits)
  }

  override async addressesOf(host: string, port: number, limits: EgressLimits): Promise<string[]> {
    if (host === 'localhost') return super.addressesOf('127.0.0.1', port, limits)
    if (isIP(host) === 0) throw new EgressError(isHost(host) ? 'unresolved' : 'denied', { denial: 'host' })
    if (host !== '127.0.0.1') throw new EgressError('unreachable')
    return super.addressesOf(host, port, limits)
  }
}

export async function openTestApp(dialect: Dialect, overrides: Partial<Config> = {}): Promise<TestApp> {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-test-'))
  const config: Config = {
    host: '127.0.0.1',
    port: 0,
    dataFolder: folder,
    masterKeyFile: join(folder, 'master-keys.json'),
    databaseUrl:
      dialect === 'postgres' && !overrides.databaseUrl ? await createPostgresDatabase(schemaTemplate) : undefined,
    logLevel: 'debug',
    rateLimit: undefined,
    trustedProxies: [],
    tlsInFront: false,
    hasPublicUrl: true,
    allowLoopback: true,
    allowPlaintext: true,
    caCertificates: undefined,
    awsEndpoints: {},
    role: 'api',
    serviceChecks: false,
    oidc: undefined,
    tryEngine: undefined,
    cacheFolder: '/nowhere',
    operations: {
      publicUrl: 'https://penstock.example.com',
      privateEndpointServices: {
        'aws/us-east-1': {
          endpointServiceId: 'com.amazonaws.vpce.us-east-1.vpce-svc-0a1b2c3d4e5f67890',
          privateDnsHostname: 'analytics.us-east-1.penstock.internal',
        },
        'aws/eu-west-1': {
          endpointServiceId: 'com.amazonaws.vpce.eu-west-1.vpce-svc-1b2c3d4e5f6789012',
          privateDnsHostname: 'analytics.eu-west-1.penstock.internal',
        },
      },
    },
    ...overrides,
  }
  const logged: string[] = []
  const fatal: FatalReason[] = []
  const log = new Log(config.logLevel, {
    write: (line: string) => logged.push(line),
  } as unknown as NodeJS.WritableStream)
  const app = await openApp(config, {
    log,
    mayCreateKeys: true,
    egress: new LoopbackEgress(config),
    onFatal: (reason) => fatal.push(reason),
  })
  const sample = (await app.database.write('createSample', {}, 'initialize'))!
  const direct = await openDirect(config)
  const { sql } = direct
  const admin = { keyId: sample.keyId, secret: sample.keySecret }

  const addMember = async (organizationId: string, role: Role): Promise<string> => {
    const now = new Date().toISOString()
    const userId = newId()
    await insertUser(sql, { id: userId, name: `User ${userId.slice(0, 8)}`, email: `${userId}@northwind.example`, now })
    await insertMember(sql, { organizationId, userId, role, now })
    return userId
  }
  const addKey = async (organizationId: string, role: Role, more: Partial<KeyToInsert> = {}): Promise<Key> => {
    const key = newKey(app.vault)
    const now = new Date().toISOString()
    await insertKey(sql, { id: newId(), organizationId, key, name: 'test', role, now, ...more })
    return { keyId: key.keyId, secret: key.secret.reveal() }
  }
  const addService = async (organizationId: string, provider: Provider = 'aws'): Promise<string> => {
    const id = newId()
    await insertService(sql, {
      id,
      organizationId,
      name: 'test',
      provider,
      region: 'eu-west-1',
      now: new Date().toISOString(),
    })
    return id
  }

  const guard = new SessionGuard({
    publicUrl: config.operations.publicUrl,
    isOnlyOrigin: true,
    lifetimeSeconds: 3600,
  })
  const addSession = async (userId: string, more: Partial<SessionToInsert> = {}): Promise<TestSession> => {
    const { token, tokenHash } = newSessionToken(app.vault)
    const now = more.now ?? new Date().toISOString()
    const expireAt = latestExpiryOf(now)
    const id = newId()
    const from = { address: '192.0.2.1', userAgent: 'test', isByLink: false }
    await insertSession(sql, { tokenHash, id, userId, now, expireAt, ...from, ...more })
    const csrfToken = csrfTokenOf(app.vault, token.reveal())
    const headers = {
      cookie: guard.cookies({ sessionToken: token.reveal() })[0]!.split(';')[0]!,
      origin: new URL(config.operations.publicUrl).origin,
      'sec-fetch-site': 'same-origin',
      'x-csrf-token': csrfToken,
    }
    return { id, token: token.reveal(), csrfToken, headers }
  }

  return {
    dialect,
    app,
    config,
    sql,
    sample,
    admin,
    developer: { keyId: sample.developerKeyId, secret: sample.developerKeySecret },
    logged,
    fatal,
    addMember,
    addKey,
    addService,
    addSession,
    async addOrganization() {
      const organizationId = newId()
      await insertOrganization(sql, { id: organizationId, name: 'Another', now: new Date().toISOString() })
      return {
        organizationId,
        adminUserId: await addMember(organizationId, 'admin'),
        admin: await addKey(organizationId, 'admin'),
        serviceId: await addService(organizationId),
      }
    },
    async request(method, path, options = {}) {
      const { session, key = session ? null : admin, body, text, address, headers = {} } = options
      // Rows that the test wrote directly in this turn would be newer than the snapshot of the read.
      await nextTurn()
      const payload = text ?? (body === undefined ? undefined : JSON.stringify(body))
      const response = await app.server.inject({
        method: method as 'GET',
        url: path,
        ...(address ? { remoteAddress: address } : {}),
        headers: {
          ...(key ? { authorization: basic(key) } : {}),
          ...(payload === undefined ? {} : { 'content-type': 'application/json' }),
          ...session?.headers,
          ...headers,
        },
        ...(payload === undefined ? {} : { payload }),
      })
      return {
        status: response.statusCode,
        headers: response.headers,
        text: response.payload,
        body: String(response.headers['content-type']).includes('json') ? JSON.parse(response.payload) : undefined,
      }
    },
    query: direct.query,
    async close() {
      await direct.close()
      await app.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Runs the tests on SQLite and on PostgreSQL, each with its own database. */
export function onBothDatabases(
  name: string,
  define: (app: () => TestApp) => void,
  overrides: Partial<Config> = {},
): void {
  for (const dialect of ['sqlite', 'postgres'] as const) {
    describe(`${name} on ${dialect}`, () => {
      let testApp: TestApp
      before(async () => {
        testApp = await openTestApp(dialect, overrides)
      })
      after(() => testApp?.close())
      define(() => testApp)
    })
  }
}

export function basic({ keyId, secret }: Key): string {
  return `Basic ${Buffer.from(`${keyId}:${secret}`).toString('base64')}`
}

interface Direct {
  sql: Sql
  query<Row>(text: string): Promise<Row[]>
  close(): Promise<void>
}

async function openDirect(config: Config): Promise<Direct> {
  if (!config.databaseUrl) {
    const connection = new SqliteConnection(join(config.dataFolder, 'penstock.db'), { readOnly: false })
    return {
      sql: connection,
      query: async <Row>(text: string) => connection.database.prepare(text).all() as Row[],
      close: async () => connection.close(),
    }
  }
  const client = new pg.Client({ connectionString: config.databaseUrl })
  await client.connect()
  const run: Sql['all'] = async (statement, values) => {
    const prepared = statement.for('postgres')
    return (await client.query(prepared.text, bind(prepared, values))).rows
  }
  return {
    sql: {
      dialect: 'postgres',
      all: run,
      first: async (statement, values) => (await run(statement, values))[0],
      run: async (statement, values) => (await run(statement, values)).length,
    },
    query: async <Row>(text: string) => (await client.query(text)).rows as Row[],
    close: () => client.end(),
  }
}

let ownServer: ReturnType<typeof startPostgres> | undefined
after(async () => (await ownServer)?.stop())

/** The server of the test run or, for a single file, a new one. */
async function postgresUrl(): Promise<string> {
  const given = process.env.PENSTOCK_TEST_POSTGRES
  if (given) return given
  ownServer ??= startPostgres().then(async (server) => {
    await prepareDatabases(server.url)
    return server
  })
  return (await ownServer).url
}

/** Port on which the example host is really served. */
export async function examplePort(): Promise<number> {
  return Number(new URL(await postgresUrl()).port)
}

/** Creates an empty database. */
export async function freshPostgresDatabase(): Promise<string> {
  return createPostgresDatabase('template1')
}

async function createPostgresDatabase(template: string): Promise<string> {
  const serverUrl = await postgresUrl()
  const name = `test_${newId().replaceAll('-', '')}`
  const client = new pg.Client({ connectionString: serverUrl })
  await client.connect()
  await client.query(`CREATE DATABASE ${name} TEMPLATE ${template}`)
  await client.end()
  return databaseUrl(serverUrl, name)
}
