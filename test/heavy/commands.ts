// Penstock and its commands as separate processes that can be killed.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { mainFile, environment as ownEnvironment } from '../../bin/launch.js'
import type { Dialect } from '../../src/database/sql.ts'
import type { DataSettings } from '../../src/installation/stored-data.ts'
import { freshPostgresDatabase } from '../harness/test-app.ts'

/** A new data folder and, for PostgreSQL, a new database; optionally with the master keys of other data. */
export async function newData(folder: string, dialect: Dialect, keysOf?: DataSettings): Promise<DataSettings> {
  mkdirSync(folder, { mode: 0o700 })
  const masterKeyFile = join(folder, 'master-keys.json')
  if (keysOf) copyFileSync(keysOf.masterKeyFile, masterKeyFile)
  const databaseUrl = dialect === 'postgres' ? await freshPostgresDatabase() : undefined
  return { dataFolder: folder, masterKeyFile, databaseUrl }
}

function environmentOf({ dataFolder, databaseUrl }: DataSettings) {
  return {
    PATH: process.env.PATH,
    PENSTOCK_DATA: dataFolder,
    PENSTOCK_PORT: '0',
    PENSTOCK_TRY_ENGINE: 'http://127.0.0.1:8123',
    ...ownEnvironment,
    ...(databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl }),
  }
}

/** Resolves to the output; rejects if the command fails. */
export function runCommand(data: DataSettings, args: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { env: environmentOf(data), timeout: 120_000 }
    execFile(process.execPath, [mainFile, ...args], options, (err, stdout, stderr) => {
      if (err) reject(new Error(`penstock ${args.join(' ')}: ${stderr}`))
      else resolve(stdout)
    })
  })
}

/** Kills the command after a time. Resolves to whether it was still running. */
export async function runAndKill(data: DataSettings, args: string[], afterMs: number): Promise<boolean> {
  const child = spawn(process.execPath, [mainFile, ...args], { env: environmentOf(data), stdio: 'ignore' })
  const exited = once(child, 'exit')
  const ended = await Promise.race([exited.then(() => true), sleep(afterMs, false)])
  child.kill('SIGKILL')
  await exited
  return !ended
}

export interface Serving {
  child: ChildProcess
  sample: Record<string, string>
  /** Answer to a change; undefined when the process has ended. */
  send(
    method: string,
    path: string,
    body: object,
    headers?: Record<string, string>,
  ): Promise<{ status: number; text: string }>
  stop(): Promise<void>
}

/** Starts a Penstock with the sample organization. */
export async function serveSample(data: DataSettings): Promise<Serving> {
  const child = spawn(process.execPath, [mainFile, 'try'], {
    env: environmentOf(data),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const url = await urlOf(child)
  const lines = readFileSync(join(data.dataFolder, 'sample.env'), 'utf8').trim().split('\n')
  const sample = Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)))
  const agent = new Agent({ keepAlive: true, maxSockets: 32 })
  return {
    child,
    sample,
    send: (method, path, body, headers = {}) =>
      new Promise((resolve, reject) => {
        const outgoing = request(`${url}${path}`, {
          agent,
          method,
          auth: `${sample.KEY_ID}:${sample.KEY_SECRET}`,
          headers: { 'content-type': 'application/json', ...headers },
        })
        outgoing.on('error', reject)
        outgoing.on('response', async (response) => {
          let text = ''
          for await (const chunk of response.setEncoding('utf8')) text += chunk
          resolve({ status: response.statusCode!, text })
        })
        outgoing.end(JSON.stringify(body))
      }),
    stop: async () => {
      agent.destroy()
      if (child.exitCode !== null || child.signalCode !== null) return
      const exited = once(child, 'exit')
      child.kill('SIGTERM')
      await exited
    },
  }
}

async function urlOf(child: ChildProcess): Promise<string> {
  let printed = ''
  for await (const chunk of child.stdout!) {
    printed += chunk
    const url = /running at (http:\/\/\S+)/.exec(printed)?.[1]
    if (!url) continue
    child.stdout!.resume()
    return url
  }
  throw new Error(`Penstock did not start: ${printed}`)
}

/** On a busy machine the server still executes a statement of a killed client. */
const unlockTimeoutMs = 60_000

/** PostgreSQL detects a killed client with a delay. */
export async function unlocked<Result>(work: () => Promise<Result>): Promise<Result> {
  const deadlineMs = Date.now() + unlockTimeoutMs
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (Date.now() > deadlineMs || !/at work on this database/.test((error as Error).message)) throw error
      await sleep(100)
    }
  }
}
