// Retention of sample rows in an engine: old rows are removed, in an engine of the user only from a table that the sample
// created.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { mainFile, environment as ownEnvironment } from '../../bin/launch.js'
import { keepSmall } from '../../src/cli/try-engine.ts'
import { readConfig } from '../../src/config.ts'
import { installLibrary, libraryKind } from '../../src/embedded-engine/install.ts'
import { type EngineProcessSettings, settingsFile } from '../../src/embedded-engine/settings.ts'
import { findFreePort } from '../../src/lib/free-port.ts'

const timeoutMs = 60_000
const engineMain = join(import.meta.dirname, '../../src/embedded-engine/main.ts')
const account = { username: 'user', password: 'password' }
const createOrders =
  'CREATE TABLE orders (order_id UInt64, ordered_at DateTime, product String, country String, amount Float64) ' +
  'ORDER BY (ordered_at, order_id)'

describe("rows of the sample on a user's engine", () => {
  let folder: string
  let engine: ChildProcess
  let url: string
  const library = libraryKind()
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'penstock-try-engine-'))
    const port = await findFreePort()
    url = `http://127.0.0.1:${port}`
    const { cacheFolder } = readConfig({}, { logLevel: 'silent' })
    const { signal } = new AbortController()
    const installedIn = await installLibrary(library, { cacheFolder, out: process.stdout, stopping: signal })
    const settings: EngineProcessSettings = { library, installedIn, port, accounts: [account], memoryBytes: 2 ** 30 }
    mkdirSync(join(folder, 'engine'))
    writeFileSync(join(folder, 'engine', settingsFile), JSON.stringify(settings))
    engine = spawn(process.execPath, [engineMain, join(folder, 'engine')], {
      env: { ...process.env, UV_THREADPOOL_SIZE: '16' },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    assert.deepEqual(await once(engine, 'message'), [{ isReady: true }, undefined])
  })
  beforeEach(() => query('DROP TABLE IF EXISTS orders'))
  after(async () => {
    engine.kill('SIGKILL')
    await once(engine, 'exit')
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
  })

  async function query(statement: string): Promise<string> {
    const authorization = `Basic ${Buffer.from(`${account.username}:${account.password}`).toString('base64')}`
    const response = await fetch(url, { method: 'POST', headers: { authorization }, body: statement })
    const text = await response.text()
    assert.ok(response.ok, text)
    return text.trim()
  }

  async function until(isDone: () => Promise<boolean>): Promise<void> {
    const deadlineMs = Date.now() + timeoutMs
    while (!(await isDone())) {
      assert.ok(Date.now() < deadlineMs, `not within ${timeoutMs} ms`)
      await sleep(100)
    }
  }

  it('that are older than a day are removed by the cleanup', async () => {
    const access = { url, ...account }
    const isInMemory = library === 'wasm'
    assert.equal(await keepSmall({ access, isInMemory }), false)
    await query(createOrders)
    await query(
      "INSERT INTO orders SELECT number, now() - INTERVAL number % 3 DAY, 'kettle', 'NO', 1 FROM numbers(300) WHERE number % 3 <> 1",
    )
    assert.equal(await query('SELECT count() FROM orders'), '200')
    assert.equal(await keepSmall({ access, isInMemory }), true)
    await until(async () => (await query('SELECT count() FROM orders')) === '100')
    assert.equal(await query('SELECT count() FROM orders WHERE ordered_at < now() - INTERVAL 1 DAY'), '0')
  })

  it('delay the cleanup at most ten seconds', { timeout: 30_000 }, async () => {
    engine.kill('SIGSTOP')
    try {
      assert.equal(await keepSmall({ access: { url, ...account }, isInMemory: false }), false)
    } finally {
      engine.kill('SIGCONT')
    }
  })

  describe('PENSTOCK_TRY_ENGINE', () => {
    let data: string
    let penstock: ChildProcess | undefined
    beforeEach(() => {
      data = mkdtempSync(join(tmpdir(), 'penstock-try-own-'))
    })
    afterEach(async () => {
      if (penstock?.exitCode === null) {
        penstock.kill('SIGTERM')
        await once(penstock, 'exit')
      }
      rmSync(data, { recursive: true, force: true })
    })

    function start(): void {
      penstock = spawn(process.execPath, [mainFile, 'try'], {
        env: {
          PATH: process.env.PATH,
          HOME: process.env.HOME,
          ...ownEnvironment,
          PENSTOCK_DATA: data,
          PENSTOCK_PORT: '0',
          PENSTOCK_TRY_ENGINE: url.replace('://', `://${account.username}:${account.password}@`),
        },
        stdio: ['ignore', 'ignore', 'inherit'],
      })
    }
    const rows = async () => Number(await query('SELECT count() FROM orders').catch(() => '0'))

    it('keeps its table as small as that of the embedded engine', async () => {
      start()
      await until(async () => (await rows()) > 0)
      await until(async () => /TTL ordered_at \+ toIntervalDay\(1\)/.test(await query('SHOW CREATE TABLE orders')))
    })

    it('removes nothing from an existing table', async () => {
      await query(createOrders)
      await query("INSERT INTO orders SELECT 1, now() - INTERVAL 2 DAY, 'kettle', 'NO', 1")
      start()
      await until(async () => (await rows()) > 1)
      await sleep(5_000)
      assert.doesNotMatch(await query('SHOW CREATE TABLE orders'), /TTL/)
      assert.equal(await query('SELECT count() FROM orders WHERE order_id = 1'), '1')
    })
  })
})
