// Stores to measure on: created by `penstock init`, then filled with SQL.
import { randomUUID } from 'node:crypto'
import { chmodSync, cpSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate as letSignalsIn } from 'node:timers/promises'
import pg from 'pg'
import { environment, nodeFlags } from '../bin/launch.js'
import { bind, type Sql } from '../src/database/sql.ts'
import { SqliteConnection } from '../src/database/sqlite.ts'
import { readMasterKeys } from '../src/installation/master-keys.ts'
import { newId } from '../src/lib/id.ts'
import { Vault } from '../src/lib/vault.ts'
import { insertMember, insertUser } from '../src/members/store.ts'
import { pipeExample } from '../src/pipes/pipe-example.ts'
import { insertPipe, sealSecrets } from '../src/pipes/store.ts'
import { insertService } from '../src/services/store.ts'
import { cleanEnvironment, run } from './processes.ts'

export interface Size {
  members: number
  pipes: number
}

export interface Store {
  folder: string
  databaseUrl: string | undefined
  organizationId: string
  serviceId: string
  authorization: string
  /** Members and pipes of the requests, in random order. */
  userIds: string[]
  pipeIds: string[]
  /** Cursor of the thousandth page by list path; without it lists are read from the top. */
  cursors?: Record<string, string>
}

/** Effects of a run, read directly from the store. */
export interface StoreState {
  admins: Set<string>
  activities: number
}

const main = join(import.meta.dirname, '..', 'src', 'main.ts')
/** So many that no cache holds the target of the next request. */
const mostTargets = 100_000

export async function makeSqliteStore(folder: string, size: Size): Promise<Store> {
  const store = await initialize(folder, undefined)
  const connection = new SqliteConnection(join(folder, 'penstock.db'), { readOnly: false })
  // An interrupted fill loses nothing of value; Penstock restores its settings when it opens the file.
  connection.database.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -262144; BEGIN')
  await fill(connection, store, size)
  connection.database.exec('COMMIT')
  connection.close()
  return store
}

export function copySqliteStore(store: Store, folder: string): Store {
  cpSync(store.folder, folder, { recursive: true })
  chmodSync(folder, 0o700)
  return { ...store, folder }
}

export async function makePostgresStore(folder: string, databaseUrl: string, size: Size): Promise<Store> {
  const store = await initialize(folder, databaseUrl)
  await withPostgres(databaseUrl, async (client) => {
    const all: Sql['all'] = async (statement, values) => {
      const prepared = statement.for('postgres')
      return (await client.query(prepared.text, bind(prepared, values))).rows
    }
    const sql: Sql = {
      dialect: 'postgres',
      all,
      first: async (statement, values) => (await all(statement, values))[0],
      run: async (statement, values) => (await all(statement, values)).length,
    }
    await client.query('BEGIN')
    await fill(sql, store, size)
    await client.query('COMMIT')
  })
  return store
}

export async function readState(store: Store): Promise<StoreState> {
  const text = `SELECT user_id FROM members WHERE organization_id = '${store.organizationId}' AND role = 'admin'`
  if (store.databaseUrl) {
    return withPostgres(store.databaseUrl, async (client) => ({
      admins: new Set((await client.query(text)).rows.map((row) => row.user_id)),
      activities: Number((await client.query('SELECT count(*) FROM activities')).rows[0].count),
    }))
  }
  return fromSqlite(store, (database) => {
    const rows = database.prepare(text).all() as { user_id: string }[]
    // Activities are never deleted, so the number of the last row is their count.
    const last = database.prepare('SELECT count(*) AS number FROM activities').get() as { number: number | null }
    return { admins: new Set(rows.map((row) => row.user_id)), activities: last.number ?? 0 }
  })
}

/** Last activity, without the fields that differ between requests. SQLite only. */
export function lastActivity(store: Store): unknown {
  if (store.databaseUrl) return undefined
  return fromSqlite(store, (database) =>
    database
      .prepare(
        `SELECT organization_id, type, actor_id, address, user_agent, target, changes FROM activities
         ORDER BY id DESC LIMIT 1`,
      )
      .get(),
  )
}

