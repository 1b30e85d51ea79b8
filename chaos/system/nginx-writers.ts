// Writers behind a proxy that retry unanswered requests with the same Idempotency-Key. Duplicates are visible: every step records
// one activity, and a key that is created twice exists twice.
import { Agent, request } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { newId } from '../../src/lib/id.ts'
import type { Admin } from './nginx-processes.ts'

const writerCount = 8
/** As docs/how-to/call-the-api.md recommends to clients. */
const callTimeoutMs = 40_000
const retryAfterMs = 100
const longestRetryMs = 60_000

/** A key that a writer has created, and its acknowledged state. */
interface Entry {
  id: string
  name: string
  types: string[]
}

export interface WriterJournal {
  entries: Entry[]
  /** Unexpected answers. */
  refused: string[]
  acknowledgedWrites: number
  /** Number of repeated requests. */
  retries: number
  longestGapMs: number
}

export interface ProxyTarget {
  url: string
  ca: string
  admin: Admin
}

interface Answer {
  status: number
  text: string
}

/** Writes until the signal; requests in progress are completed. */
export async function writeThroughProxy(target: ProxyTarget, signal: AbortSignal): Promise<WriterJournal> {
  const journal: WriterJournal = { entries: [], refused: [], acknowledgedWrites: 0, retries: 0, longestGapMs: 0 }
  const agent = new Agent({ ca: target.ca, keepAlive: true })
  let lastMs = performance.now()
  const apply = async (method: string, path: string, body?: object): Promise<string | undefined> => {
    const answer = await sendUntilAnswered(target, agent, { method, path, body }, journal)
    const nowMs = performance.now()
    journal.longestGapMs = Math.max(journal.longestGapMs, nowMs - lastMs)
    lastMs = nowMs
    if (answer?.status === 200) {
      journal.acknowledgedWrites++
      return answer.text
    }
    journal.refused.push(`${method} ${path}: ${answer ? `${answer.status} ${answer.text}` : 'never answered'}`)
    return undefined
  }
  await Promise.all(
    Array.from({ length: writerCount }, async () => {
      for (let number = 0; !signal.aborted; number++) await keepKey(journal, apply, { mayDelete: number % 2 === 0 })
    }),
  )
  agent.destroy()
  return journal
}

type Apply = (method: string, path: string, body?: object) => Promise<string | undefined>

async function keepKey(journal: WriterJournal, apply: Apply, { mayDelete }: { mayDelete: boolean }): Promise<void> {
  const name = newId()
  const made = await apply('POST', '/keys', { name: `${name} new`, roles: ['developer'] })
  if (made === undefined) return
  const { id } = (JSON.parse(made) as { result: { key: { id: string } } }).result.key
  const entry: Entry = { id, name: `${name} new`, types: ['key_created'] }
  journal.entries.push(entry)
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
  target: ProxyTarget,
  agent: Agent,
  call: Call,
  journal: WriterJournal,
): Promise<Answer | undefined> {
  const idempotencyKey = newId()
  const deadlineMs = performance.now() + longestRetryMs
  for (;;) {
    const answer = await send(target, agent, call, idempotencyKey)
    if (answer && !mustRepeat(answer)) return answer
    if (performance.now() > deadlineMs) return answer
    journal.retries++
    await sleep(retryAfterMs)
  }
}

function mustRepeat({ status, text }: Answer): boolean {
  return status === 503 || (status === 409 && text.includes('"code":"idempotency_key_in_use"'))
}

/** Undefined without a complete answer. */
function send(target: ProxyTarget, agent: Agent, call: Call, idempotencyKey: string): Promise<Answer | undefined> {
  const { organizationId, keyId, keySecret } = target.admin
  return new Promise((resolve) => {
    const outgoing = request(`${target.url}/v1/organizations/${organizationId}${call.path}`, {
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

/** Every request was answered, so the database must have exactly the acknowledged state. */
export async function compareEntries(databaseUrl: string, journal: WriterJournal): Promise<WriterFindings> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    return await compareRows(async (text) => (await client.query(text)).rows, journal)
  } finally {
    await client.end()
  }
}

type Query = <Row>(text: string) => Promise<Row[]>

async function compareRows(query: Query, journal: WriterJournal): Promise<WriterFindings> {
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
  for (const { id, name, types } of journal.entries) {
    for (const type of types) {
      const count = activities.get(`${id} ${type}`) ?? 0
      if (count === 0) findings.lost.push(`${type} of ${id}`)
      if (count > 1) findings.twice.push(`${type} of ${id}, ${count} times`)
    }
    const kept = types.includes('key_deleted') ? undefined : name
    if (names.get(id) !== kept) findings.lost.push(`${id} is called ${names.get(id)}, not ${kept}`)
    names.delete(id)
  }
  for (const [id, name] of names) findings.twice.push(`the key ${id}, ${name}, whose creation was not acknowledged`)
  return findings
}
