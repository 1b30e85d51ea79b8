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
const promised = { 'npm ci': 90, 'rows after npm ci': 90, 'rows with a cached engine': 15, 'rows after a restart': 15 }
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

  /** Returns the number of orders once there are more than `ordersBefore`, and rows of the shop. */
  async function startAndReadRows({
    data,
    ordersBefore = 0,
  }: {
    data?: string
    ordersBefore?: number
  } = {}): Promise<number> {
    const sampleFile = join(data ?? join(folder, 'data'), 'sample.env')
    const [program, ...words] = start.split(' ')
    const child = spawn(program!, words, {
      cwd: folder,
      env: { ...environment, ...(data === undefined ? {} : { PENSTOCK_DATA: data }) },
      stdio: ['ignore', 'ignore', 'inherit'],
    })
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
      const { result } = (await response.json()) as { result?: { rows: unknown[]; tables: { rows: number }[] } }
      return result?.rows.length ? result.tables[0]!.rows : 0
    }
    const waitForMore = async (pipe: 'RUNNING_PIPE_ID' | 'SHOP_PIPE_ID', before: number): Promise<number> => {
      for (;;) {
        const count = existsSync(sampleFile) ? await countRows(pipe).catch(() => 0) : 0
        if (count > before) return count
        assert.equal(child.exitCode, null, 'npm start has ended')
        await sleep(100)
      }
    }
    const orders = await waitForMore('RUNNING_PIPE_ID', ordersBefore)
    await waitForMore('SHOP_PIPE_ID', 0)
    return orders
  }

  it('installs', async () => {
    await measure('npm ci', async () => {
      const [program, ...words] = install.split(' ')
      await run(program!, words, { cwd: folder, env: environment })
    })
  })

  let orders: number
  it('starts, and rows of both sample pipes can be read', () =>
    measure('rows after npm ci', async () => {
      orders = await startAndReadRows()
    }))

  it('starts again with all data, and gets more rows', async () => {
    await stop()
    await measure('rows after a restart', async () => {
      await startAndReadRows({ ordersBefore: orders })
    })
  })

  it('starts with a new data folder and the engine of the cache', async () => {
    await stop()
    const data = join(home, 'new-data')
    await measure('rows with a cached engine', async () => {
      orders = await startAndReadRows({ data })
    })
    await stop()
    await startAndReadRows({ data, ordersBefore: orders })
  })
})
