// PostgreSQL as a replication source that is killed and restarted on its data.
import { globSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { startPostgres } from '../src/embedded-postgres/postgres-server.ts'
import { debianProgram } from '../test/real/servers/installed.ts'

export interface SourceServer {
  host: string
  port: number
  user: { username: string; password: string }
  /** Returns a connected client; the caller closes it. */
  connect(database: string): Promise<pg.Client>
  createDatabase(name: string): Promise<void>
  /** Also drops the replication slots of the database. */
  dropDatabase(name: string): Promise<void>
  kill(): Promise<void>
  restart(): Promise<void>
  stop(): Promise<void>
  /** Log output so far. */
  logged(): Promise<string>
}

export type SourceName = '15' | '18'

const dropTimeoutMs = 30_000

/** 15 is the version of Debian. */
export async function startSource(name: SourceName): Promise<SourceServer> {
  const server = await startPostgres({
    settings: { wal_level: 'logical', deadlock_timeout: '200ms', max_replication_slots: '20', max_wal_senders: '20' },
    ...(name === '15' ? { programs: dirname(debianPostgres()) } : {}),
  })
  const { username, password } = new URL(server.url)
  const host = '127.0.0.1'
  const { port } = server
  const connect = async (database: string): Promise<pg.Client> => {
    const client = new pg.Client({ host, port, user: username, password, database, connectionTimeoutMillis: 30_000 })
    // Without a listener, a connection lost between two queries would end the process.
    client.on('error', () => undefined)
    await client.connect()
    return client
  }
  const query = async (sql: string): Promise<void> => {
    const client = await connect('postgres')
    await client.query(sql).finally(() => client.end())
  }
  return {
    host,
    port,
    user: { username, password },
    connect,
    createDatabase: (database) => query(`CREATE DATABASE ${database}`),
    async dropDatabase(database) {
      const deadlineMs = Date.now() + dropTimeoutMs
      for (;;) {
        try {
          await query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database}'`)
          await query(
            `SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = '${database}'`,
          )
          await query(`DROP DATABASE ${database} WITH (FORCE)`)
          return
        } catch (error) {
          // On a busy machine, a killed process may hold a replication slot or the database for a while.
          if (Date.now() > deadlineMs) throw error
          await sleep(100)
        }
      }
    },
    async kill() {
      process.kill(server.pid, 'SIGKILL')
    },
    restart: () => server.restart('immediate'),
    stop: () => server.stop(),
    logged: () => readFile(join(server.directory, 'log'), 'utf8'),
  }
}

function debianPostgres(): string {
  return debianProgram('postgresql', ...globSync('/usr/lib/postgresql/*/bin/postgres').sort().reverse())
}
