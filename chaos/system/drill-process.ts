// Penstock in try-it mode as a separate process that drills start, kill and restart on the same data; optionally under strace,
// which makes system calls fail or delays them.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { mainFile, environment as ownEnvironment } from '../../bin/launch.js'

const startTimeoutMs = 60_000

export interface ServerOptions {
  folder: string
  /** Undefined: SQLite in the folder. */
  databaseUrl?: string
  /** A mutant of test/run/mutants.ts. */
  mutant?: string
  /** Arguments of strace, before the program. */
  strace?: string[]
}

export interface Server {
  child: ChildProcess
  url: string
  readyMs: number
  /** The exit code; null after a signal. */
  ended: Promise<number | null>
  /** Kills the process if it runs, and waits for its end. */
  kill(): Promise<void>
  /** Standard error. */
  complaints(): string
}

/** The process ended before it served requests. */
export class NotStarted extends Error {
  readonly exitCode: number | null

  constructor(exitCode: number | null, printed: string) {
    super(`Penstock did not start (exit code ${exitCode}): ${printed}`)
    this.exitCode = exitCode
  }
}

export async function startServer(options: ServerOptions): Promise<Server> {
  const startedAt = performance.now()
  const [command, ...rest] = [...(options.strace ?? []), process.execPath, ...mutation(options.mutant), mainFile, 'try']
  const child = spawn(command!, rest, {
    env: {
      PATH: process.env.PATH,
      PENSTOCK_DATA: options.folder,
      PENSTOCK_PORT: '0',
      PENSTOCK_TRY_ENGINE: 'http://127.0.0.1:8123',
      ...ownEnvironment,
      ...(options.databaseUrl === undefined ? {} : { DATABASE_URL: options.databaseUrl }),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(child, 'exit').then(([code]) => code as number | null)
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL')
    await ended
  }
  let complaints = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints += text
  })
  const serving = new Promise<string>((resolve) => {
    let printed = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      printed += text
      const url = /running at (http:\/\/\S+)/.exec(printed)?.[1]
      if (url !== undefined) resolve(url)
    })
  })
  const tooLate = setTimeout(() => child.kill('SIGKILL'), startTimeoutMs)
  const url = await Promise.race([serving, ended])
  clearTimeout(tooLate)
  if (typeof url !== 'string') throw new NotStarted(url, complaints)
  const readyMs = Math.round(performance.now() - startedAt)
  return { child, url, readyMs, ended, kill, complaints: () => complaints }
}

/** Ids and keys of the sample organization, by their names in sample.env. */
export function readSample(folder: string): Record<string, string> {
  const lines = readFileSync(join(folder, 'sample.env'), 'utf8').trim().split('\n')
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]))
}

/** Node flags that load a mutant. Not an environment variable: Penstock rejects unknown settings. */
export function mutation(name = process.env.PENSTOCK_TEST_MUTANT): string[] {
  if (name === undefined) return []
  const loader = new URL('../../test/run/mutate.ts', import.meta.url).href
  const script = `
    process.env.PENSTOCK_TEST_MUTANT = ${JSON.stringify(name)}
    await import(${JSON.stringify(loader)})
    delete process.env.PENSTOCK_TEST_MUTANT`
  return [`--import=data:text/javascript,${encodeURIComponent(script)}`]
}
