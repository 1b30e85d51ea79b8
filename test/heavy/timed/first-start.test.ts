// The steps of a new user: clone, run the first command of the README, and read rows of the sample pipes. Runs alone because it
// is measured. The engine is downloaded; npm uses its cache.
import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { findFreePort } from '../../../src/lib/free-port.ts'
import { root } from '../../run/test-run.ts'

const run = promisify(execFile)

/** Promises in seconds for two idle cores. */
const promised = { 'npm ci': 90, 'rows after npm ci': 90, 'rows after a restart': 15 }
const networkSettings = /^(npm_config_\w+|NODE_EXTRA_CA_CERTS|(https?|no)_proxy)$/i
/** Factor for a busy machine. */
const leniency = 3

describe('the first command of the README', () => {
  let home: string
  let folder: string
  let environment: NodeJS.ProcessEnv
  let install: string
  let start: string
  let running: ChildProcess | undefined
  before(async () => {
    home = mkdtempSync(join(tmpdir(), 'penstock-first-start-'))
    folder = join(home, 'checkout')
    await run('git', ['clone', '--quiet', root, folder])
    const readme = readFileSync(join(folder, 'README.md'), 'utf8')
    const block = /^## Try it$[\s\S]*?^```\w*\n(.*?)^```$/ms.exec(readme)![1]!
    ;[install, start] = block.trim().split(' && ') as [string, string]
    environment = {
      // Registry, proxy and trusted certificates as configured by the user.
      ...Object.fromEntries(Object.entries(process.env).filter(([name]) => networkSettings.test(name))),
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      XDG_CACHE_HOME: join(home, 'cache'),
      TMPDIR: process.env.TMPDIR,
      PENSTOCK_PORT: String(await findFreePort()),
    }
  })
  after(async () => {
    await stop()
    rmSync(home, { recursive: true, force: true })
  })

  async function measure(what: keyof typeof promised, work: () => Promise<void>): Promise<void> {
    const startedMs = performance.now()
    await work()
    const seconds = (performance.now() - startedMs) / 1_000
    console.log(`${what}: ${seconds.toFixed(1)} s (promised: ${promised[what]} s)`)
    assert.ok(seconds < leniency * promised[what], what)
  }

  async function stop(): Promise<void> {
    const child = running
    running = undefined
    if (!child || child.exitCode !== null) return
    child.kill('SIGTERM')
    await once(child, 'exit')
  }

  async function startAndReadRows(): Promise<void> {
    const sampleFile = join(folder, 'data/sample.env')
    const [program, ...words] = start.split(' ')
    const child = spawn(program!, words, { cwd: folder, env: environment, stdio: ['ignore', 'ignore', 'inherit'] })
    running = child
    const readSample = (): Record<string, string> =>
      Object.fromEntries(
        readFileSync(sampleFile, 'utf8')
          .trim()
          .split('\n')
          .map((line) => line.split(/=(.*)/s).slice(0, 2)),
      )
    const countRows = async (pipe: 'RUNNING_PIPE_ID' | 'SHOP_PIPE_ID'): Promise<number> => {
      const sample = readSample()
      const path = `/v1/organizations/${sample.ORGANIZATION_ID}/services/${sample.SERVICE_ID}/pipes/${sample[pipe]}/rows`
      const authorization = `Basic ${Buffer.from(`${sample.KEY_ID}:${sample.KEY_SECRET}`).toString('base64')}`
      const response = await fetch(`${sample.BASE_URL}${path}`, { headers: { authorization } })
      const { result } = (await response.json()) as { result?: { rows: unknown[] } }
      return result?.rows.length ?? 0
    }
    for (const pipe of ['RUNNING_PIPE_ID', 'SHOP_PIPE_ID'] as const) {
      while (!existsSync(sampleFile) || (await countRows(pipe).catch(() => 0)) === 0) {
        assert.equal(child.exitCode, null, 'npm start has ended')
        await sleep(100)
      }
    }
  }

  it('installs', async () => {
    await measure('npm ci', async () => {
      const [program, ...words] = install.split(' ')
      await run(program!, words, { cwd: folder, env: environment })
    })
  })

  it('starts, and rows of both sample pipes can be read', () => measure('rows after npm ci', startAndReadRows))

  it('starts again with all data', async () => {
    await stop()
    await measure('rows after a restart', startAndReadRows)
  })
})
