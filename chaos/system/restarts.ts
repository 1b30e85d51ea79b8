// R7: PostgreSQL restarts, gracefully or as after a crash, under two API processes, one of which may be killed too. Clients that
// retry with the same Idempotency-Key lose nothing, do nothing twice, and wait at most ten seconds.
import { setTimeout as sleep } from 'node:timers/promises'
import { type PostgresServer, type StopMode, startPostgres } from '../../src/embedded-postgres/postgres-server.ts'
import type { Installation } from '../penstock-process.ts'
import { makeRandom } from '../random.ts'
import type { SystemDrill, SystemResult } from './drill.ts'
import { type Api, startApi, startApiInTheEnd } from './drill-api.ts'
import { setUpOrganizations } from './drill-organizations.ts'
import { inStore } from './drill-store.ts'
import {
  compareRestartJournal,
  openRestartJournal,
  type RestartJournal,
  writeThroughRestarts,
} from './restarts-writers.ts'

const longestGapMs = 10_000
const moreWrites = 48
const patienceMs = 60_000
const roles = Array<'developer'>(8).fill('developer')
const rounds: { mode: StopMode; killsApi: boolean }[] = [
  { mode: 'fast', killsApi: false },
  { mode: 'immediate', killsApi: false },
  { mode: 'fast', killsApi: true },
  { mode: 'immediate', killsApi: true },
]

export const restartsDrill: Omit<SystemDrill, 'run'> & { run(options: RestartsOptions): Promise<SystemResult> } = {
  id: 'R7',
  promise:
    'restarts of PostgreSQL under two API processes, one of them killed: lost 0, applied twice 0, gap at most 10 s',
  ci: 4,
  full: 100,
  unit: 'restarts',
  async run(options) {
    const postgres = await startPostgres()
    const apis: Api[] = []
    try {
      return await restartUnderLoad(options, postgres, apis)
    } finally {
      await Promise.all(apis.map((api) => api.kill()))
      await postgres.stop()
    }
  },
}

interface RestartsOptions {
  seed: number
  size: number
  folder: string
  /** A mutant that the API processes run. */
  mutant?: string
}

async function restartUnderLoad(
  { seed, size, folder, mutant }: RestartsOptions,
  postgres: PostgresServer,
  apis: Api[],
): Promise<SystemResult> {
  const random = makeRandom(seed)
  const installation: Installation = { folder, databaseUrl: await postgres.createDatabase('penstock') }
  const [organization] = await setUpOrganizations(installation, { count: 1, roles: ['admin', ...roles] })
  // The first member stays an admin, so that no other member is the last admin.
  organization!.memberIds.shift()
  const options = mutant === undefined ? {} : { mutant }
  apis.push(...(await Promise.all([1, 2].map(() => startApi(installation, options)))))

  const journal = openRestartJournal(organization!)
  const stopping = new AbortController()
  const writing = writeThroughRestarts(journal, () => apis.map(({ url }) => url), random, stopping.signal)
  let apiKills = 0
  for (let round = 0; round < size; round++) {
    await moreAcknowledged(journal)
    await sleep(random.below(300))
    const { mode, killsApi } = rounds[round % rounds.length]!
    const restarting = postgres.restart(mode)
    if (killsApi) {
      apiKills++
      await sleep(random.below(300))
      const place = random.below(apis.length)
      const killed = apis[place]!
      await killed.kill()
      apis[place] = await startApiInTheEnd(installation, { ...options, port: killed.port })
    }
    await restarting
  }
  await moreAcknowledged(journal)
  stopping.abort()
  await writing

  const findings = await inStore(folder, (store) => compareRestartJournal(store, journal), installation.databaseUrl)
  const { lost, twice, halfDone } = findings
  const toLookAt = [...journal.refused, ...lost, ...twice, ...halfDone]
  const measurements = {
    restarts: size,
    apiKills,
    writes: journal.acknowledgedWrites,
    retries: journal.retries,
    lost: lost.length,
    twice: twice.length,
    halfDone: halfDone.length,
    refused: journal.refused.length,
    longestGapMs: Math.round(journal.longestGapMs),
  }
  return {
    isKept: toLookAt.length === 0 && journal.longestGapMs <= longestGapMs,
    measurements,
    ...(toLookAt.length === 0 ? {} : { toLookAt: toLookAt.slice(0, 10).join('; ') }),
  }
}

/** Waits so that every restart hits writes, and recovery is complete before the next restart. */
async function moreAcknowledged(journal: RestartJournal): Promise<void> {
  const wanted = journal.acknowledgedWrites + moreWrites
  const deadlineMs = Date.now() + patienceMs
  while (journal.acknowledgedWrites < wanted && Date.now() < deadlineMs) await sleep(5)
}
