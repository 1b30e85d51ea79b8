// One measurement: wrk sends requests of one kind for some seconds, then the results are checked against the store.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { cpuSeconds, type Running, residentMegabytes, run } from './processes.ts'
import { readState, type Store, type StoreState } from './stores.ts'

/** A server to measure. */
export interface Contender {
  name: string
  url: string
  running: Running
  /** Contains the ids that the requests name. */
  store: Store
  /** False for a mock, which stores nothing. */
  keepsData: boolean
}

export interface Measurement {
  perSecond: number
  p50Ms: number
  p99Ms: number
  cpuMicrosPerRequest: number
  rssMegabytes: number
}

export interface Operation {
  method: 'GET' | 'PATCH' | 'POST'
  /** Requests to send round robin: a path, the body in odd rounds and the body in even rounds. */
  requests(store: Store, state: StoreState, run: string): [path: string, odd: string, even: string][]
}

const pipePath = (store: Store, id: string): string =>
  `/v1/organizations/${store.organizationId}/services/${store.serviceId}/pipes/${id}`

/** A page of `limit` entries. */
export function listPath(store: Store, list: 'members' | 'pipes', limit = 100): string {
  const parent = `/v1/organizations/${store.organizationId}${list === 'pipes' ? `/services/${store.serviceId}` : ''}`
  const cursor = store.cursors?.[list]
  return `${parent}/${list}?limit=${limit}${cursor ? `&cursor=${cursor}` : ''}`
}

const member = (role: string): string => `{"role":"${role}"}`
const pipe = (run: string, waitMs: number): string =>
  `{"name":"orders ${run} @","settings":{"streaming_max_insert_wait_ms":${waitMs}}}`

export const operations: Record<string, Operation> = {
  'patch-member': {
    method: 'PATCH',
    requests: (store, { admins }) =>
      store.userIds.map((id) => {
        const roles = admins.has(id) ? (['developer', 'admin'] as const) : (['admin', 'developer'] as const)
        return [`/v1/organizations/${store.organizationId}/members/${id}`, member(roles[0]), member(roles[1])]
      }),
  },
  'post-endpoint': {
    method: 'POST',
    requests: (store, _, run) => {
      const path = `/v1/organizations/${store.organizationId}/services/${store.serviceId}/privateEndpoint`
      const body = `{"id":"vpce-${run.padStart(9, '0')}@","description":"Analytics VPC"}`
      return [[path, body, body]]
    },
  },
  'patch-pipe': {
    method: 'PATCH',
    requests: (store, _, run) => store.pipeIds.map((id) => [pipePath(store, id), pipe(run, 1_000), pipe(run, 2_000)]),
  },
  'get-pipe': {
    method: 'GET',
    requests: (store) => store.pipeIds.map((id) => [pipePath(store, id), '', '']),
  },
  'list-members': { method: 'GET', requests: (store) => [[listPath(store, 'members'), '', '']] },
  'list-pipes': { method: 'GET', requests: (store) => [[listPath(store, 'pipes'), '', '']] },
}

let lastRun = 0

export async function measure(
  contender: Contender,
  operation: Operation,
  load: { connections: number; seconds: number },
  folder: string,
): Promise<Measurement> {
  const { connections, seconds } = load
  const { pid } = contender.running
  const before = await stateOf(contender)
  const plan = join(folder, 'plan')
  writeFileSync(plan, planText(contender, operation, before))
  const cpuBefore = cpuSeconds(pid)
  const printed = await run(
    'wrk',
    [
      ...['--threads', '1', '--connections', String(connections), '--duration', `${seconds}s`, '--timeout', '10s'],
      ...['--script', join(import.meta.dirname, 'wrk.lua'), contender.url, '--', plan],
    ],
    { timeoutMs: (seconds + 30) * 1_000 },
  )
  const cpu = cpuSeconds(pid) - cpuBefore
  const counts = JSON.parse(printed.trim().split('\n').at(-1)!)
  const after = await stateOf(contender)

  const where = `${contender.name}, ${connections} connections`
  const { requests, refused, broken } = counts
  if (refused > 0 || broken > 0) throw new Error(`${where}: ${refused} answers with an error, ${broken} without answer`)
  if (requests === 0) throw new Error(`${where}: no request was answered`)
  if (contender.keepsData) {
    // Every answered request must have done its work; requests cut off at the end may have done it too. A connection that is
    // accepted late can be overtaken by the next round of the list: then two requests set an unchanged role.
    const recorded = after.activities - before.activities
    const [least, most] = operation.method === 'GET' ? [0, 0] : [requests - 2 * connections, requests + connections]
    if (recorded < least || recorded > most)
      throw new Error(`${where}: ${requests} requests were answered, but ${recorded} activities were recorded`)
  }
  return {
    perSecond: (requests * 1e6) / counts.micros,
    p50Ms: counts.p50 / 1_000,
    p99Ms: counts.p99 / 1_000,
    cpuMicrosPerRequest: (cpu * 1e6) / requests,
    rssMegabytes: residentMegabytes(pid),
  }
}

/** Sends one request; throws unless the status is 200. */
export async function once(contender: Contender, operation: Operation): Promise<Record<string, unknown>> {
  const [path, odd] = operation.requests(contender.store, await stateOf(contender), String(++lastRun))[0]!
  const response = await fetch(contender.url + path, {
    method: operation.method,
    headers: { authorization: contender.store.authorization, 'content-type': 'application/json' },
    ...(odd ? { body: odd.replace('@', '00000000') } : {}),
    signal: AbortSignal.timeout(10_000),
  })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${contender.name} answered ${response.status} to ${path}: ${text}`)
  return JSON.parse(text)
}

function planText(contender: Contender, operation: Operation, state: StoreState): string {
  const { host } = new URL(contender.url)
  const lines = [
    operation.method,
    `Host: ${host}`,
    `Authorization: ${contender.store.authorization}`,
    'User-Agent: wrk',
  ]
  if (operation.method !== 'GET') lines.push('Content-Type: application/json')
  lines.push('')
  const requests = operation.requests(contender.store, state, (++lastRun).toString(16))
  for (const parts of requests) lines.push(parts.join('\t'))
  return `${lines.join('\n')}\n`
}

/** Waits until nothing is written any more: interrupted requests may still be running. */
function stateOf(contender: Contender): Promise<StoreState> {
  if (!contender.keepsData) return Promise.resolve({ admins: new Set(), activities: 0 })
  return settledState({
    readState: () => readState(contender.store),
    countUnderWay: () => countUnderWay(contender),
    everyMs: 250,
    limitMs: 60_000,
  })
}

interface Settling {
  readState(): Promise<StoreState>
  countUnderWay(): Promise<number>
  everyMs: number
  limitMs: number
}

/** Reads until two readings are equal while no request runs: equal readings alone may mean a stall. Rejects after the limit. */
export async function settledState({ readState, countUnderWay, everyMs, limitMs }: Settling): Promise<StoreState> {
  const untilMs = performance.now() + limitMs
  for (let before = await readState(); ; ) {
    await sleep(everyMs)
    const underWay = await countUnderWay()
    const now = await readState()
    if (underWay === 0 && now.activities === before.activities) return now
    if (performance.now() > untilMs) {
      throw new Error(`after ${limitMs} ms, ${underWay} interrupted requests are still running`)
    }
    before = now
  }
}

/** Requests that the server counts as running. Older code has no such metric: then only the readings count. */
async function countUnderWay({ url }: Contender): Promise<number> {
  const response = await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(10_000) })
  return Number(/^penstock_http_requests_under_way (\d+)$/m.exec(await response.text())?.[1] ?? 0)
}
