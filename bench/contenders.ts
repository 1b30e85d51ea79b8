// Starts the measured servers. Each contender is a separate process on loopback, from its first use to the end of the benchmark;
// it is idle while another one is measured.
import { existsSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { nodeFlags } from '../bin/launch.js'
import { type PostgresServer, startPostgres } from '../src/embedded-postgres/postgres-server.ts'
import { findFreePort } from '../src/lib/free-port.ts'
import { type Contender, listPath } from './load.ts'
import { cleanEnvironment, end, killAll, type Running, run, start, untilAnswers } from './processes.ts'
import {
  copySqliteStore,
  makePostgresStore,
  makeSqliteStore,
  penstockEnvironment,
  type Size,
  type Store,
} from './stores.ts'

export type ContenderName =
  | 'limit'
  | 'sqlite'
  | 'sqlite-before'
  | 'postgres'
  | 'sqlite-small'
  | 'sqlite-large'
  | 'sqlite-large-hot'
  | 'sqlite-large-deep'
  | 'prism'

export const smallSize: Size = { members: 1_000, pipes: 100 }
export const largeSize: Size = { members: 1_000_000, pipes: 100_000 }

const root = join(import.meta.dirname, '..')

export class Contenders {
  readonly #folder: string
  readonly #flags: string[]
  readonly #against: string | undefined
  readonly #started = new Map<ContenderName, Promise<Contender>>()
  #smallStore: Promise<Store> | undefined
  #postgres: PostgresServer | undefined

  /** `flags` are Node flags for Penstock; `against` is the commit of `sqlite-before`. */
  constructor(folder: string, { flags, against }: { flags: string[]; against: string | undefined }) {
    this.#folder = folder
    this.#flags = flags
    this.#against = against
  }

  get(name: ContenderName): Promise<Contender> {
    const started = this.#started.get(name) ?? this.#start(name)
    this.#started.set(name, started)
    return started
  }

  async endAll(): Promise<void> {
    const started = await Promise.allSettled(this.#started.values())
    await Promise.all(started.map((result) => result.status === 'fulfilled' && end(result.value.running)))
    await this.#postgres?.stop()
  }

  /** Kills immediately, without waiting for pending starts. */
  async abandon(): Promise<void> {
    killAll()
    await this.#postgres?.stop('immediate')
  }

  async #start(name: ContenderName): Promise<Contender> {
    switch (name) {
      case 'limit': {
        const store = copySqliteStore(await this.#small(), this.#path('limit'))
        const port = await findFreePort()
        const args = [join(import.meta.dirname, 'limit-server.ts'), store.folder, String(port)]
        return this.#listening(name, store, port, await start(args, { logFile: this.#path('limit.log') }), '/')
      }
      case 'sqlite':
        return this.#penstock(name, copySqliteStore(await this.#small(), this.#path('sqlite')))
      case 'sqlite-before': {
        const store = copySqliteStore(await this.#small(), this.#path(name))
        return this.#penstock(name, store, await this.#checkedOut())
      }
      // A second process on the small store, with as little history as the process on the large store; the other process of this
      // size serves most cases.
      case 'sqlite-small':
        return this.#penstock(name, copySqliteStore(await this.#small(), this.#path(name)))
      case 'sqlite-large':
        return this.#penstock(name, await makeSqliteStore(this.#path('sqlite-large'), largeSize))
      case 'sqlite-large-hot': {
        const large = await this.get('sqlite-large')
        const { userIds, pipeIds } = large.store
        const store = {
          ...large.store,
          userIds: userIds.slice(0, smallSize.members),
          pipeIds: pipeIds.slice(0, smallSize.pipes),
        }
        return { ...large, name, store }
      }
      case 'sqlite-large-deep': {
        const large = await this.get('sqlite-large')
        return { ...large, name, store: { ...large.store, cursors: await thousandthPages(large) } }
      }
      case 'postgres': {
        this.#postgres = await startPostgres()
        const url = await this.#postgres.createDatabase('bench')
        return this.#penstock(name, await makePostgresStore(this.#path('postgres'), url, smallSize))
      }
      case 'prism':
        return this.#prism()
    }
  }

  /**
   * Clones the commit, with the installed packages. The commit must have the same migrations as this code: older code refuses a
   * newer store.
   */
  async #checkedOut(): Promise<string> {
    const folder = this.#path('before')
    const git = (...args: string[]) => run('git', args, { env: cleanEnvironment(), timeoutMs: 60_000 })
    await git('clone', '--quiet', '--shared', root, folder)
    await git('-C', folder, 'checkout', '--quiet', this.#against!)
    for (const name of ['node_modules', 'dist']) symlinkSync(join(root, name), join(folder, name))
    return folder
  }

  async #penstock(name: ContenderName, store: Store, code = root): Promise<Contender> {
    const port = await findFreePort()
    const environment = { ...penstockEnvironment(store.folder, store.databaseUrl), PENSTOCK_PORT: String(port) }
    const running = await start([...nodeFlags, ...this.#flags, join(code, 'src', 'main.ts'), 'start'], {
      cwd: store.folder,
      env: environment,
      logFile: this.#path(`${name}.log`),
    })
    return this.#listening(name, store, port, running, '/ready')
  }

  async #prism(): Promise<Contender> {
    const prism = await installedPrism()
    const penstock = await this.get('sqlite')
    const document = this.#path('openapi.json')
    writeFileSync(document, await (await fetch(`${penstock.url}/v1`, { signal: AbortSignal.timeout(10_000) })).text())
    const port = await findFreePort()
    const args = [prism, 'mock', '--host', '127.0.0.1', '--port', String(port), document]
    const running = await start(args, { cwd: this.#folder, logFile: this.#path('prism.log') })
    return { ...(await this.#listening('prism', penstock.store, port, running, '/')), keepsData: false }
  }

  async #listening(
    name: ContenderName,
    store: Store,
    port: number,
    running: Running,
    path: string,
  ): Promise<Contender> {
    const url = `http://127.0.0.1:${port}`
    try {
      await untilAnswers(running, url + path)
    } catch (error) {
      await end(running)
      throw error
    }
    return { name, url, running, store, keepsData: true }
  }

  #small(): Promise<Store> {
    this.#smallStore ??= makeSqliteStore(this.#path('small'), smallSize)
    return this.#smallStore
  }

  #path(name: string): string {
    return join(this.#folder, name)
  }
}

/** Cursors after 999 pages of a hundred, reached in mostly larger steps. */
async function thousandthPages({ url, store }: Contender): Promise<Record<string, string>> {
  const cursors: Record<string, string> = {}
  for (const list of ['members', 'pipes'] as const) {
    for (const limit of [...Array<number>(99).fill(1000), ...Array<number>(9).fill(100)]) {
      const response = await fetch(url + listPath({ ...store, cursors }, list, limit), {
        headers: { authorization: store.authorization },
        signal: AbortSignal.timeout(10_000),
      })
      await response.arrayBuffer()
      const next = /<[^>]*[?&]cursor=([^&>]+)/.exec(response.headers.get('link') ?? '')?.[1]
      if (!next) throw new Error(`${list} ended before their thousandth page: ${response.status}`)
      cursors[list] = next
    }
  }
  return cursors
}

/** Without install scripts, which only send statistics. */
async function installedPrism(): Promise<string> {
  const command = join(import.meta.dirname, 'node_modules', '@stoplight', 'prism-cli', 'dist', 'index.js')
  if (!existsSync(command)) {
    await run('npm', ['ci', '--prefix', import.meta.dirname, '--ignore-scripts', '--no-audit', '--no-fund'], {
      env: cleanEnvironment(),
      timeoutMs: 180_000,
    })
  }
  return command
}
