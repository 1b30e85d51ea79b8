// `penstock start` as a separate process whose port the next process takes over, and a client that reports exactly how a call was
// answered or failed.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type Agent, request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { mainFile, environment as ownEnvironment } from '../../bin/launch.js'
import type { AdminKey, Installation } from '../penstock-process.ts'
import { mutation, NotStarted } from './drill-process.ts'

const startTimeoutMs = 60_000

export interface ApiOptions {
  /** Default: any free port. */
  port?: number
  /** Flags of Node. */
  flags?: string[]
  /** A mutant of test/run/mutants.ts. */
  mutant?: string
}

export interface Api {
  readonly url: string
  readonly port: number
  readonly pid: number
  /** The exit code; null after a signal. */
  readonly ended: Promise<number | null>
  kill(): Promise<void>
  /** Graceful stop. Resolves to the exit code. */
  stop(): Promise<number | null>
  /** Standard output and standard error. */
  printed(): string
}

export async function startApi(installation: Installation, options: ApiOptions = {}): Promise<Api> {
  const { folder, databaseUrl, environment } = installation
  const child = spawn(process.execPath, [...(options.flags ?? []), ...mutation(options.mutant), mainFile, 'start'], {
    env: {
      PATH: process.env.PATH,
      ...ownEnvironment,
      PENSTOCK_DATA: folder,
      PENSTOCK_MASTER_KEY_FILE: join(folder, 'master-keys.json'),
      PENSTOCK_PORT: String(options.port ?? 0),
      ...(databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl }),
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(child, 'exit').then(([code]) => code as number | null)
  const end = (signal: NodeJS.Signals) => {
    child.kill(signal)
    return ended
  }
  let printed = ''
  let url: string | undefined
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      printed += text
      url ??= /"reason":"(http:\/\/\S+?)","msg":"listening"/.exec(printed)?.[1]
    })
  }
  const deadlineMs = Date.now() + startTimeoutMs
  while (url === undefined) {
    const hasEnded = child.exitCode !== null || child.signalCode !== null
    if (hasEnded || Date.now() > deadlineMs) throw new NotStarted(await end('SIGKILL'), printed)
    await sleep(5)
  }
  return {
    url,
    port: Number(new URL(url).port),
    pid: child.pid!,
    ended,
    kill: async () => void (await end('SIGKILL')),
    stop: () => end('SIGTERM'),
    printed: () => printed,
  }
}

/** Retries the start, as a supervisor does while the database is unavailable or the port is in use. */
export async function startApiInTheEnd(installation: Installation, options: ApiOptions): Promise<Api> {
  const deadlineMs = Date.now() + startTimeoutMs
  for (;;) {
    try {
      return await startApi(installation, options)
    } catch (error) {
      if (!(error instanceof NotStarted) || Date.now() > deadlineMs) throw error
      await sleep(200)
    }
  }
}

export interface Call {
  method: string
  path: string
  body?: object
  headers?: Record<string, string>
  /** The client closes the connection after this time. */
  givesUpAfterMs?: number
}

/** `status` 0 means no answer; `code` is then the code of the connection error, otherwise the `code` of an error response. */
export interface Answer {
  status: number
  code: string
  headers: Record<string, string | string[] | undefined>
  text: string
  /** Set without an answer: false when Penstock may never have received the request, on a new connection. */
  wasTaken?: boolean
  /** Set without an answer: Penstock has sent 100 Continue. */
  hasContinued?: boolean
}

const callTimeoutMs = 30_000

/** Never rejects. */
export function callApi(url: string, key: AdminKey, call: Call, agent?: Agent): Promise<Answer> {
  return new Promise((resolve) => {
    let hasContinued = false
    const none = ({ code = 'unknown' }: NodeJS.ErrnoException) =>
      resolve({ status: 0, code, wasTaken: hasContinued || outgoing.reusedSocket, hasContinued, headers: {}, text: '' })
    const outgoing = request(`${url}${call.path}`, {
      ...(agent ? { agent } : {}),
      method: call.method,
      auth: `${key.keyId}:${key.keySecret}`,
      headers: {
        accept: 'application/problem+json, application/json',
        ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...call.headers,
      },
    })
    const tooLate = setTimeout(() => outgoing.destroy(), call.givesUpAfterMs ?? callTimeoutMs)
    outgoing.on('close', () => clearTimeout(tooLate))
    outgoing.on('error', none)
    // Sent only for `Expect: 100-continue`.
    outgoing.on('continue', () => {
      hasContinued = true
    })
    outgoing.on('response', (response) => {
      const { statusCode = 0, headers } = response
      let text = ''
      response.on('error', none)
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk
      })
      response.on('end', () => resolve({ status: statusCode, code: problemCode(statusCode, text), headers, text }))
    })
    outgoing.end(call.body === undefined ? undefined : JSON.stringify(call.body))
  })
}

function problemCode(status: number, text: string): string {
  return status < 400 ? '' : (/"code":"(\w+)"/.exec(text)?.[1] ?? '')
}
