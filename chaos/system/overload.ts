// R14: clients request ten times more than Penstock can handle and have up to 16,000 requests outstanding; then all of them
// disconnect. Penstock answers only with 2xx, 429 or 503, serves all connections, keeps its memory bounded, and recovers within
// five seconds.
import { setTimeout as sleep } from 'node:timers/promises'
import { startPostgres } from '../../src/embedded-postgres/postgres-server.ts'
import { inRounds, type SystemDrill, type SystemResult } from './drill.ts'
import { type Api, callApi, startApi } from './drill-api.ts'
import { type DrillOrganization, setUpOrganizations } from './drill-organizations.ts'
import { mixedRequests, mostMemoryDuring, residentMegabytes, sendLoad } from './overload-load.ts'

const times = 10
const capacitySeconds = 3
/** As many as can share a commit: with fewer, the drill would measure the disk. */
const capacityConnections = 256
const overloadConnections = 500
const mostUnanswered = 32
/** Includes the SQLite page caches of two connections, up to 256 MB each, whatever the number of clients. */
const mostMegabytes = 768
const longestRecoveryMs = 5_000
/** Recovered: an answer within this time, or within three times the time before the load. */
const wellMs = 250

type OverloadOptions = Parameters<SystemDrill['run']>[0]

const promise =
  'at ten times its capacity it answers only 2xx, 429 and 503, needs at most 768 MB, and recovers within 5 s'
const sizes = { ci: 30, full: 300, unit: 'seconds' }

export const overloadOfSqlite: SystemDrill = {
  id: 'R14',
  promise: `${promise}, on SQLite`,
  ...sizes,
  run: (options) => overload(options),
}

export const overloadOfPostgres: SystemDrill = {
  id: 'R14-postgres',
  promise: `${promise}, on PostgreSQL`,
  ...sizes,
  async run(options) {
    const postgres = await startPostgres()
    try {
      return await overload(options, await postgres.createDatabase('penstock'))
    } finally {
      await postgres.stop()
    }
  },
}

async function overload({ size, folder }: OverloadOptions, databaseUrl?: string): Promise<SystemResult> {
  const installation = { folder, databaseUrl }
  const roles = ['admin' as const, ...Array<'developer'>(20).fill('developer')]
  const [organization] = await setUpOrganizations(installation, { count: 1, roles })
  const { complaints, tooSlow, measurements, printed, rounds } = await inRounds(async () => {
    const api = await startApi(installation)
    try {
      return await overloadApi(api, organization!, size)
    } finally {
      await api.kill()
    }
  })
  const toLookAt = [...complaints, ...tooSlow]
  return {
    isKept: toLookAt.length === 0,
    measurements: { ...measurements, rounds },
    ...(toLookAt.length === 0 ? {} : { toLookAt: `${toLookAt.join('; ')}; ${printed.slice(-500)}` }),
  }
}

interface Overloaded {
  complaints: string[]
  /** Violations that a busy machine can cause. */
  tooSlow: string[]
  isOnlySlow: boolean
  measurements: Record<string, number>
  printed: string
}

async function overloadApi(api: Api, organization: DrillOrganization, seconds: number): Promise<Overloaded> {
  const requests = mixedRequests(organization)
  const { port, pid } = api
  const before = await sendLoad({ port, requests, connections: capacityConnections, seconds: capacitySeconds })
  const capacity = Math.round((before.statuses['200'] ?? 0) / capacitySeconds)
  const usualMs = Math.max(...(await timeProbes(api, organization, 5)))
  const megabytesBefore = residentMegabytes(pid)
  const perSecond = times * capacity
  const load = sendLoad({ port, requests, connections: overloadConnections, mostUnanswered, seconds, perSecond })
  const { result, mostMegabytes: megabytes } = await mostMemoryDuring(pid, load)
  const recoveryMs = await timeRecovery(api, organization, Math.max(wellMs, 3 * usualMs))

  const isExpected = (status: string): boolean => status.startsWith('2') || status === '429' || status === '503'
  const strange = Object.entries(result.statuses).filter(([status]) => !isExpected(status))
  const count = (status: string): number => result.statuses[status] ?? 0
  const complaints = [
    ...strange.map(([status, number]) => `${number} answers with ${status}`),
    ...(result.broken > 0 ? [`${result.broken} connections were broken`] : []),
    ...(megabytes > mostMegabytes ? [`${megabytes} MB`] : []),
    ...(before.statuses['200'] === undefined ? ['nothing was answered before the load'] : []),
  ]
  const tooSlow = [
    ...(result.silent > 0 ? [`${result.silent} connections had no answer for half of the time`] : []),
    ...(recoveryMs > longestRecoveryMs ? [`well again after ${recoveryMs} ms`] : []),
  ]
  return {
    complaints,
    tooSlow,
    isOnlySlow: complaints.length === 0 && tooSlow.length > 0,
    printed: api.printed(),
    measurements: {
      seconds,
      capacityPerSecond: capacity,
      sentPerSecond: Math.round(result.sent / seconds),
      wantedPerSecond: perSecond,
      answered200: count('200'),
      answered429: count('429'),
      answered503: count('503'),
      answeredOtherwise: strange.reduce((sum, [, number]) => sum + number, 0),
      broken: result.broken,
      silent: result.silent,
      megabytesBefore,
      mostMegabytes: megabytes,
      recoveryMs,
    },
  }
}

async function timeProbe(api: Api, { key, path, memberIds }: DrillOrganization): Promise<number> {
  const begunAtMs = performance.now()
  const member = `${path}/members/${memberIds[1]}`
  const answers = [
    await callApi(api.url, key, { method: 'GET', path: member, headers: { connection: 'close' } }),
    await callApi(api.url, key, { method: 'PATCH', path: member, body: { role: 'developer' } }),
  ]
  const isDone = answers.every(({ status }) => status === 200)
  return isDone ? performance.now() - begunAtMs : Number.POSITIVE_INFINITY
}

async function timeProbes(api: Api, organization: DrillOrganization, count: number): Promise<number[]> {
  const times: number[] = []
  for (let number = 0; number < count; number++) times.push(await timeProbe(api, organization))
  return times
}

/** Three fast answers in a row count as recovered: a single one may be luck. */
async function timeRecovery(api: Api, organization: DrillOrganization, enoughMs: number): Promise<number> {
  const begunAtMs = performance.now()
  let wellSinceMs = begunAtMs
  for (let inRow = 0; inRow < 3; ) {
    if (inRow === 0) wellSinceMs = performance.now()
    if (wellSinceMs - begunAtMs > 6 * longestRecoveryMs) break
    const isWell = (await timeProbe(api, organization)) <= enoughMs
    inRow = isWell ? inRow + 1 : 0
    if (!isWell) await sleep(50)
  }
  return Math.round(wellSinceMs - begunAtMs)
}
