// The try-it mode with its embedded engine: rows flow after one command, and the engine may crash at any time.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { mainFile, environment as ownEnvironment } from '../../bin/launch.js'
import { listProcesses, removeDataFolder } from './processes.ts'

const timeoutMs = 120_000
const kills = 10
const rowsPerFile = 2_000
const mostFiles = 700

describe('npm start with the embedded engine', () => {
  let folder: string
  /** Shop cluster of a deleted data folder. */
  let leftShop: string
  let child: ChildProcess
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'penstock-try-'))
    leftShop = mkdtempSync('/tmp/penstock-shop-')
    writeFileSync(join(leftShop, 'owner'), '/nowhere')
    utimesSync(join(leftShop, 'owner'), new Date(0), new Date(0))
    await start()
  })
  after(async () => {
    await stop()
    removeDataFolder(folder)
    rmSync(leftShop, { recursive: true, force: true })
  })

  async function stop(): Promise<void> {
    child.kill('SIGTERM')
    await once(child, 'exit')
    await until(async () => listProcesses(folder).length === 0)
  }

  async function start(): Promise<void> {
    child = spawn(process.execPath, [mainFile, 'try'], {
      env: {
        PATH: process.env.PATH,
        HOME: process.env.HOME,
        ...ownEnvironment,
        PENSTOCK_DATA: folder,
        PENSTOCK_PORT: '0',
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let printed = ''
    child.stdout!.on('data', (chunk) => {
      printed += chunk
    })
    await until(async () => {
      assert.equal(child.exitCode, null, printed)
      return printed.includes('Update a data pipe')
    })
  }

  const sample = (): Record<string, string> =>
    Object.fromEntries(
      readFileSync(join(folder, 'sample.env'), 'utf8')
        .trim()
        .split('\n')
        .map((line) => line.split(/=(.*)/s).slice(0, 2)),
    )

  async function query(text: string): Promise<string> {
    const { username, password, origin } = new URL(sample().ENGINE_URL!)
    const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
    const response = await fetch(origin, { method: 'POST', headers: { authorization }, body: text })
    if (!response.ok) throw new Error(await response.text())
    return (await response.text()).trim()
  }
  const countOrders = async (): Promise<number> => Number(await query('SELECT count() FROM orders').catch(() => '0'))

  async function request(path: string, init: RequestInit = {}): Promise<Response> {
    const { BASE_URL, ORGANIZATION_ID, KEY_ID, KEY_SECRET } = sample()
    const authorization = `Basic ${Buffer.from(`${KEY_ID}:${KEY_SECRET}`).toString('base64')}`
    const headers = { authorization, 'content-type': 'application/json' }
    return fetch(`${BASE_URL}/v1/organizations/${ORGANIZATION_ID}/${path}`, { ...init, headers })
  }

  async function get(path: string): Promise<Record<string, unknown>> {
    return ((await (await request(path)).json()) as { result: Record<string, unknown> }).result
  }

  const enginePid = (): number | undefined =>
    listProcesses(folder).find(({ command }) => command.includes('embedded-engine/main'))?.pid

  it('rows flow, and no pipe has errors', async () => {
    await until(async () => (await countOrders()) > 0)
    await nothingIsRed()
    // Only root has shops outside of their data folders.
    assert.equal(existsSync(leftShop), process.getuid!() !== 0)
  })

  async function nothingIsRed(): Promise<void> {
    const { SERVICE_ID } = sample()
    await until(async () => (await get(`services/${SERVICE_ID}`)).state === 'running')
    const pipes = (await get(`services/${SERVICE_ID}/pipes`)) as unknown as { name: string; state: string }[]
    for (const { name, state } of pipes)
      assert.match(state, /^(?:Provisioning|Setup|Snapshot|Running|Stopped|Paused)$/, name)
  }

  it('the shop is replicated: its orders arrive, and are deleted', async () => {
    const newest = (): Promise<string> => query('SELECT max(ordered_at) FROM shop_orders').catch(() => '')
    await until(async () => (await newest()) !== '')
    const before = await newest()
    await until(async () => (await newest()) > before)
    const countCustomers = () => query('SELECT count() FROM shop_customers FINAL').catch(() => '')
    await until(async () => (await countCustomers()) === '40')
    const { SERVICE_ID, SHOP_PIPE_ID } = sample()
    await until(async () => (await get(`services/${SERVICE_ID}/pipes/${SHOP_PIPE_ID}`)).state === 'Running')
  })

  it('the engine requires a password, and its secrets are readable by this user only', async () => {
    const { origin } = new URL(sample().ENGINE_URL!)
    for (const headers of [{}, { 'x-clickhouse-user': 'penstock', 'x-clickhouse-key': 'wrong' }]) {
      const response = await fetch(`${origin}/?query=SELECT+1`, { headers })
      assert.equal(response.status, 403)
      assert.equal(response.headers.get('x-clickhouse-exception-code'), '516')
    }
    assert.equal(await (await fetch(`${origin}/ping`)).text(), 'Ok.\n')
    assert.equal(statSync(join(folder, 'engine')).mode & 0o777, 0o700)
    assert.equal(statSync(join(folder, 'engine/engine.json')).mode & 0o777, 0o600)
  })

  it(`restarts after ${kills} kills during inserts: no row is lost or duplicated`, async () => {
    const { SERVICE_ID, RUNNING_PIPE_ID } = sample()
    const settings = { object_storage_polling_interval_ms: 100 }
    assert.equal(
      (
        await request(`services/${SERVICE_ID}/pipes/${RUNNING_PIPE_ID}`, {
          method: 'PATCH',
          body: JSON.stringify({ settings }),
        })
      ).status,
      200,
    )
    const load = startLoad()
    let loaded = 0
    for (let round = 0; round < kills; round++) {
      const pid = enginePid()
      assert.ok(pid, 'the engine runs')
      // The engine has the rows of an insert in a file while it works on them.
      await until(async () => readdirSync(join(folder, 'engine/rows')).length > 0, 1)
      loaded = await countOrders()
      await sleep(Math.random() * 30)
      process.kill(pid, 'SIGKILL')
      await until(async () => enginePid() !== undefined && enginePid() !== pid && (await countOrders()) > loaded)
    }
    load.stop()
    assert.ok(load.files() > 50, `${load.files()} files`)
    // As many rows as the lines of all files, duplicates included.
    const found = () => query('SELECT count(), sum(order_id), sum(order_id * order_id % 1000003) FROM orders')
    await until(async () => (await found()) === sumsOfFiles())
    await sleep(3_000)
    await until(async () => (await found()) === sumsOfFiles())
    const log = readFileSync(join(folder, 'engine/engine.log'), 'utf8')
    assert.equal(log.match(/The engine ended: SIGKILL/g)?.length, kills)
  })

  /** Adds ten files per second with 2,000 rows each, of which every tenth row and every fifth file is duplicated. */
  function startLoad() {
    let count = 0
    const timer = setInterval(() => {
      // The sample removes the oldest files above this number.
      if (count === mostFiles) return
      const number = Math.floor(count / 5) * 4 + Math.min(count % 5, 3)
      const rows = Array.from({ length: rowsPerFile }, (_, index) => {
        const row = number * rowsPerFile + index - (index % 10 === 9 ? 1 : 0)
        return `{"order_id":${row},"ordered_at":"2099-01-01 00:00:00","product":"kettle","country":"NO","amount":1.5}\n`
      })
      const name = `${new Date().toISOString().replaceAll(/[:.]/g, '-')}-load.json`
      writeFileSync(join(folder, 'sample-files', `.${name}`), rows.join(''))
      renameSync(join(folder, 'sample-files', `.${name}`), join(folder, 'sample-files', name))
      count++
    }, 100)
    return { stop: () => clearInterval(timer), files: () => count }
  }

  /** Sums over the files, in the form of the query on the table. */
  function sumsOfFiles(): string {
    const files = readdirSync(join(folder, 'sample-files')).filter((name) => /^[\w-]+\.json$/.test(name))
    let [rows, sum, squares] = [0n, 0n, 0n]
    for (const file of files) {
      for (const [, id] of readFileSync(join(folder, 'sample-files', file), 'utf8').matchAll(/"order_id":(\d+)/g)) {
        rows++
        sum += BigInt(id!)
        squares += ((BigInt(id!) * BigInt(id!)) % 2n ** 64n) % 1000003n
      }
    }
    return `${rows}\t${sum % 2n ** 64n}\t${squares}`
  }

  it('the copy equals the shop, also after its PostgreSQL was killed', async () => {
    const { SERVICE_ID, SHOP_PIPE_ID } = sample()
    const postmaster = Number(readFileSync(join(shop().directory, 'data/postmaster.pid'), 'utf8').split('\n')[0])
    process.kill(postmaster, 'SIGKILL')
    const states = new Set<string>()
    const newest = (): Promise<string> => query('SELECT max(ordered_at) FROM shop_orders')
    const before = await newest()
    await until(async () => {
      states.add((await get(`services/${SERVICE_ID}/pipes/${SHOP_PIPE_ID}`)).state as string)
      return (await newest()) > before
    })
    assert.ok(!states.has('Failed') && !states.has('InternalError'), [...states].join())
    await copyIsComplete()
  })

  const shop = (): { directory: string; port: number; password: string } =>
    JSON.parse(readFileSync(join(folder, 'shop.json'), 'utf8'))

  /** The shop must not change during this. */
  async function copyIsComplete(): Promise<void> {
    const { port, password } = shop()
    const client = new pg.Client({ host: '127.0.0.1', port, user: 'penstock', password, database: 'shop' })
    await client.connect()
    try {
      await client.query('BEGIN; LOCK TABLE orders, customers IN EXCLUSIVE MODE')
      for (const [table, columns] of [
        ['orders', 'id, customer_id, product, amount, status'],
        ['customers', 'id, name, country, orders'],
      ]) {
        const { rows } = await client.query({ text: `SELECT ${columns} FROM ${table} ORDER BY id`, rowMode: 'array' })
        const expected = rows.map((row) => row.join('\t')).join('\n')
        const copied = `SELECT ${columns} FROM shop_${table} FINAL WHERE _penstock_deleted = 0 ORDER BY id`
        const settings = 'SETTINGS output_format_decimal_trailing_zeros = 1'
        await until(async () => (await query(`${copied} ${settings}`)) === expected)
      }
    } finally {
      await client.end()
    }
  }

  it('has its rows after a restart, and is ready immediately', async () => {
    const before = await countOrders()
    await stop()
    await start()
    assert.ok((await countOrders()) >= before)
    await copyIsComplete()
  })

  it('starts when other programs use its ports', async () => {
    const ports = [Number(new URL(sample().ENGINE_URL!).port), shop().port]
    await stop()
    const others = ports.map((port) => createServer().listen(port, '127.0.0.1'))
    await Promise.all(others.map((other) => once(other, 'listening')))
    try {
      await start()
      assert.ok(!ports.includes(Number(new URL(sample().ENGINE_URL!).port)))
      assert.ok(!ports.includes(shop().port))
      const before = await countOrders()
      await until(async () => (await countOrders()) > before)
      await copyIsComplete()
      await nothingIsRed()
    } finally {
      for (const other of others) other.close()
    }
  })

  async function until(isDone: () => Promise<boolean>, everyMs = 100): Promise<void> {
    const deadlineMs = Date.now() + timeoutMs
    while (!(await isDone())) {
      assert.ok(Date.now() < deadlineMs, `not within ${timeoutMs} ms`)
      await sleep(everyMs)
    }
  }
})
