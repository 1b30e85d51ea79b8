// Clients during a shutdown: with persistent connections, with a new connection per request, with idle periods, and with slow
// bodies. Records every unexpected or missing answer.
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../random.ts'
import { type Answer, callApi } from './drill-api.ts'
import type { DrillOrganization } from './drill-organizations.ts'
import type { DrillStore } from './drill-store.ts'

const readers = 8
const slowBodyMs = 300
/**
 * Penstock closes connections that are idle for half a second while it stops (src/http/drain.ts). The clients send more often,
 * unless this process is stalled.
 */
const longestStallMs = 300
const beatMs = 20
const stallIsOverMs = 1_000
/**
 * Penstock gives up on a database after five seconds (src/database/postgres-connect.ts), and does not query it for another second. Such
 * an error is unrelated to the stop: a request that a stop interrupts would fail at once.
 */
const databaseTookMs = 4_900
const databaseIsAwayMs = 1_000

interface Ledger {
  memberId: string
  role: string
  changes: number
}

export interface ShutdownJournal {
  organization: DrillOrganization
  ledgers: Ledger[]
  answers: number
  refusedConnections: number
  /** New connections in the backlog of the kernel when Penstock stopped listening. */
  resetBeforeTaken: number
  /** Time of the last long stall of this process. */
  stalledAtMs: number
  /** Connections closed because a stall made them idle. */
  hungUpAtRest: number
  /** Time of the last request that failed because the database did not answer. */
  gaveUpAtMs: number
  /** Requests delayed too long by the database. */
  timedOutInDatabase: number
  /** Requests without the expected answer. */
  dropped: string[]
}

const never = Number.NEGATIVE_INFINITY

export function openShutdownJournal(organization: DrillOrganization): ShutdownJournal {
  const [, ...members] = organization.memberIds
  const ledgers = members.map((memberId) => ({ memberId, role: 'developer', changes: 0 }))
  const counts = { answers: 0, refusedConnections: 0, resetBeforeTaken: 0, hungUpAtRest: 0, timedOutInDatabase: 0 }
  return { organization, ledgers, ...counts, stalledAtMs: never, gaveUpAtMs: never, dropped: [] }
}

type Send = (method: string, path: string, body?: object) => Promise<Answer>

export async function sendThroughShutdowns(
  journal: ShutdownJournal,
  url: string,
  random: Random,
  signal: AbortSignal,
): Promise<void> {
  const { key, path } = journal.organization
  const agents: Agent[] = []
  // Penstock sends 100 Continue after reading the headers; from then on it must answer.
  const headers = { expect: '100-continue' }
  const sendWith = (keepsConnections: boolean): Send => {
    const agent = new Agent({ keepAlive: keepsConnections, maxSockets: 1 })
    agents.push(agent)
    return (method, path, body) => callApi(url, key, { method, path, ...(body ? { body } : {}), headers }, agent)
  }
  const until = async (step: () => Promise<void>): Promise<void> => {
    while (!signal.aborted) await step()
  }
  const change = (ledger: Ledger, send: Send, restMs: number) =>
    until(async () => {
      const role = ledger.role === 'admin' ? 'developer' : 'admin'
      const begunAtMs = performance.now()
      const answer = await send('PATCH', `${path}/members/${ledger.memberId}`, { role })
      if (note(journal, 'PATCH', answer, begunAtMs)) {
        ledger.role = role
        ledger.changes++
      } else if (answer.status === 0) await sleep(20)
      if (restMs > 0) await sleep(random.below(restMs))
    })
  const clients = journal.ledgers.map((ledger, index) => {
    if (index % 4 === 0) return change(ledger, (...call) => sendSlowly(url, key, ...call), 0)
    return change(ledger, sendWith(index % 4 !== 1), index % 4 === 3 ? 100 : 0)
  })
  const readMembers = Array.from({ length: readers }, () => {
    const send = sendWith(true)
    return until(async () => {
      const begunAtMs = performance.now()
      if (!note(journal, 'GET', await send('GET', `${path}/members`), begunAtMs)) await sleep(20)
    })
  })
  let beatAtMs = performance.now()
  const beat = setInterval(() => {
    const nowMs = performance.now()
    if (nowMs - beatAtMs > longestStallMs) journal.stalledAtMs = nowMs
    beatAtMs = nowMs
  }, beatMs)
  await Promise.all([...clients, ...readMembers])
  clearInterval(beat)
  for (const agent of agents) agent.destroy()
}

/** Returns whether the request succeeded. */
function note(journal: ShutdownJournal, what: string, answer: Answer, begunAtMs: number): boolean {
  const { status, code, wasTaken, hasContinued = true } = answer
  const nowMs = performance.now()
  if (status === 503 && nowMs - begunAtMs > databaseTookMs) journal.gaveUpAtMs = nowMs
  if (status === 200) journal.answers++
  else if (code === 'ECONNREFUSED') journal.refusedConnections++
  else if (wasTaken === false) journal.resetBeforeTaken++
  else if (status === 0 && !hasContinued && nowMs - journal.stalledAtMs < stallIsOverMs) journal.hungUpAtRest++
  else if (status === 503 && nowMs - journal.gaveUpAtMs < databaseIsAwayMs) journal.timedOutInDatabase++
  else journal.dropped.push(`${what}: ${status === 0 ? 'no answer' : status} ${code}`)
  return status === 200
}

/** Sends the headers and part of the body at once, the rest later: accepted but incomplete. */
function sendSlowly(
  url: string,
  key: DrillOrganization['key'],
  method: string,
  path: string,
  body?: object,
): Promise<Answer> {
  const text = JSON.stringify(body)
  return new Promise((resolve) => {
    const outgoing = request(`${url}${path}`, {
      agent: false,
      method,
      auth: `${key.keyId}:${key.keySecret}`,
      headers: {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(text),
        expect: '100-continue',
      },
    })
    let wasTaken = false
    outgoing.on('continue', () => {
      wasTaken = true
    })
    const none = ({ code = 'unknown' }: NodeJS.ErrnoException) =>
      resolve({ status: 0, code, wasTaken, headers: {}, text: '' })
    outgoing.on('error', none)
    outgoing.on('response', (response) => {
      response.on('error', none)
      response.on('end', () => resolve({ status: response.statusCode ?? 0, code: '', headers: {}, text: '' }))
      response.resume()
    })
    outgoing.write(text.slice(0, 5))
    setTimeout(() => outgoing.end(text.slice(5)), slowBodyMs)
  })
}

/** Every change increments the version of its member. */
export async function compareVersions(store: DrillStore, journal: ShutdownJournal): Promise<string[]> {
  const rows = await store.all<{ id: string; changes: number }>(
    `SELECT user_id AS id, version - 1 AS changes FROM members WHERE organization_id = '${journal.organization.key.organizationId}'`,
  )
  const there = new Map(rows.map(({ id, changes }) => [id, changes]))
  return journal.ledgers.flatMap(({ memberId, changes }) => {
    const found = there.get(memberId) ?? 0
    return found < changes ? [`member ${memberId}: ${changes} changes acknowledged, ${found} there`] : []
  })
}
