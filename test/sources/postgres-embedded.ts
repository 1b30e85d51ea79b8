// The PostgreSQL server from npm, with TLS and logical replication.
import { chown, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { startPostgres } from '../../src/embedded-postgres/postgres-server.ts'
import { makeCertificates } from './certificates.ts'
import type { PostgresServer } from './postgres-world.ts'

export interface EmbeddedPostgres extends PostgresServer {
  restart(): Promise<void>
}

export async function startEmbedded(): Promise<EmbeddedPostgres> {
  const { ca, server: certificate } = await makeCertificates()
  // Small limits, because a test exhausts them.
  const settings = { wal_level: 'logical', max_replication_slots: '6', max_wal_senders: '3' }
  const server = await startPostgres({ settings })
  const dataDirectory = join(server.directory, 'data')
  const { uid, gid } = await stat(dataDirectory)
  for (const [name, text] of [
    ['server.crt', certificate.cert],
    ['server.key', certificate.key],
  ] as const) {
    await writeFile(join(dataDirectory, name), text, { mode: 0o600 })
    await chown(join(dataDirectory, name), uid, gid)
  }
  const query = (sql: string, database = 'postgres') => queryAt(server.url, sql, database)
  await query('ALTER SYSTEM SET ssl = on')
  await query('SELECT pg_reload_conf()')
  while ((await query('SHOW ssl'))[0]!.ssl !== 'on') await sleep(10)
  const [row] = await query(`SELECT current_setting('server_version_num')::int / 10000 AS version`)
  const { username, password } = new URL(server.url)
  return {
    ...{ name: 'embedded', version: Number(row!.version), host: '127.0.0.1', port: server.port, ca },
    superuser: { username, password },
    dataDirectory,
    query,
    stop: () => server.stop(),
    restart: () => server.restart(),
  }
}

/** Returns the rows of the last statement. */
export async function queryAt(serverUrl: string, sql: string, database: string): Promise<Record<string, unknown>[]> {
  const url = new URL(serverUrl)
  url.pathname = encodeURIComponent(database)
  const client = new pg.Client({ connectionString: url.href })
  await client.connect()
  try {
    const results = [(await client.query(sql)) as pg.QueryResult | pg.QueryResult[]].flat()
    return results.at(-1)!.rows
  } finally {
    await client.end()
  }
}
