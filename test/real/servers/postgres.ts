// PostgreSQL of Debian: a new cluster per start, with TLS and logical replication.
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { globSync } from 'node:fs'
import { chown, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { findFreePort } from '../../../src/lib/free-port.ts'
import { makeCertificates } from '../../sources/certificates.ts'
import type { PostgresServer } from '../../sources/postgres-conformance.ts'
import { debianProgram } from './installed.ts'
import { type Account, makeServerFolder, startServer } from './server-process.ts'

const run = promisify(execFile)
const host = '127.0.0.1'

export async function startDebianPostgres(): Promise<PostgresServer> {
  const binaries = globSync('/usr/lib/postgresql/*/bin').sort().at(-1) ?? '/usr/lib/postgresql/15/bin'
  const program = debianProgram('postgresql', join(binaries, 'postgres'))
  const account = await findAccount()
  const certificates = await makeCertificates()
  const password = randomBytes(16).toString('hex')
  const port = await findFreePort()
  const folder = await makeServerFolder('postgres', account)
  const files = {
    'server.crt': certificates.server.cert,
    'server.key': certificates.server.key,
    password,
    'start.sh': startScript(binaries, port),
  }
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(folder, name), text, { mode: 0o600 })
    if (account) await chown(join(folder, name), account.uid, account.gid)
  }
  const query = async (sql: string, database = 'postgres'): Promise<Record<string, unknown>[]> => {
    const client = new pg.Client({ host, port, user: 'postgres', password, database })
    // Without a listener, a connection lost between two queries would end the process.
    client.on('error', () => undefined)
    try {
      await client.connect()
      return (await client.query(sql)).rows
    } finally {
      await client.end()
    }
  }
  const server = await startServer({
    name: 'PostgreSQL',
    command: ['/bin/sh', '-e', 'start.sh'],
    folder,
    account,
    // Waits for its other processes.
    endSignal: 'QUIT',
    isReady: async () => (await query('SELECT 1')).length === 1,
  })
  const { stdout } = await run(program, ['--version'])
  const version = stdout.match(/\d+\.\d+/)?.[0] ?? ''
  return {
    name: `PostgreSQL ${version} of Debian`,
    version: Number.parseInt(version, 10),
    host,
    port,
    ca: certificates.ca,
    dataDirectory: join(folder, 'data'),
    superuser: { username: 'postgres', password },
    query,
    stop: () => server.stop(),
  }
}

const settings = {
  listen_addresses: host,
  unix_socket_directories: '',
  wal_level: 'logical',
  fsync: 'off',
  ssl: 'on',
}

/** Creates the cluster, and runs the server. */
function startScript(binaries: string, port: number): string {
  const set = Object.entries(settings).map(([name, value]) => `-c ${name}='${value}'`)
  return `
    '${binaries}/initdb' --pgdata data --username=postgres --pwfile=password --auth=scram-sha-256 \\
      --encoding=UTF8 --locale=C --no-sync
    mv server.crt server.key data
    exec '${binaries}/postgres' -D data -p ${port} ${set.join(' ')}`
}

/** PostgreSQL refuses to run as root. */
async function findAccount(): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined
  const entry = (await readFile('/etc/passwd', 'utf8')).match(/^postgres:[^:]*:(\d+):(\d+):/m)
  if (!entry)
    throw new Error(
      'the account "postgres" is missing: run "apt-get install postgresql" or "npm run test:real:install"',
    )
  return { uid: Number(entry[1]), gid: Number(entry[2]) }
}