async function initialize(folder: string, databaseUrl: string | undefined): Promise<Store> {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const printed = await run(
    process.execPath,
    [
      ...nodeFlags,
      main,
      'init',
      '--organization',
      'Bench',
      '--admin-name',
      'Ada Marsh',
      '--admin-email',
      'ada.marsh@bench.example',
    ],
    { env: penstockEnvironment(folder, databaseUrl), timeoutMs: 30_000 },
  )
  const word = (label: string): string => new RegExp(`^${label}\\s+(\\S+)`, 'm').exec(printed)![1]!
  const authorization = `Basic ${Buffer.from(`${word('Key id')}:${word('Key secret')}`).toString('base64')}`
  return {
    folder,
    databaseUrl,
    organizationId: word('Organization'),
    serviceId: newId(),
    authorization,
    userIds: [],
    pipeIds: [],
  }
}

export function penstockEnvironment(folder: string, databaseUrl: string | undefined): NodeJS.ProcessEnv {
  return cleanEnvironment({
    PENSTOCK_DATA: folder,
    ...environment,
    ...(databaseUrl ? { DATABASE_URL: databaseUrl } : {}),
  })
}

async function fill(sql: Sql, store: Store, size: Size): Promise<void> {
  const { organizationId, serviceId } = store
  const vault = new Vault(readMasterKeys(join(store.folder, 'master-keys.json'))!)
  const now = new Date().toISOString()
  await insertService(sql, {
    id: serviceId,
    organizationId,
    name: 'analytics',
    provider: 'aws',
    region: 'us-east-1',
    now,
  })
  // Sorted ids append to every index instead of scattering: seconds instead of minutes.
  const userIds = sortedIds(size.members)
  for (const [index, id] of userIds.entries()) {
    await insertUser(sql, { id, name: `Member ${index}`, email: `${id}@bench.example`, now })
    await insertMember(sql, { organizationId, userId: id, role: 'developer', now })
    if (index % 10_000 === 0) await letSignalsIn()
  }
  const pipeIds = sortedIds(size.pipes)
  for (const [index, id] of pipeIds.entries()) {
    await insertPipe(sql, {
      id,
      organizationId,
      serviceId,
      name: `orders ${index}`,
      kind: 'kafka',
      state: 'Stopped',
      source: pipeExample.source.kafka!,
      sealedSecrets: sealSecrets(vault, { id, organizationId }, { credentials }),
      destination,
      fieldMappings,
      scaling: pipeExample.scaling,
      settings: {},
      createdAt: now,
      updatedAt: now,
    })
    if (index % 10_000 === 0) await letSignalsIn()
  }
  store.userIds = shuffled(userIds).slice(0, mostTargets)
  store.pipeIds = shuffled(pipeIds).slice(0, mostTargets)
}

const credentials = { username: 'penstock', password: 'not-a-real-password' }

// So many columns that a pipe has about 4 KB.
const columns = Array.from({ length: 36 }, (_, index) => ({
  name: `measurement_${String(index).padStart(2, '0')}`,
  type: index % 3 === 0 ? 'Nullable(Decimal(18, 4))' : 'LowCardinality(String)',
}))
const destination = {
  ...pipeExample.destination,
  columns,
  tableDefinition: { ...pipeExample.destination.tableDefinition!, sortingKey: [columns[0]!.name] },
}
const fieldMappings = columns
  .slice(0, 8)
  .map(({ name }) => ({ destinationField: name, sourceField: `payload.${name}` }))

function sortedIds(count: number): string[] {
  return Array.from({ length: count }, () => randomUUID() as string).sort()
}

function shuffled(list: string[]): string[] {
  const result = [...list]
  for (let index = result.length - 1; index > 0; index--) {
    const other = Math.floor(Math.random() * (index + 1))
    const moved = result[index]!
    result[index] = result[other]!
    result[other] = moved
  }
  return result
}

function fromSqlite<Result>(store: Store, read: (database: DatabaseSync) => Result): Result {
  const database = new DatabaseSync(join(store.folder, 'penstock.db'), { readOnly: true, timeout: 5_000 })
  try {
    return read(database)
  } finally {
    database.close()
  }
}

async function withPostgres<Result>(url: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
