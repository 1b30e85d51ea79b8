// One embedded engine for all test files of a run, in a separate process that starts on first use.
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { installLibrary, type LibraryKind, libraryKind } from '../../src/embedded-engine/install.ts'
import { type EngineProcessSettings, engineHost, settingsFile } from '../../src/embedded-engine/settings.ts'
import { findFreePort } from '../../src/lib/free-port.ts'

export interface SharedEngine {
  library: LibraryKind
  url: string
  username: string
  password: string
}

/** The cache folder of `npm start`. */
export const cacheFolder = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'penstock')

/** The library of this machine. `PENSTOCK_TEST_LIBRARY=wasm` runs the tests as on arm64. */
export function testedLibrary(): LibraryKind {
  return process.env.PENSTOCK_TEST_LIBRARY === 'wasm' ? 'wasm' : libraryKind()
}

export interface EngineOnRequest {
  /** Unix socket for loadSharedEngine() in other processes. */
  socket: string
  close(): Promise<void>
}

export async function offerEngine(folder: string): Promise<EngineOnRequest> {
  let started: Promise<StartedEngine> | undefined
  const server = createServer((_request, response) => {
    started ??= startEmbeddedProcess(join(folder, 'engine'), testedLibrary())
    started.then(
      ({ engine }) => response.end(JSON.stringify(engine)),
      (error: Error) => response.writeHead(503).end(error.message),
    )
  })
  const socket = join(folder, 'engine.socket')
  await once(server.listen(socket), 'listening')
  const close = async (): Promise<void> => {
    server.closeAllConnections()
    server.close()
    const running = await started?.catch(() => undefined)
    await running?.kill()
  }
  return { socket, close }
}

interface StartedEngine {
  engine: SharedEngine
  kill(): Promise<void>
}

/** Starts it as `npm start` does, in a folder that does not exist yet. */
export async function startEmbeddedProcess(folder: string, library: LibraryKind): Promise<StartedEngine> {
  const settings: EngineProcessSettings = {
    library,
    installedIn: await installLibrary(library, {
      cacheFolder,
      out: process.stdout,
      stopping: AbortSignal.timeout(600_000),
    }),
    port: await findFreePort(),
    accounts: [{ username: 'penstock', password: randomBytes(16).toString('hex') }],
    memoryBytes: 2 ** 31,
  }
  mkdirSync(folder, { mode: 0o700 })
  writeFileSync(join(folder, settingsFile), JSON.stringify(settings), { mode: 0o600 })
  const main = join(import.meta.dirname, '../../src/embedded-engine/main.ts')
  // Ends with the IPC channel, however this process ends.
  const child = spawn(process.execPath, [main, folder], {
    cwd: folder,
    env: { ...process.env, UV_THREADPOOL_SIZE: '16' },
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const [said] = await Promise.race([once(child, 'message'), once(child, 'exit')])
  if (said?.isReady !== true) throw new Error(`the embedded engine did not start: ${JSON.stringify(said)}`)
  // Does not keep the test run alive.
  child.unref()
  child.channel?.unref()
  const [account] = settings.accounts
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  return { engine: { library, url: `http://${engineHost}:${settings.port}`, ...account! }, kill }
}

let loaded: Promise<SharedEngine> | undefined

/** Rejects with the error message if the library cannot be downloaded. */
export function loadSharedEngine(): Promise<SharedEngine> {
  loaded ??= askForEngine()
  return loaded
}

async function askForEngine(): Promise<SharedEngine> {
  const asked = request({ socketPath: process.env.PENSTOCK_TEST_ENGINE!, agent: false }).end()
  const [response] = await once(asked, 'response')
  const answer = await text(response)
  if (response.statusCode !== 200) throw new Error(answer)
  return JSON.parse(answer)
}
