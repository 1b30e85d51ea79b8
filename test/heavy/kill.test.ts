// R1: no acknowledged write is lost through kill -9, none is half done, and no change is without its activity.
// 16 writers of mixed operations; the process is killed at a random moment, started again on the same data, and what it
// has is compared with what it had acknowledged.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { SqliteConnection } from '../../src/database/sqlite.ts'
import { newId } from '../../src/lib/id.ts'
import { insertMember, insertUser } from '../../src/members/store.ts'

const kills = 20
const memberWriters = 8
const endpointWriters = 4
const program = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
// What `penstock` itself sets when it runs from source.
const compileCache = fileURLToPath(new URL('../../node_modules/.cache/penstock', import.meta.url))

interface Server {
  child: ChildProcess
  url: string
  readyMs: number
}

/** One thing that one writer changes again and again, and what the writer knows of it. */
interface Ledger {
  id: string
  path: string
  /** Reads the value from the database. */
  select: string
  change(present: string): { value: string; body: object }
  acknowledged: string
  /** Sent and not answered when the process died: may or may not have been applied. */
  attempted: string | undefined
}

it(`R1: ${kills} kills lose nothing that was acknowledged`, { timeout: 240_000 }, async (test) => {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-kill-'))
  test.after(() => rmSync(folder, { recursive: true, force: true }))
  let server = await start(folder)
  test.after(() => server.child.kill('SIGKILL'))
  const sample = readSample(folder)
  const organization = `/v1/organizations/${sample.ORGANIZATION_ID}`
  const service = `${organization}/services/${sample.SERVICE_ID}`

  const ledgers: Ledger[] = []
  for (const id of await addMembers(folder, sample.ORGANIZATION_ID!)) {
    ledgers.push({
      id,
      path: `${organization}/members/${id}`,
      select: `SELECT role AS value FROM members WHERE user_id = '${id}'`,
      change: (present) => {
        const role = present === 'admin' ? 'developer' : 'admin'
        return { value: role, body: { role } }
      },
      acknowledged: 'developer',
      attempted: undefined,
    })
  }
  for (const kind of ['KAFKA', 'KINESIS', 'OBJECT_STORAGE', 'POSTGRES']) {
    const id = sample[`${kind}_PIPE_ID`]!
    const select = `SELECT name AS value FROM pipes WHERE id = '${id}'`
    ledgers.push({
      id,
      path: `${service}/pipes/${id}`,
      select,
      change: () => {
        const name = newId()
        return { value: name, body: { name } }
      },
      acknowledged: inFile(folder, (all) => all<{ value: string }>(select)[0]!.value),
      attempted: undefined,
    })
  }
  const endpoints = new Set<string>()
  let acknowledgedWrites = 0
  const readyMs: number[] = []

  for (let kill = 0; kill < kills; kill++) {
    const agent = new Agent({ keepAlive: true, maxSockets: 32 })
    const send = (method: string, path: string, body: object): Promise<boolean> =>
      call(agent, server.url, sample, method, path, body)
    const writers = ledgers.map((ledger) =>
      untilKilled(async () => {
        const { value, body } = ledger.change(ledger.acknowledged)
        ledger.attempted = value
        if (!(await send('PATCH', ledger.path, body))) return false
        acknowledgedWrites++
        ledger.acknowledged = value
        ledger.attempted = undefined
        return true
      }),
    )
    for (let writer = 0; writer < endpointWriters; writer++) {
      writers.push(
        untilKilled(async () => {
          const id = `vpce-${newId().replaceAll('-', '').slice(0, 17)}`
          if (!(await send('POST', `${service}/privateEndpoint`, { id, description: id }))) return false
          acknowledgedWrites++
          endpoints.add(id)
          return true
        }),
      )
    }
    await sleep(100 + Math.random() * 400)
    server.child.kill('SIGKILL')
    await once(server.child, 'exit')
    await Promise.all(writers)
    agent.destroy()
    server = await start(folder)
    readyMs.push(server.readyMs)
    compare(folder, ledgers, endpoints)
  }

  readyMs.sort((a, b) => a - b)
  const median = readyMs[Math.floor(readyMs.length / 2)]!
  test.diagnostic(`${acknowledgedWrites} acknowledged writes, ${kills} kills, ready again after ${median} ms (median)`)
  assert.ok(acknowledgedWrites > kills * 20, `only ${acknowledgedWrites} writes: the kills met an idle process`)
  assert.ok(median <= 1000, `ready again after ${median} ms (median), not within 1000`)
})

