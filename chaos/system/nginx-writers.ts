// Writers who go through a proxy, and send what was not answered again with the same Idempotency-Key until it is. What they do
// cannot be done twice unnoticed: every step makes one activity, and a key that is made twice is there twice.
import { Agent, request } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { newId } from '../../src/lib/id.ts'
import type { Admin } from './nginx-processes.ts'

const writerCount = 8
/** As docs/http.md tells clients. */
const callTimeoutMs = 40_000
const retryAfterMs = 100
const longestRetryMs = 60_000

/** A key that a writer has made, and what was acknowledged about it. */
interface Entry {
  id: string
  name: string
  types: string[]
}

export interface WriterBooks {
  entries: Entry[]
  /** Sentences about answers that no writer should get. */
  refused: string[]
  acknowledgedWrites: number
  /** Requests that were sent again. */
  retries: number
  longestGapMs: number
}

export interface WriterWay {
  url: string
  ca: string
  admin: Admin
}

interface Answer {
  status: number
  text: string
}

/** Until they are told to stop; what they have begun by then is finished. */
export async function writeThroughProxy(way: WriterWay, signal: AbortSignal): Promise<WriterBooks> {
  const books: WriterBooks = { entries: [], refused: [], acknowledgedWrites: 0, retries: 0, longestGapMs: 0 }
  const agent = new Agent({ ca: way.ca, keepAlive: true })
  let lastMs = performance.now()
  const apply = async (method: string, path: string, body?: object): Promise<string | undefined> => {
    const answer = await sendUntilAnswered(way, agent, { method, path, body }, books)
    const nowMs = performance.now()
    books.longestGapMs = Math.max(books.longestGapMs, nowMs - lastMs)
    lastMs = nowMs
    if (answer?.status === 200) {
      books.acknowledgedWrites++
      return answer.text
    }
    books.refused.push(`${method} ${path}: ${answer ? `${answer.status} ${answer.text}` : 'never answered'}`)
    return undefined
  }
  await Promise.all(
    Array.from({ length: writerCount }, async () => {
      for (let number = 0; !signal.aborted; number++) await keepKey(books, apply, { mayDelete: number % 2 === 0 })
    }),
  )
  agent.destroy()
  return books
}

type Apply = (method: string, path: string, body?: object) => Promise<string | undefined>

async function keepKey(books: WriterBooks, apply: Apply, { mayDelete }: { mayDelete: boolean }): Promise<void> {
  const name = newId()
  const made = await apply('POST', '/keys', { name: `${name} new`, roles: ['developer'] })
  if (made === undefined) return
  const { id } = (JSON.parse(made) as { result: { key: { id: string } } }).result.key
  const entry: Entry = { id, name: `${name} new`, types: ['key_created'] }
  books.entries.push(entry)
  if ((await apply('PATCH', `/keys/${id}`, { name })) !== undefined) {
    entry.name = name
    entry.types.push('key_updated')
  }
  if ((await apply('POST', `/keys/${id}/rotate`, {})) !== undefined) entry.types.push('key_rotated')
  if (mayDelete && (await apply('DELETE', `/keys/${id}`)) !== undefined) entry.types.push('key_deleted')
}

interface Call {
  method: string
  path: string
  body: object | undefined
}

async function sendUntilAnswered(
  way: WriterWay,
  agent: Agent,
  call: Call,
  books: WriterBooks,
): Promise<Answer | undefined> {
  const idempotencyKey = newId()
  const deadlineMs = performance.now() + longestRetryMs
  for (;;) {
    const answer = await send(way, agent, call, idempotencyKey)
    if (answer && !mustRepeat(answer)) return answer
    if (performance.now() > deadlineMs) return answer
    books.retries++
    await sleep(retryAfterMs)
  }
}

function mustRepeat({ status, text }: Answer): boolean {
  return status === 503 || (status === 409 && text.includes('"code":"idempotency_key_in_use"'))
}

/** Undefined when no whole answer came. */
function send(way: WriterWay, agent: Agent, call: Call, idempotencyKey: string): Promise<Answer | undefined> {
  const { organizationId, keyId, keySecret } = way.admin
  return new Promise((resolve) => {
    const outgoing = request(`${way.url}/v1/organizations/${organizationId}${call.path}`, {
      agent,
      method: call.method,
      auth: `${keyId}:${keySecret}`,
      timeout: callTimeoutMs,
      headers: {
        accept: 'application/problem+json',
        'idempotency-key': idempotencyKey,
        ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
      },
    })
    outgoing.on('timeout', () => outgoing.destroy())
    outgoing.on('error', () => resolve(undefined))
    outgoing.on('response', (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part
      })
      response.on('error', () => resolve(undefined))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
    })
    outgoing.end(call.body === undefined ? undefined : JSON.stringify(call.body))
  })
}

export interface WriterFindings {
  lost: string[]
  twice: string[]
}

/** Every writer has been answered, so what is there is exactly what was acknowledged. */
export async function compareEntries(databaseUrl: string, books: WriterBooks): Promise<WriterFindings> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    return await compareRows(async (text) => (await client.query(text)).rows, books)
  } finally {
    await client.end()
  }
}

type Query = <Row>(text: string) => Promise<Row[]>

async function compareRows(query: Query, books: WriterBooks): Promise<WriterFindings> {
  const findings: WriterFindings = { lost: [], twice: [] }
  const activities = new Map<string, number>()
  const recorded = await query<{ type: string; target: string }>(
    `SELECT type, target FROM activities WHERE type LIKE 'key\\_%'`,
  )
  for (const { type, target } of recorded) {
    const step = `${(JSON.parse(target) as { id: string }).id} ${type}`
    activities.set(step, (activities.get(step) ?? 0) + 1)
  }
  const rows = await query<{ id: string; name: string }>(`SELECT id, name FROM api_keys WHERE role = 'developer'`)
  const names = new Map(rows.map(({ id, name }) => [id, name]))
  for (const { id, name, types } of books.entries) {
    for (const type of types) {
      const count = activities.get(`${id} ${type}`) ?? 0
      if (count === 0) findings.lost.push(`${type} of ${id}`)
      if (count > 1) findings.twice.push(`${type} of ${id}, ${count} times`)
    }
    const kept = types.includes('key_deleted') ? undefined : name
    if (names.get(id) !== kept) findings.lost.push(`${id} is called ${names.get(id)}, not ${kept}`)
    names.delete(id)
  }
  for (const [id, name] of names) findings.twice.push(`the key ${id}, ${name}, which nobody was told of`)
  return findings
}
