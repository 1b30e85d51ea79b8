// Clients of two API processes that retry unanswered requests with the same Idempotency-Key at either process; some disconnect
// early on purpose. A role changed twice is two versions ahead; a key created twice exists twice.
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

export interface RestartJournal {
  organization: DrillOrganization
  roles: RoleLedger[]
  /** Names of keys. */
  made: Set<string>
  /** Unexpected answers. */
  refused: string[]
  acknowledgedWrites: number
  retries: number
  /** Longest duration of one write, including all attempts. */
  longestGapMs: number
}

export function openRestartJournal(organization: DrillOrganization): RestartJournal {
  const roles = organization.memberIds.map((memberId) => ({ memberId, acknowledgedChanges: 0, role: 'developer' }))
  return { organization, roles, made: new Set(), refused: [], acknowledgedWrites: 0, retries: 0, longestGapMs: 0 }
}

/** Writes until the signal; requests in progress are completed. */
export async function writeThroughRestarts(
  journal: RestartJournal,
  urls: () => string[],
  random: Random,
  signal: AbortSignal,
): Promise<void> {
  const agent = new Agent({ keepAlive: true })
  const { path } = journal.organization
  const write = (method: string, to: string, body: object) =>
    writeUntilAnswered(journal, urls, { method, path: `${path}${to}`, body }, random, agent)
  const changeRoles = journal.roles.map(async (ledger) => {
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
      if (await write('POST', '/keys', { name, roles: ['developer'] })) journal.made.add(name)
    }
  })
  await Promise.all([...changeRoles, ...makeKeys])
  agent.destroy()
}

async function writeUntilAnswered(
  journal: RestartJournal,
  urls: () => string[],
  call: { method: string; path: string; body: object },
  random: Random,
  agent: Agent,
): Promise<boolean> {
  const headers = { 'idempotency-key': randomUUID() }
  const begunAtMs = performance.now()
  for (let attempt = random.below(2); ; attempt++) {
    const known = urls()
    // The request is often executed although the client has left: only the Idempotency-Key prevents a second execution.
    const early = random.happens(hangUpShare) ? { givesUpAfterMs: random.between(1, 30) } : {}
    const url = known[attempt % known.length]!
    const { status, code, text } = await callApi(url, journal.organization.key, { ...call, headers, ...early }, agent)
    const tookMs = performance.now() - begunAtMs
    if (status === 200) {
      journal.acknowledgedWrites++
      journal.longestGapMs = Math.max(journal.longestGapMs, tookMs)
      return true
    }
    const mayComeAgain = status === 0 || status === 503 || code === 'idempotency_key_in_use'
    if (!mayComeAgain || tookMs > longestRetryMs) {
      journal.refused.push(`${call.method} ${call.path}: ${status} ${code} ${text.slice(0, 300)}`)
      return false
    }
    journal.retries++
    await sleep(retryAfterMs)
  }
}

export interface RestartFindings {
  lost: string[]
  twice: string[]
  /** A change without its activity, or an activity without its change. */
  halfDone: string[]
}

/** Call after the writers have stopped: every write was then acknowledged or refused. */
export async function compareRestartJournal(store: DrillStore, journal: RestartJournal): Promise<RestartFindings> {
  const findings: RestartFindings = { lost: [], twice: [], halfDone: [] }
  const { organizationId } = journal.organization.key
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
  for (const { memberId, acknowledgedChanges } of journal.roles) {
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
  for (const name of journal.made) judge(`key ${name}`, 1, counts.get(name) ?? 0, counts.get(name) ?? 0)
  return findings
}

async function countBy(store: DrillStore, text: string): Promise<Map<string, number>> {
  const rows = await store.all<{ name: string; count: number }>(text)
  return new Map(rows.map(({ name, count }) => [name, count]))
}
