// No way to stop `npm start` leaves a process behind.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync } from 'node:fs'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { listProcesses, removeDataFolder } from './processes.ts'

const root = join(import.meta.dirname, '../..')
const startTimeoutMs = 120_000
/** The promise is 5 s; the rest is for a busy machine. */
const stopTimeoutMs = 10_000

let folder: string
let npm: ChildProcess
let printed: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'penstock-stops-'))
})
afterEach(() => {
  for (const { pid } of listProcesses(folder)) process.kill(pid, 'SIGKILL')
  removeDataFolder(folder)
})

async function startUntil(isReady: () => boolean, environment: NodeJS.ProcessEnv = {}): Promise<void> {
  npm = spawn('npm', ['start'], {
    cwd: root,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, PENSTOCK_DATA: folder, PENSTOCK_PORT: '0', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A separate process group, as a shell creates it.
    detached: true,
  })
  printed = ''
  for (const stream of [npm.stdout!, npm.stderr!]) {
    stream.on('data', (chunk) => {
      printed += chunk
    })
  }
  await until(isReady, startTimeoutMs, () => `did not start: ${printed}`)
}

async function until(isDone: () => boolean, timeoutMs: number, explain: () => string): Promise<void> {
  const deadline = Date.now() + timeoutMs
  while (!isDone()) {
    assert.ok(Date.now() < deadline, explain())
    await sleep(50)
  }
}

const launcher = (): number => listProcesses(folder).find(({ parent }) => parent === npm.pid)!.pid

async function leavesNothing(): Promise<void> {
  const listed = (): string => JSON.stringify(listProcesses(folder), null, 2)
  await until(() => listProcesses(folder).length === 0, stopTimeoutMs, listed)
}

describe('npm start', () => {
  beforeEach(() => startUntil(() => printed.includes('Penstock is running')))

  it('ends with Ctrl+C', async () => {
    process.kill(-npm.pid!, 'SIGINT')
    await leavesNothing()
  })

  it('ends with SIGTERM to npm', async () => {
    process.kill(npm.pid!, 'SIGTERM')
    await leavesNothing()
  })

  it('ends with SIGTERM to the launcher', async () => {
    process.kill(launcher(), 'SIGTERM')
    await leavesNothing()
  })

  it('ends with SIGHUP to npm, which npm does not forward', async () => {
    process.kill(npm.pid!, 'SIGHUP')
    await leavesNothing()
  })

  it('ends when the launcher is killed', async () => {
    process.kill(launcher(), 'SIGKILL')
    await leavesNothing()
  })

  it('ends when npm is killed', async () => {
    process.kill(npm.pid!, 'SIGKILL')
    await leavesNothing()
  })

  it('ends with a message when its data folder is deleted', async () => {
    removeDataFolder(folder)
    const [code] = (await once(npm, 'close')) as [number]
    assert.equal(code, 74)
    assert.match(printed, new RegExp(`the data folder ${folder} was deleted`))
    await leavesNothing()
  })
})

describe('npm start during its first engine download', () => {
  /** Accepts connections without answering. */
  let registry: Server
  let sockets: Socket[]
  let cacheFolder: string
  beforeEach(async () => {
    sockets = []
    registry = createServer((socket) => sockets.push(socket.on('error', () => undefined))).listen(0, '127.0.0.1')
    await once(registry, 'listening')
    cacheFolder = join(folder, 'cache')
    const environment = {
      XDG_CACHE_HOME: cacheFolder,
      npm_config_registry: `http://127.0.0.1:${(registry.address() as AddressInfo).port}/`,
      npm_config_cache: join(folder, 'npm'),
    }
    await startUntil(() => sockets.length > 0 && printed.includes('Fetching ClickHouse'), environment)
    assert.match(
      listProcesses(folder)
        .map(({ command }) => command)
        .join('\n'),
      /npm ci/,
    )
  })
  afterEach(() => {
    for (const socket of sockets) socket.destroy()
    registry.close()
  })

  async function leavesNoDownload(): Promise<void> {
    await leavesNothing()
    assert.deepEqual(readdirSync(join(cacheFolder, 'penstock')), [])
  }

  it('ends with Ctrl+C', async () => {
    process.kill(-npm.pid!, 'SIGINT')
    await leavesNoDownload()
  })

  it('ends with SIGTERM to npm', async () => {
    process.kill(npm.pid!, 'SIGTERM')
    await leavesNoDownload()
  })

  it('ends when the launcher is killed', async () => {
    process.kill(launcher(), 'SIGKILL')
    await leavesNoDownload()
  })
})
