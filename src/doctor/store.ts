// Read-only queries of the doctor over all organizations.
import type pg from 'pg'
import { selectMigrations } from '../database/migrate.ts'
import { type Sql, statement } from '../database/sql.ts'
import type { SqliteConnection } from '../database/sqlite.ts'
import type { PipeState } from '../progress/pipe-state.ts'
import type { StoredService } from '../services/service.ts'

const newestActivityStatement = statement<Record<string, never>, { newest: string | null }>(
  // Uses the primary key per organization; a single max() would read all activities.
  `SELECT max((SELECT max(activities.id) FROM activities WHERE activities.organization_id = organizations.id)) AS newest
   FROM organizations`,
)
const countPipesStatement = statement<Record<string, never>, { state: PipeState; count: number }>(
  'SELECT state, count(*) AS count FROM pipes GROUP BY state ORDER BY state',
)
const listTroubledStatement = statement<{ rows: number }, { id: string; name: string; state: PipeState }>(
  `SELECT id, name, state FROM pipes WHERE state IN ('Failed', 'Degraded', 'InternalError') ORDER BY id LIMIT :rows`,
)
const listEnginesStatement = statement<
  { after: string; rows: number },
  {
    id: string
    organization_id: string
    name: string
    endpoint_url: string
    endpoint_username: string
    endpoint_password: string
  }
>(
  `SELECT id, organization_id, name, endpoint_url, endpoint_username, endpoint_password FROM services
   WHERE id > :after AND endpoint_url IS NOT NULL ORDER BY id LIMIT :rows`,
)

/** Id of the newest activity, if any. */
export async function findNewestActivity(sql: Sql): Promise<string | undefined> {
  return (await sql.first(newestActivityStatement, {}))?.newest ?? undefined
}

export async function countPipesByState(sql: Sql): Promise<Map<PipeState, number>> {
  return new Map((await sql.all(countPipesStatement, {})).map(({ state, count }) => [state, count]))
}

export async function listTroubledPipes(
  sql: Sql,
  rows: number,
): Promise<{ id: string; name: string; state: PipeState }[]> {
  return sql.all(listTroubledStatement, { rows })
}

/** Services with an engine, by id. */
export async function listEngines(
  sql: Sql,
  after: string,
  rows: number,
): Promise<Pick<StoredService, 'id' | 'organizationId' | 'name' | 'endpoint'>[]> {
  return (await sql.all(listEnginesStatement, { after, rows })).map((row) => ({
    id: row.id,
    organizationId: row.organization_id,
    name: row.name,
    endpoint: { url: row.endpoint_url, username: row.endpoint_username, sealedPassword: row.endpoint_password },
  }))
}

/** Journal mode and migrations of a database file, and the SQLite version. */
export function readSqliteFacts({ database }: SqliteConnection): {
  version: string
  journalMode: string
  applied: number[]
} {
  const { version } = database.prepare('SELECT sqlite_version() AS version').get() as { version: string }
  const { journal_mode: journalMode } = database.prepare('PRAGMA journal_mode').get() as { journal_mode: string }
  const tables = database.prepare(`SELECT name FROM sqlite_master WHERE name = 'schema_migrations'`).all()
  const rows = tables.length === 0 ? [] : (database.prepare(selectMigrations).all() as { number: number }[])
  return { version, journalMode, applied: rows.map(({ number }) => number) }
}

const settingNames = [
  'data_checksums',
  'default_transaction_isolation',
  'default_transaction_read_only',
  'fsync',
  'full_page_writes',
  'max_connections',
  'reserved_connections',
  'server_version',
  'server_version_num',
  'superuser_reserved_connections',
  'synchronous_commit',
] as const

export interface PostgresFacts {
  /** Only settings that this version of PostgreSQL has. */
  settings: Partial<Record<(typeof settingNames)[number], string>>
  isStandby: boolean
  /** Connections of all clients, including ours. */
  connections: number
  /** Connections of other Penstock processes to this database. */
  ofPenstock: number
  /** Lower limit of role and database; undefined: only that of the server. */
  connectionLimit: number | undefined
  applied: number[]
}

export async function readPostgresFacts(client: pg.Client): Promise<PostgresFacts> {
  const { rows: settings } = await client.query<{ name: string; setting: string }>(
    'SELECT name, setting FROM pg_settings WHERE name = ANY($1)',
    [settingNames],
  )
  const { rows } = await client.query(
    `SELECT pg_is_in_recovery() AS is_standby,
       (SELECT count(*) FROM pg_stat_activity WHERE datid IS NOT NULL) AS connections,
       (SELECT count(*) FROM pg_stat_activity WHERE application_name = 'penstock' AND datname = current_database()
          AND pid <> pg_backend_pid()) AS of_penstock,
       (SELECT rolconnlimit FROM pg_roles WHERE rolname = current_user) AS role_limit,
       (SELECT datconnlimit FROM pg_database WHERE datname = current_database()) AS database_limit,
       to_regclass('schema_migrations') IS NOT NULL AS has_tables`,
  )
  const { is_standby, connections, of_penstock, role_limit, database_limit, has_tables } = rows[0]
  const limits = [role_limit, database_limit].filter((limit: number) => limit >= 0)
  const applied = has_tables ? (await client.query(selectMigrations)).rows : []
  return {
    settings: Object.fromEntries(settings.map(({ name, setting }) => [name, setting])),
    isStandby: is_standby,
    connections,
    ofPenstock: of_penstock,
    connectionLimit: limits.length === 0 ? undefined : Math.min(...limits),
    applied: applied.map(({ number }: { number: number }) => number),
  }
}

/** Time of the server in milliseconds since 1970. */
export async function readPostgresClock(client: pg.Client): Promise<number> {
  const { rows } = await client.query(
    'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::double precision AS now_ms',
  )
  return rows[0].now_ms
}
