// Clients of two API processes who send what was not answered again with the same Idempotency-Key, to either of them, until it
// is; some hang up early on purpose. A role that is changed twice is two versions on, a key that is made twice is there twice.
import { randomUUID } from 'node:crypto'
import { Agent } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../random.ts'
import { callApi } from './drill-api.ts'
import type { DrillOrganization } from './drill-organizations.ts'
import type { DrillStore } from './drill-store.ts'

const keyMakers = 8
const retryAfterMs = 100
const hangUpShare = 0.1
const longestRetryMs = 60_000

interface RoleLedger {
  memberId: string
  acknowledgedChanges: number
  role: string
}

export interface RestartBooks {
  organization: DrillOrganization
  roles: RoleLedger[]
  /** Names of keys. */
  made: Set<string>
  /** Sentences about answers that no client should get. */
  refused: string[]
  acknowledgedWrites: number
  retries: number
  /** The longest that one write took, with all its attempts. */
  longestGapMs: number
}

export function openRestartBooks(organization: DrillOrganization): RestartBooks {
  const roles = organization.memberIds.map((memberId) => ({ memberId, acknowledgedChanges: 0, role: 'developer' }))
  return { organization, roles, made: new Set(), refused: [], acknowledgedWrites: 0, retries: 0, longestGapMs: 0 }
}

/** Until the signal; what has been begun by then is finished. */
export async function writeThroughRestarts(
  books: RestartBooks,
  urls: () => string[],
  random: Random,
  signal: AbortSignal,
): Promise<void> {
  const agent = new Agent({ keepAlive: true })
  const { path } = books.organization
  const write = (method: string, to: string, body: object) =>
    writeUntilAnswered(books, urls, { method, path: `${path}${to}`, body }, random, agent)
  const changeRoles = books.roles.map(async (ledger) => {
    while (!signal.aborted) {
      const role = ledger.role === 'admin' ? 'developer' : 'admin'
      if (!(await write('PATCH', `/members/${ledger.memberId}`, { role }))) continue
      ledger.role = role
      ledger.acknowledgedChanges++
    }
  })
  const makeKeys = Array.from({ length: keyMakers }, async () => {
    while (!signal.aborted) {
      const name = randomUUID()
      if (await write('POST', '/keys', { name, roles: ['developer'] })) books.made.add(name)
    }
  })
  await Promise.all([...changeRoles, ...makeKeys])
  agent.destroy()
}

async function writeUntilAnswered(
  books: RestartBooks,
  urls: () => string[],
  call: { method: string; path: string; body: object },
  random: Random,
  agent: Agent,
): Promise<boolean> {
  const headers = { 'idempotency-key': randomUUID() }
  const begunAtMs = performance.now()
  for (let attempt = random.below(2); ; attempt++) {
    const known = urls()
    // An answer that nobody waits for has often been made already: only the key keeps the next attempt from doing it again.
    const early = random.happens(hangUpShare) ? { givesUpAfterMs: random.between(1, 30) } : {}
    const url = known[attempt % known.length]!
    const { status, code, text } = await callApi(url, books.organization.key, { ...call, headers, ...early }, agent)
    const tookMs = performance.now() - begunAtMs
    if (status === 200) {
      books.acknowledgedWrites++
      books.longestGapMs = Math.max(books.longestGapMs, tookMs)
      return true
    }
    const mayComeAgain = status === 0 || status === 503 || code === 'idempotency_key_in_use'
    if (!mayComeAgain || tookMs > longestRetryMs) {
      books.refused.push(`${call.method} ${call.path}: ${status} ${code} ${text.slice(0, 300)}`)
      return false
    }
    books.retries++
    await sleep(retryAfterMs)
  }
}

export interface RestartFindings {
  lost: string[]
  twice: string[]
  /** A change without its activity, or an activity without its change. */
  halfDone: string[]
}

/** When nobody writes any more, every write has either been acknowledged or refused. */
export async function compareRestartBooks(store: DrillStore, books: RestartBooks): Promise<RestartFindings> {
  const findings: RestartFindings = { lost: [], twice: [], halfDone: [] }
  const { organizationId } = books.organization.key
  const ofOrganization = `WHERE organization_id = '${organizationId}'`
  const judge = (what: string, wanted: number, there: number, activities: number): void => {
    if (there < wanted) findings.lost.push(`${what}: ${wanted} acknowledged, ${there} there`)
    if (there > wanted) findings.twice.push(`${what}: ${wanted} acknowledged, ${there} there`)
    if (there !== activities) findings.halfDone.push(`${what}: ${there} changes, ${activities} activities`)
  }
  const activities = await countBy(
    store,
    `SELECT target::json ->> 'id' AS name, count(*)::int AS count FROM activities ${ofOrganization} GROUP BY 1`,
  )
  const versions = await countBy(store, `SELECT user_id AS name, version - 1 AS count FROM members ${ofOrganization}`)
  for (const { memberId, acknowledgedChanges } of books.roles) {
    const there = versions.get(memberId) ?? 0
    judge(`the role of ${memberId}`, acknowledgedChanges, there, activities.get(memberId) ?? 0)
  }
  const keys = await store.all<{ id: string; name: string }>(
    `SELECT id, name FROM api_keys ${ofOrganization} AND role = 'developer'`,
  )
  const counts = new Map<string, number>()
  for (const { id, name } of keys) {
    counts.set(name, (counts.get(name) ?? 0) + 1)
    if (activities.get(id) !== 1) findings.halfDone.push(`key ${id} has ${activities.get(id) ?? 0} activities`)
  }
  for (const name of books.made) judge(`key ${name}`, 1, counts.get(name) ?? 0, counts.get(name) ?? 0)
  return findings
}

async function countBy(store: DrillStore, text: string): Promise<Map<string, number>> {
  const rows = await store.all<{ name: string; count: number }>(text)
  return new Map(rows.map(({ name, count }) => [name, count]))
}