function compare(folder: string, ledgers: Ledger[], endpoints: Set<string>): void {
  inFile(folder, (all) => {
    assert.equal(all<{ integrity_check: string }>('PRAGMA integrity_check')[0]!.integrity_check, 'ok')
    assert.equal(all('PRAGMA foreign_key_check').length, 0)
    const activities = new Map<string, number>()
    for (const { target } of all<{ target: string }>('SELECT target FROM activities')) {
      const { id } = JSON.parse(target) as { id: string }
      activities.set(id, (activities.get(id) ?? 0) + 1)
    }
    const versions = new Map<string, number>()
    for (const { id, version } of all<{ id: string; version: number }>(
      'SELECT user_id AS id, version FROM members UNION ALL SELECT id, version FROM pipes',
    )) {
      versions.set(id, version)
    }
    for (const ledger of ledgers) {
      const { value } = all<{ value: string }>(ledger.select)[0]!
      assert.ok(
        value === ledger.acknowledged || value === ledger.attempted,
        `${ledger.path} has ${value}; acknowledged was ${ledger.acknowledged}`,
      )
      // Every change raises the version by one and records one activity.
      assert.equal(
        activities.get(ledger.id) ?? 0,
        versions.get(ledger.id)! - 1,
        `a change without activity at ${ledger.path}`,
      )
      ledger.acknowledged = value
      ledger.attempted = undefined
    }
    const attached = all<{ endpoint_id: string }>('SELECT endpoint_id FROM service_private_endpoints').map(
      (row) => row.endpoint_id,
    )
    const present = new Set(attached)
    for (const id of endpoints) assert.ok(present.has(id), `the acknowledged endpoint ${id} is lost`)
    for (const id of attached) assert.equal(activities.get(id), 1, `endpoint ${id} without its activity`)
  })
}

async function untilKilled(step: () => Promise<boolean>): Promise<void> {
  while (await step()) {}
}

/** True when the write was acknowledged; false when the process is gone. Any other answer is a failure. */
function call(
  agent: Agent,
  url: string,
  sample: Record<string, string>,
  method: string,
  path: string,
  body: object,
): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const outgoing = request(`${url}${path}`, {
      agent,
      method,
      auth: `${sample.KEY_ID}:${sample.KEY_SECRET}`,
      headers: { 'content-type': 'application/json' },
    })
    outgoing.on('error', () => resolve(false))
    outgoing.on('response', (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        text += chunk
      })
      response.on('error', () => resolve(false))
      response.on('end', () => {
        if (response.statusCode === 200) resolve(true)
        else reject(new Error(`${method} ${path}: ${response.statusCode} ${text}`))
      })
    })
    outgoing.end(JSON.stringify(body))
  })
}

async function start(folder: string): Promise<Server> {
  const startedAt = performance.now()
  const child = spawn(process.execPath, [program, 'try'], {
    env: {
      PATH: process.env.PATH,
      PENSTOCK_DATA: folder,
      PENSTOCK_PORT: '0',
      NODE_COMPILE_CACHE: compileCache,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let printed = ''
  for await (const chunk of child.stdout!) {
    printed += chunk
    const url = /running at (http:\/\/\S+)/.exec(printed)?.[1]
    if (!url) continue
    child.stdout!.resume()
    return { child, url, readyMs: Math.round(performance.now() - startedAt) }
  }
  throw new Error(`Penstock did not start: ${printed}`)
}

function readSample(folder: string): Record<string, string> {
  const lines = readFileSync(join(folder, 'sample.env'), 'utf8').trim().split('\n')
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]))
}

function inFile<Result>(folder: string, look: (all: <Row>(text: string) => Row[]) => Result): Result {
  const connection = new SqliteConnection(join(folder, 'penstock.db'), { readOnly: false })
  try {
    return look(<Row>(text: string) => connection.database.prepare(text).all() as Row[])
  } finally {
    connection.close()
  }
}

async function addMembers(folder: string, organizationId: string): Promise<string[]> {
  const connection = new SqliteConnection(join(folder, 'penstock.db'), { readOnly: false })
  const now = new Date().toISOString()
  const ids = Array.from({ length: memberWriters }, newId)
  for (const id of ids) {
    await insertUser(connection, { id, name: id, email: `${id}@northwind.example`, now })
    await insertMember(connection, { organizationId, userId: id, role: 'developer', now })
  }
  connection.close()
  return ids
}
