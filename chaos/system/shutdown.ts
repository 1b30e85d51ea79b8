// R13: a process that receives SIGTERM drops no accepted request, and the next process serves on the same port. Only a connection
// that was never accepted may be refused.
import { setTimeout as sleep } from 'node:timers/promises'
import { startPostgres } from '../../src/embedded-postgres/postgres-server.ts'
import { makeRandom } from '../random.ts'
import type { SystemDrill, SystemResult } from './drill.ts'
import { startApi } from './drill-api.ts'
import { setUpOrganizations } from './drill-organizations.ts'
import { inStore } from './drill-store.ts'
import { compareVersions, openShutdownJournal, sendThroughShutdowns } from './shutdown-clients.ts'

const patienceMs = 30_000
const moreAnswers = 300

interface ShutdownOptions {
  seed: number
  size: number
  folder: string
  mutant?: string
  /** Default: SQLite. */
  isOnPostgres?: boolean
}

export const shutdownDrill: Omit<SystemDrill, 'run'> & { run(options: ShutdownOptions): Promise<SystemResult> } = {
  id: 'R13',
  promise: 'a process that receives SIGTERM answers every accepted request',
  ci: 5,
  full: 100,
  unit: 'stops',
  async run(options) {
    if (!options.isOnPostgres) return stopUnderLoad(options)
    const postgres = await startPostgres()
    try {
      return await stopUnderLoad(options, await postgres.createDatabase('penstock'))
    } finally {
      await postgres.stop()
    }
  },
}

async function stopUnderLoad(
  { seed, size, folder, mutant }: ShutdownOptions,
  databaseUrl?: string,
): Promise<SystemResult> {
  const random = makeRandom(seed)
  const installation = { folder, databaseUrl }
  const roles = ['admin' as const, ...Array<'developer'>(32).fill('developer')]
  const [organization] = await setUpOrganizations(installation, { count: 1, roles })
  const options = mutant === undefined ? {} : { mutant }
  let api = await startApi(installation, options)
  const journal = openShutdownJournal(organization!)
  const stopping = new AbortController()
  const sending = sendThroughShutdowns(journal, api.url, random, stopping.signal)
  const stopMs: number[] = []
  const exitCodes = new Set<number | null>()
  try {
    for (let stop = 0; stop < size; stop++) {
      const wanted = journal.answers + moreAnswers
      const deadlineMs = Date.now() + patienceMs
      while (journal.answers < wanted && Date.now() < deadlineMs) await sleep(5)
      await sleep(random.below(200))
      const toldAtMs = performance.now()
      exitCodes.add(await api.stop())
      stopMs.push(performance.now() - toldAtMs)
      api = await startApi(installation, { ...options, port: api.port })
    }
  } finally {
    stopping.abort()
    await sending
    await api.kill()
  }
  const lost = await inStore(folder, (store) => compareVersions(store, journal), databaseUrl)
  exitCodes.delete(0)
  const failures = [...exitCodes].map((code) => `a process ended with ${code}`)
  const toLookAt = [...failures, ...journal.dropped, ...lost]
  const measurements = {
    stops: size,
    answers: journal.answers,
    refusedConnections: journal.refusedConnections,
    resetBeforeTaken: journal.resetBeforeTaken,
    hungUpAtRest: journal.hungUpAtRest,
    timedOutInDatabase: journal.timedOutInDatabase,
    dropped: journal.dropped.length,
    lost: lost.length,
    longestStopMs: Math.round(Math.max(...stopMs)),
  }
  return {
    isKept: toLookAt.length === 0,
    measurements,
    ...(toLookAt.length === 0 ? {} : { toLookAt: toLookAt.slice(0, 10).join('; ') }),
  }
}
