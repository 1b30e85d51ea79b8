// Penstock as a process that is killed, frozen and restarted on the same data, with an API client.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { mainFile, environment as ownEnvironment } from '../bin/launch.js'
import type { History } from './history.ts'

const run = promisify(execFile)
const startTimeoutMs = 60_000
const callTimeoutMs = 60_000

/** Data that the processes of one installation share. */
export interface Installation {
  folder: string
  /** Undefined: SQLite. */
  databaseUrl: string | undefined
  /** Additional environment variables. */
  environment?: NodeJS.ProcessEnv
}

export interface AdminKey {
  organizationId: string
  keyId: string
  keySecret: string
}

export interface PenstockProcess {
  /** False while it is frozen. */
  readonly isRunning: boolean
  start(): Promise<void>
  /** SIGKILL; resolves when the process has ended. */
  kill(): Promise<void>
  /** Graceful stop. */
  stop(): Promise<void>
  freeze(): void
  thaw(): void
  /** Result of an operation. Rejects on an error response or when the process is gone. */
  call<Result>(method: string, path: string, body?: object): Promise<Result>
  /** Log output since the first start. */
  logged(): string
}

function environmentOf({ folder, databaseUrl, environment }: Installation): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH,
    ...ownEnvironment,
    PENSTOCK_DATA: folder,
    PENSTOCK_MASTER_KEY_FILE: join(folder, 'master-keys.json'),
    PENSTOCK_PORT: '0',
    PENSTOCK_ALLOW_LOOPBACK: 'true',
    PENSTOCK_ALLOW_PLAINTEXT: 'true',
    PENSTOCK_RATE_LIMIT: '100000/1s',
    ...(databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl }),
    ...environment,
  }
}

export async function initialize(installation: Installation): Promise<AdminKey> {
  const names = ['--organization', 'Chaos', '--admin-name', 'Ada', '--admin-email', 'ada@chaos.example']
  const env = environmentOf(installation)
  const { stdout } = await run(process.execPath, [mainFile, 'init', ...names], { env })
  const find = (label: string): string => {
    const found = new RegExp(`^${label}\\s+(\\S+)`, 'm').exec(stdout)?.[1]
    if (found === undefined) throw new Error(`penstock init did not print "${label}"`)
    return found
  }
  return { organizationId: find('Organization'), keyId: find('Key id'), keySecret: find('Key secret') }
}

export function makePenstock(
  installation: Installation,
  key: AdminKey,
  { name, history }: { name: string; history: History },
): PenstockProcess {
  let child: ChildProcess | undefined
  let url = ''
  let log = ''
  let isFrozen = false

  const end = async (signal: 'SIGKILL' | 'SIGTERM'): Promise<void> => {
    const ended = child
    child = undefined
    if (!ended || ended.exitCode !== null || ended.signalCode !== null) return
    const exited = once(ended, 'exit')
    ended.kill(signal)
    history.note(`${name} gets ${signal}`)
    await exited
  }

  return {
    get isRunning() {
      return !isFrozen && child !== undefined && child.exitCode === null && child.signalCode === null
    },
    async start() {
      const started = spawn(process.execPath, [mainFile, 'start'], {
        env: environmentOf(installation),
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      child = started
      let printed = ''
      for (const stream of [started.stdout, started.stderr]) {
        stream.setEncoding('utf8').on('data', (text: string) => {
          printed += text
          log += text
        })
      }
      const deadlineMs = Date.now() + startTimeoutMs
      for (;;) {
        url = /"reason":"(http:\/\/127\.0\.0\.1:\d+)","msg":"listening"/.exec(printed)?.[1] ?? ''
        if (url !== '') break
        if (child !== started) throw new Error(`${name} was killed before it had started`)
        if (started.exitCode !== null || Date.now() > deadlineMs) throw new Error(`${name} did not start: ${printed}`)
        await sleep(10)
      }
      history.note(`${name} runs as ${started.pid}`)
    },
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
    freeze() {
      if (isFrozen) return
      history.note(`${name} is frozen`)
      isFrozen = true
      child?.kill('SIGSTOP')
    },
    thaw() {
      if (!isFrozen) return
      history.note(`${name} is resumed`)
      isFrozen = false
      child?.kill('SIGCONT')
    },
    async call<Result>(method: string, path: string, body?: object): Promise<Result> {
      const response = await fetch(`${url}/v1/organizations/${key.organizationId}${path}`, {
        method,
        headers: {
          authorization: `Basic ${Buffer.from(`${key.keyId}:${key.keySecret}`).toString('base64')}`,
          'content-type': 'application/json',
        },
        signal: AbortSignal.timeout(callTimeoutMs),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
      return (JSON.parse(text) as { result: Result }).result
    },
    logged: () => log,
  }
}
