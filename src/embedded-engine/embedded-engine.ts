// ClickHouse of Penstock's try-it mode, in a process of its own: restarted when it dies, and ended with this process by its closed
// channel.
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, renameSync, statSync, writeSync } from 'node:fs'
import { totalmem } from 'node:os'
import { extname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findFreePort } from '../lib/free-port.ts'
import { keepRunning, type RunningServer } from '../lib/keep-running.ts'
import { writePrivateFile } from '../lib/private-file.ts'
import { StartError } from '../lib/start-error.ts'
import { installLibrary, libraryKind } from './install.ts'
import { type EngineProcessSettings, engineHost, settingsFile } from './settings.ts'

export interface EmbeddedEngine {
  /** Changes after `onMoved`. */
  readonly url: string
  username: string
  password: string
  /** Whether its tables are lost when it ends. */
  isInMemory: boolean
}

export interface EmbeddedEngineOptions {
  folder: string
  /** Shared by all data folders; has the library. */
  cacheFolder: string
  /** Environment variables of its process. */
  environment: NodeJS.ProcessEnv
  /** For the progress of the first start. */
  out: NodeJS.WriteStream
  onRestart(): void
  /** It was restarted on another port, because another program uses its own. */
  onMoved(): void
  /** Aborted when this process is to end. */
  stopping: AbortSignal
}

const username = 'penstock'
const startTimeoutMs = 60_000
const retryMs = 200
/** An engine whose Penstock was just killed may still hold its port. */
const portTimeoutMs = 2_000
/** Statements run in threads of libuv's pool; several may wait for the disk. */
const threads = 16
/** A longer log is renamed at the next start of the engine. */
const longestLogBytes = 2 ** 20

/** Whether the try-it mode has run an engine in this folder before. */
export function hasEmbeddedEngine(folder: string): boolean {
  return existsSync(join(folder, settingsFile))
}

/** Resolves when it answers. It keeps its port unless another program uses it. */
export async function startEmbeddedEngine(options: EmbeddedEngineOptions): Promise<EmbeddedEngine> {
  const library = libraryKind()
  const installedIn = await installLibrary(library, options)
  const settings = await completeSettings(options.folder, { library, installedIn })
  const engine = new EngineProcess(options, settings)
  const first = await engine.start()
  const restart = async (): Promise<RunningServer> => {
    const { port } = settings
    const running = await engine.start()
    if (settings.port !== port) options.onMoved()
    return running
  }
  void keepRunning(first, { onEnd: options.onRestart, restart })
  const [account] = settings.accounts
  return {
    get url() {
      return `http://${engineHost}:${settings.port}`
    },
    username,
    password: account!.password,
    isInMemory: library === 'wasm',
  }
}

/** Port and password stay the same: the sample service has them. */
async function completeSettings(
  folder: string,
  current: Pick<EngineProcessSettings, 'library' | 'installedIn'>,
): Promise<EngineProcessSettings> {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const file = join(folder, settingsFile)
  const before: EngineProcessSettings = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined
  return {
    ...current,
    port: before?.port ?? (await findFreePort()),
    accounts: before?.accounts ?? [{ username, password: randomBytes(24).toString('base64url') }],
    memoryBytes: memoryLimit(),
  }
}

/** A quarter of the machine's memory, within what the engine can work with and what a sample needs. */
function memoryLimit(): number {
  const available = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY)
  return Math.round(Math.min(Math.max(available / 4, 2 ** 29), 2 ** 31))
}

class EngineProcess {
  readonly #options: EmbeddedEngineOptions
  readonly #settings: EngineProcessSettings

  constructor(options: EmbeddedEngineOptions, settings: EngineProcessSettings) {
    this.#options = options
    this.#settings = settings
  }

  async start(): Promise<RunningServer> {
    const startedMs = performance.now()
    // An engine whose Penstock was just killed may still hold its port and its tables.
    while (true) {
      const { folder, out, stopping } = this.#options
      stopping.throwIfAborted()
      writePrivateFile(join(folder, settingsFile), `${JSON.stringify(this.#settings, null, 2)}\n`, 'replace')
      const { failure, ended } = await this.#spawn()
      if (failure === undefined) return { ended }
      const elapsedMs = performance.now() - startedMs
      if (failure === 'EADDRINUSE' && elapsedMs > portTimeoutMs) {
        const { port } = this.#settings
        this.#settings.port = await findFreePort()
        out.write(`Port ${port} is used by another program: ClickHouse now listens on ${this.#settings.port}.\n`)
      } else if (failure === 'timeout' || elapsedMs > startTimeoutMs) {
        throw new StartError(
          `The embedded ClickHouse did not start (${failure}). Its output is in ${folder}/engine.log.`,
        )
      } else await sleep(retryMs)
    }
  }

  async #spawn(): Promise<{ failure: string | undefined; ended: Promise<unknown> }> {
    const { folder, environment, stopping } = this.#options
    const log = openLog(join(folder, 'engine.log'))
    const main = join(import.meta.dirname, `main${extname(import.meta.filename)}`)
    const child = spawn(process.execPath, [main, folder], {
      cwd: folder,
      env: { ...environment, UV_THREADPOOL_SIZE: String(threads) },
      // Ctrl+C in a terminal would otherwise end the engine before the pipes have stopped.
      detached: true,
      stdio: ['ignore', log, log, 'ipc'],
    })
    const ended = new Promise<void>((resolve) => {
      child.once('exit', (code, signal) => {
        writeSync(log, `${new Date().toISOString()} The engine ended: ${signal ?? `exit ${code}`}\n`)
        closeSync(log)
        resolve()
      })
    })
    const kill = () => child.kill('SIGKILL')
    stopping.addEventListener('abort', kill)
    const failure = await startFailure(child)
    stopping.removeEventListener('abort', kill)
    if (failure !== undefined) kill()
    return { failure, ended }
  }
}

/** Appends, so that the output of an engine that died is kept. */
function openLog(file: string): number {
  const bytes = statSync(file, { throwIfNoEntry: false })?.size ?? 0
  if (bytes > longestLogBytes) renameSync(file, `${file}.1`)
  return openSync(file, 'a', 0o600)
}

/** The first message of the process: undefined when it is ready, otherwise the failure. */
function startFailure(child: ChildProcess): Promise<string | undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve('timeout'), startTimeoutMs)
    const settle = (failure: string | undefined): void => {
      clearTimeout(timer)
      resolve(failure)
    }
    child.once('error', (error) => settle(error.message))
    child.once('exit', (code, signal) => settle(`exit ${code ?? signal}`))
    child.once('message', ({ failed }: { failed?: string }) => settle(failed))
  })
}
