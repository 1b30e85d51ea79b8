// Processes of one Penstock, each with its role and port and the settings of deploy/penstock.env. They are killed with SIGKILL
// and restarted as systemd does.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { mainFile, nodeFlags, environment as ownEnvironment } from '../../bin/launch.js'

export type Role = 'api' | 'runner'

export interface RoleProcess {
  name: string
  port: number
  start(): Promise<void>
  kill(): Promise<void>
  /** Standard error since the first start. */
  complaints(): string
}

export interface Place {
  folder: string
  databaseUrl: string
}

const settingsFile = new URL('../../deploy/penstock.env', import.meta.url)
const startTimeoutMs = 60_000
const run = promisify(execFile)

function environmentOf({ folder, databaseUrl }: Place): NodeJS.ProcessEnv {
  return {
    ...readSettings(),
    PATH: process.env.PATH,
    ...ownEnvironment,
    PENSTOCK_DATA: folder,
    DATABASE_URL: databaseUrl,
  }
}

/** Settings of deploy/penstock.env, without comments. */
export function readSettings(): Record<string, string> {
  const lines = readFileSync(settingsFile, 'utf8').split('\n')
  return Object.fromEntries(
    lines.flatMap((line) => {
      const [, name, value] = /^([A-Z_]+)=(.*)$/.exec(line) ?? []
      return name === undefined || value === undefined ? [] : [[name, value]]
    }),
  )
}

export interface Admin {
  organizationId: string
  keyId: string
  keySecret: string
}

export async function setUp(place: Place): Promise<Admin> {
  const names = ['--organization', 'Chaos', '--admin-name', 'Ada', '--admin-email', 'ada@chaos.example']
  const { stdout } = await run(process.execPath, [mainFile, 'init', ...names], { env: environmentOf(place) })
  return readAdmin(stdout)
}

/** Reads the output of `penstock init`. */
export function readAdmin(printed: string): Admin {
  const find = (label: string): string => {
    const found = new RegExp(`^${label}\\s+(\\S+)`, 'm').exec(printed)?.[1]
    if (found === undefined) throw new Error(`penstock init did not print "${label}"`)
    return found
  }
  return { organizationId: find('Organization'), keyId: find('Key id'), keySecret: find('Key secret') }
}

export function makeRoleProcess(place: Place, role: Role, port: number): RoleProcess {
  const name = `${role} at ${port}`
  let child: ChildProcess | undefined
  let complaints = ''
  return {
    name,
    port,
    async start() {
      const started = spawn(process.execPath, [...nodeFlags, mainFile, 'start', '--role', role], {
        env: { ...environmentOf(place), PENSTOCK_PORT: String(port) },
        stdio: ['ignore', 'ignore', 'pipe'],
      })
      child = started
      const earlier = complaints.length
      started.stderr.setEncoding('utf8').on('data', (text: string) => {
        complaints += text
      })
      const deadlineMs = Date.now() + startTimeoutMs
      while (!complaints.slice(earlier).includes('"msg":"listening"')) {
        if (started.exitCode !== null || started.signalCode !== null || Date.now() > deadlineMs) {
          throw new Error(`${name} did not start: ${complaints.slice(earlier)}`)
        }
        await sleep(20)
      }
    },
    async kill() {
      const killed = child
      child = undefined
      if (!killed || killed.exitCode !== null || killed.signalCode !== null) return
      const exited = once(killed, 'exit')
      killed.kill('SIGKILL')
      await exited
    },
    complaints: () => complaints,
  }
}
