// Clients of all kinds at the moment of a shutdown: with connections that they keep, with a new one for each request, at rest for
// a while, and with bodies that take their time. Every answer but the expected one is noted, and so is every missing one.
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../random.ts'
import { type Answer, callApi } from './drill-api.ts'
import type { DrillOrganization } from './drill-organizations.ts'
import type { DrillStore } from './drill-store.ts'

const readers = 8
const slowBodyMs = 300
/**
 * Penstock hangs up on whoever asks nothing for half a second while it stops (src/http/drain.ts). Everybody here asks more often,
 * unless the machine keeps this process from it.
 */
const longestStallMs = 300
const beatMs = 20
const stallIsOverMs = 1_000
/**
 * Penstock gives up on a database that takes five seconds and more (src/database/postgres.ts), and for another second does not ask
 * again. What it says then has nothing to do with the stop: a request that a stop had cut off would be answered at once.
 */
const databaseTookMs = 4_900
const databaseIsAwayMs = 1_000

interface Ledger {
  memberId: string
  role: string
  changes: number
}

export interface ShutdownBooks {
  organization: DrillOrganization
  ledgers: Ledger[]
  answers: number
  refusedConnections: number
  /** New connections that the kernel had made and Penstock not yet taken when it stopped listening. */
  resetBeforeTaken: number
  /** When this process could not run for too long. */
  stalledAtMs: number
  /** On connections that were at rest for too long, because this process was. */
  hungUpAtRest: number
  /** When a request was last given up on, because the database did not answer. */
  gaveUpAtMs: number
  /** The database kept them waiting for too long. */
  timedOutInDatabase: number
  /** Sentences about requests that were not answered as they should have been. */
  dropped: string[]
}

const never = Number.NEGATIVE_INFINITY

export function openShutdownBooks(organization: DrillOrganization): ShutdownBooks {
  const [, ...members] = organization.memberIds
  const ledgers = members.map((memberId) => ({ memberId, role: 'developer', changes: 0 }))
  const counts = { answers: 0, refusedConnections: 0, resetBeforeTaken: 0, hungUpAtRest: 0, timedOutInDatabase: 0 }
  return { organization, ledgers, ...counts, stalledAtMs: never, gaveUpAtMs: never, dropped: [] }
}

type Send = (method: string, path: string, body?: object) => Promise<Answer>

export async function sendThroughShutdowns(
  books: ShutdownBooks,
  url: string,
  random: Random,
  signal: AbortSignal,
): Promise<void> {
  const { key, path } = books.organization
  const agents: Agent[] = []
  // Penstock says so as soon as it has read the headers: from then on the request is its own.
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
      if (note(books, 'PATCH', answer, begunAtMs)) {
        ledger.role = role
        ledger.changes++
      } else if (answer.status === 0) await sleep(20)
      if (restMs > 0) await sleep(random.below(restMs))
    })
  const clients = books.ledgers.map((ledger, index) => {
    if (index % 4 === 0) return change(ledger, (...call) => sendSlowly(url, key, ...call), 0)
    return change(ledger, sendWith(index % 4 !== 1), index % 4 === 3 ? 100 : 0)
  })
  const readMembers = Array.from({ length: readers }, () => {
    const send = sendWith(true)
    return until(async () => {
      const begunAtMs = performance.now()
      if (!note(books, 'GET', await send('GET', `${path}/members`), begunAtMs)) await sleep(20)
    })
  })
  let beatAtMs = performance.now()
  const beat = setInterval(() => {
    const nowMs = performance.now()
    if (nowMs - beatAtMs > longestStallMs) books.stalledAtMs = nowMs
    beatAtMs = nowMs
  }, beatMs)
  await Promise.all([...clients, ...readMembers])
  clearInterval(beat)
  for (const agent of agents) agent.destroy()
}

/** Whether it was done. */
function note(books: ShutdownBooks, what: string, answer: Answer, begunAtMs: number): boolean {
  const { status, code, wasTaken, hasContinued = true } = answer
  const nowMs = performance.now()
  if (status === 503 && nowMs - begunAtMs > databaseTookMs) books.gaveUpAtMs = nowMs
  if (status === 200) books.answers++
  else if (code === 'ECONNREFUSED') books.refusedConnections++
  else if (wasTaken === false) books.resetBeforeTaken++
  else if (status === 0 && !hasContinued && nowMs - books.stalledAtMs < stallIsOverMs) books.hungUpAtRest++
  else if (status === 503 && nowMs - books.gaveUpAtMs < databaseIsAwayMs) books.timedOutInDatabase++
  else books.dropped.push(`${what}: ${status === 0 ? 'no answer' : status} ${code}`)
  return status === 200
}

/** The header and a part of the body at once, the rest later: taken in, and not complete. */
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

/** Every change raises the version of its member by one. */
export async function compareVersions(store: DrillStore, books: ShutdownBooks): Promise<string[]> {
  const rows = await store.all<{ id: string; changes: number }>(
    `SELECT user_id AS id, version - 1 AS changes FROM members WHERE organization_id = '${books.organization.key.organizationId}'`,
  )
  const there = new Map(rows.map(({ id, changes }) => [id, changes]))
  return books.ledgers.flatMap(({ memberId, changes }) => {
    const found = there.get(memberId) ?? 0
    return found < changes ? [`member ${memberId}: ${changes} changes acknowledged, ${found} there`] : []
  })
}
