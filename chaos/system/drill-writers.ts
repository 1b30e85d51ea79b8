// Writers of mixed operations who note what was acknowledged to them, and the comparison of that with what is in the database.
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { newId } from '../../src/lib/id.ts'
import { insertMember, insertUser } from '../../src/members/store.ts'
import type { DrillStore } from './drill-store.ts'

const memberCount = 8
const endpointWriters = 4
const callTimeoutMs = 30_000

/** One thing that one writer changes again and again, and what the writer knows of it. */
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
  /** What was refused or not answered since the last acknowledgement: may or may not have been applied. */
  attempted: string[]
}

export interface Books {
  sample: Record<string, string>
  ledgers: Ledger[]
  servicePath: string
  endpoints: Set<string>
  acknowledgedWrites: number
}

export interface Findings {
  /** Acknowledged and not there. */
  lost: string[]
  /** There, and neither acknowledged nor attempted. */
  unexplained: string[]
  /** A change without its activity, or an activity without its change. */
  halfDone: string[]
  damage: string[]
}

/** The status of the answer; undefined when there was none. */
export type Send = (method: string, path: string, body?: object) => Promise<number | undefined>

/** Adds members to the sample organization, for writers to change. */
export async function openBooks(store: DrillStore, sample: Record<string, string>): Promise<Books> {
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

/** What is answered after `end` counts as not answered. */
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

/** The steps of all writers; each step is one write, and tells its status. */
export function makeWriters(books: Books, send: Send): (() => Promise<number | undefined>)[] {
  const changes = books.ledgers.map((ledger) => async () => {
    const { value, body } = ledger.change(ledger.acknowledged)
    ledger.attempted.push(value)
    const status = await send('PATCH', ledger.path, body)
    if (status === 200) {
      books.acknowledgedWrites++
      ledger.acknowledged = value
      ledger.acknowledgedChanges++
      ledger.attempted = []
    }
    return status
  })
  const attach = async () => {
    const id = `vpce-${newId().replaceAll('-', '').slice(0, 17)}`
    const status = await send('POST', `${books.servicePath}/privateEndpoint`, { id, description: id })
    if (status === 200) {
      books.acknowledgedWrites++
      books.endpoints.add(id)
    }
    return status
  }
  return [...changes, ...Array.from({ length: endpointWriters }, () => attach)]
}

/** Until a write is not acknowledged any more, or not before `end`. Resolves to the statuses that ended them. */
export async function writeUntilRefused(
  books: Books,
  url: string,
  end?: AbortSignal,
): Promise<Set<number | undefined>> {
  const { send, close } = makeSend(url, books.sample, end)
  const last = await Promise.all(
    makeWriters(books, send).map(async (step) => {
      let status = await step()
      while (status === 200) status = await step()
      return status
    }),
  )
  close()
  return new Set(last)
}

/** Resolves when so many more have been acknowledged: on a busy machine the first answer takes its time. */
export async function moreAcknowledged(books: Books, count: number): Promise<void> {
  const wanted = books.acknowledgedWrites + count
  const deadlineMs = Date.now() + callTimeoutMs
  while (books.acknowledgedWrites < wanted && Date.now() < deadlineMs) await sleep(5)
}

/** What is in the database counts from now on. */
export async function compare(store: DrillStore, books: Books): Promise<Findings> {
  const findings: Findings = { lost: [], unexplained: [], halfDone: [], damage: await store.findDamage() }
  const activities = new Map<string, number>()
  for (const { target } of await store.all<{ target: string }>('SELECT target FROM activities')) {
    const { id } = JSON.parse(target) as { id: string }
    activities.set(id, (activities.get(id) ?? 0) + 1)
  }
  for (const ledger of books.ledgers) {
    const [row] = await store.all<{ value: string; version: number }>(ledger.select)
    if (!row) {
      findings.lost.push(`${ledger.path} is gone`)
      continue
    }
    compareLedger(ledger, row, activities.get(ledger.id) ?? 0, findings)
  }
  const rows = await store.all<{ id: string }>('SELECT endpoint_id AS id FROM service_private_endpoints')
  const attached = new Set(rows.map(({ id }) => id))
  for (const id of books.endpoints) {
    if (attached.has(id)) continue
    findings.lost.push(`endpoint ${id}`)
    books.endpoints.delete(id)
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
  // The value alone does not tell: a role that was taken back is the one before.
  const missing = acknowledgedChanges - changes
  for (let number = 0; number < missing; number++) findings.lost.push(`a change of ${path}`)
  if (missing <= 0 && value !== acknowledged && !attempted.includes(value)) {
    findings.unexplained.push(`${path} has ${value}; acknowledged was ${acknowledged}`)
  }
  // Every change raises the version by one and records one activity.
  if (activities !== version - 1) findings.halfDone.push(`${path}: ${version - 1} changes, ${activities} activities`)
  Object.assign(ledger, { acknowledged: value, version, acknowledgedChanges: 0, attempted: [] })
}
