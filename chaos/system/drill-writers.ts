// Writers of mixed operations that record acknowledgements, and their comparison with the database.
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { newId } from '../../src/lib/id.ts'
import { insertMember, insertUser } from '../../src/members/store.ts'
import type { DrillStore } from './drill-store.ts'

const memberCount = 8
const endpointWriters = 4
const callTimeoutMs = 30_000

/** One object that a single writer changes repeatedly, and its expected state. */
interface Ledger {
  id: string
  path: string
  /** Reads the value and its version from the database. */
  select: string
  change(present: string): { value: string; body: object }
  acknowledged: string
  /** At the last comparison. */
  version: number
  /** Since the last comparison. */
  acknowledgedChanges: number
  /** Values of requests that were refused or not answered since the last acknowledgement: they may have been applied. */
  attempted: string[]
}

export interface WriteJournal {
  sample: Record<string, string>
  ledgers: Ledger[]
  servicePath: string
  endpoints: Set<string>
  acknowledgedWrites: number
}

export interface Findings {
  /** Acknowledged but missing. */
  lost: string[]
  /** Present, but neither acknowledged nor attempted. */
  unexplained: string[]
  /** A change without its activity, or an activity without its change. */
  halfDone: string[]
  damage: string[]
}

/** Status of the answer; undefined without an answer. */
export type Send = (method: string, path: string, body?: object) => Promise<number | undefined>

/** Adds members to the sample organization, for the writers to change. */
export async function openJournal(store: DrillStore, sample: Record<string, string>): Promise<WriteJournal> {
  const organizationId = sample.ORGANIZATION_ID!
  const organization = `/v1/organizations/${organizationId}`
  const servicePath = `${organization}/services/${sample.SERVICE_ID}`
  const ledgers: Ledger[] = []
  const open = async (opened: Pick<Ledger, 'id' | 'path' | 'select' | 'change'>): Promise<void> => {
    const [row] = await store.all<{ value: string; version: number }>(opened.select)
    const { value, version } = row!
    ledgers.push({ ...opened, acknowledged: value, version, acknowledgedChanges: 0, attempted: [] })
  }
  for (const id of Array.from({ length: memberCount }, newId)) {
    const now = new Date().toISOString()
    await insertUser(store.sql, { id, name: id, email: `${id}@northwind.example`, now })
    await insertMember(store.sql, { organizationId, userId: id, role: 'developer', now })
    await open({
      id,
      path: `${organization}/members/${id}`,
      select: `SELECT role AS value, version FROM members WHERE user_id = '${id}'`,
      change: (present) => {
        const role = present === 'admin' ? 'developer' : 'admin'
        return { value: role, body: { role } }
      },
    })
  }
  for (const kind of ['KAFKA', 'KINESIS', 'OBJECT_STORAGE', 'POSTGRES']) {
    const id = sample[`${kind}_PIPE_ID`]!
    await open({
      id,
      path: `${servicePath}/pipes/${id}`,
      select: `SELECT name AS value, version FROM pipes WHERE id = '${id}'`,
      change: () => {
        const name = newId()
        return { value: name, body: { name } }
      },
    })
  }
  return { sample, ledgers, servicePath, endpoints: new Set(), acknowledgedWrites: 0 }
}

/** Answers after `end` count as missing. */
export function makeSend(
  url: string,
  sample: Record<string, string>,
  end?: AbortSignal,
): { send: Send; close(): void } {
  const agent = new Agent({ keepAlive: true, maxSockets: 32 })
  const send: Send = (method, path, body) =>
    new Promise((resolve) => {
      const outgoing = request(`${url}${path}`, {
        agent,
        method,
        auth: `${sample.KEY_ID}:${sample.KEY_SECRET}`,
        timeout: callTimeoutMs,
        ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' } }),
      })
      outgoing.on('timeout', () => outgoing.destroy())
      outgoing.on('error', () => resolve(undefined))
      outgoing.on('response', (response) => {
        response.on('error', () => resolve(undefined))
        response.on('end', () => resolve(end?.aborted ? undefined : response.statusCode))
        response.resume()
      })
      outgoing.end(body === undefined ? undefined : JSON.stringify(body))
    })
  return { send, close: () => agent.destroy() }
}

/** One step per writer; each step is one write and returns its status. */
export function makeWriters(journal: WriteJournal, send: Send): (() => Promise<number | undefined>)[] {
  const changes = journal.ledgers.map((ledger) => async () => {
    const { value, body } = ledger.change(ledger.acknowledged)
    ledger.attempted.push(value)
    const status = await send('PATCH', ledger.path, body)
    if (status === 200) {
      journal.acknowledgedWrites++
      ledger.acknowledged = value
      ledger.acknowledgedChanges++
      ledger.attempted = []
    }
    return status
  })
  const attach = async () => {
    const id = `vpce-${newId().replaceAll('-', '').slice(0, 17)}`
    const status = await send('POST', `${journal.servicePath}/privateEndpoint`, { id, description: id })
    if (status === 200) {
      journal.acknowledgedWrites++
      journal.endpoints.add(id)
    }
    return status
  }
  return [...changes, ...Array.from({ length: endpointWriters }, () => attach)]
}

/** Writes until each writer gets an unsuccessful answer, or until `end`. Resolves to the last statuses. */
export async function writeUntilRefused(
  journal: WriteJournal,
  url: string,
  end?: AbortSignal,
): Promise<Set<number | undefined>> {
  const { send, close } = makeSend(url, journal.sample, end)
  const last = await Promise.all(
    makeWriters(journal, send).map(async (step) => {
      let status = await step()
      while (status === 200) status = await step()
      return status
    }),
  )
  close()
  return new Set(last)
}

/** Resolves after this many further acknowledgements: on a busy machine the first answer takes long. */
export async function moreAcknowledged(journal: WriteJournal, count: number): Promise<void> {
  const wanted = journal.acknowledgedWrites + count
  const deadlineMs = Date.now() + callTimeoutMs
  while (journal.acknowledgedWrites < wanted && Date.now() < deadlineMs) await sleep(5)
}

/** Compares, and takes the database as the new baseline. */
export async function compare(store: DrillStore, journal: WriteJournal): Promise<Findings> {
  const findings: Findings = { lost: [], unexplained: [], halfDone: [], damage: await store.findDamage() }
  const activities = new Map<string, number>()
  for (const { target } of await store.all<{ target: string }>('SELECT target FROM activities')) {
    const { id } = JSON.parse(target) as { id: string }
    activities.set(id, (activities.get(id) ?? 0) + 1)
  }
  for (const ledger of journal.ledgers) {
    const [row] = await store.all<{ value: string; version: number }>(ledger.select)
    if (!row) {
      findings.lost.push(`${ledger.path} is gone`)
      continue
    }
    compareLedger(ledger, row, activities.get(ledger.id) ?? 0, findings)
  }
  const rows = await store.all<{ id: string }>('SELECT endpoint_id AS id FROM service_private_endpoints')
  const attached = new Set(rows.map(({ id }) => id))
  for (const id of journal.endpoints) {
    if (attached.has(id)) continue
    findings.lost.push(`endpoint ${id}`)
    journal.endpoints.delete(id)
  }
  for (const id of attached) {
    if (activities.get(id) !== 1) findings.halfDone.push(`endpoint ${id} has ${activities.get(id) ?? 0} activities`)
  }
  return findings
}

function compareLedger(
  ledger: Ledger,
  { value, version }: { value: string; version: number },
  activities: number,
  findings: Findings,
): void {
  const changes = version - ledger.version
  const { path, acknowledgedChanges, acknowledged, attempted } = ledger
  // The value alone is not enough: a role may have been changed and changed back.
  const missing = acknowledgedChanges - changes
  for (let number = 0; number < missing; number++) findings.lost.push(`a change of ${path}`)
  if (missing <= 0 && value !== acknowledged && !attempted.includes(value)) {
    findings.unexplained.push(`${path} has ${value}; acknowledged was ${acknowledged}`)
  }
  // Every change increments the version and records one activity.
  if (activities !== version - 1) findings.halfDone.push(`${path}: ${version - 1} changes, ${activities} activities`)
  Object.assign(ledger, { acknowledged: value, version, acknowledgedChanges: 0, attempted: [] })
}
