// R3: acknowledged writes survive a power cut of PostgreSQL and Penstock under load. The control proves that the cut is real:
// with synchronous_commit=off acknowledged writes are lost. Penstock refuses to start with that setting, so it is changed after
// the start.
import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { type PostgresServer, startPostgres } from '../../src/embedded-postgres/postgres-server.ts'
import { makeRandom } from '../random.ts'
import type { SystemDrill } from './drill.ts'
import { readSample, type Server, startServer } from './drill-process.ts'
import { inStore } from './drill-store.ts'
import { compare, moreAcknowledged, openJournal, writeUntilRefused } from './drill-writers.ts'
import { type PowerCut, tellPowerCuts } from './power.ts'
import { makePowerDevice } from './power-device.ts'

const deviceBytes = 1024 * 1_048_576
const databaseName = 'penstock'
/** Writes the WAL rarely instead of at each commit, so that a cut always loses commits. */
const forgetful = [
  'ALTER SYSTEM SET synchronous_commit = off',
  "ALTER SYSTEM SET wal_writer_delay = '10s'",
  'SELECT pg_reload_conf()',
]

export const powerOfPostgres: SystemDrill = {
  id: 'R3',
  promise: 'a power cut loses no acknowledged write and damages no data (PostgreSQL)',
  ci: 4,
  full: 100,
  unit: 'cuts',
  run: async (options) => tellPowerCuts(await cutPower(options, { isControl: false }), { mustLose: false }),
}

export const powerOfPostgresControl: SystemDrill = {
  id: 'R3-control',
  promise: 'with synchronous_commit=off a power cut loses acknowledged writes',
  ci: 2,
  full: 10,
  unit: 'cuts',
  run: async (options) => tellPowerCuts(await cutPower(options, { isControl: true }), { mustLose: true }),
}

async function cutPower(
  { seed, size, folder }: { seed: number; size: number; folder: string },
  { isControl }: { isControl: boolean },
): Promise<PowerCut[]> {
  const random = makeRandom(seed)
  // The account of PostgreSQL needs access.
  chmodSync(folder, 0o755)
  const data = join(folder, 'data')
  mkdirSync(data, { mode: 0o700 })
  const device = await makePowerDevice(folder, deviceBytes)
  const cuts: PowerCut[] = []
  let postgres: PostgresServer | undefined
  let server: Server | undefined
  try {
    postgres = await startPostgres({ directory: device.mountPoint })
    const databaseUrl = await postgres.createDatabase(databaseName)
    const start = () => startServer({ folder: data, databaseUrl })
    server = await start()
    const journal = await inStore(data, (store) => openJournal(store, readSample(data)), databaseUrl)
    await device.flush()
    while (cuts.length < size) {
      if (isControl) await command(databaseUrl, ...forgetful)
      const writesBefore = journal.acknowledgedWrites
      const blackout = new AbortController()
      const writing = writeUntilRefused(journal, server.url, blackout.signal)
      await moreAcknowledged(journal, random.between(16, 200))
      // Every second cut hits a checkpoint.
      const checkpoint =
        !isControl && cuts.length % 2 === 1 ? command(databaseUrl, 'CHECKPOINT').catch(() => undefined) : undefined
      await sleep(random.between(0, 200))
      await device.cut(() => blackout.abort())
      await Promise.all([server.kill(), crash(postgres.pid)])
      await writing
      await checkpoint
      await device.restore()
      const restoredAt = performance.now()
      await postgres.restart('immediate')
      if (isControl) await command(databaseUrl, 'ALTER SYSTEM RESET ALL', 'SELECT pg_reload_conf()')
      server = await start()
      const readyMs = Math.round(performance.now() - restoredAt)
      const findings = await inStore(data, (store) => compare(store, journal), databaseUrl)
      cuts.push({ findings, writes: journal.acknowledgedWrites - writesBefore, readyMs })
    }
    return cuts
  } finally {
    await server?.kill()
    await postgres?.stop('immediate')
    await device.remove()
  }
}

async function command(url: string, ...texts: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  try {
    for (const text of texts) await client.query(text)
  } finally {
    await client.end().catch(() => undefined)
  }
}

/** Resolves when the postmaster has ended; without its disk it may end before it is killed. */
async function crash(postmaster: number): Promise<void> {
  for (let signal: NodeJS.Signals | 0 = 'SIGQUIT'; ; signal = 0) {
    try {
      process.kill(postmaster, signal)
    } catch {
      return
    }
    await sleep(20)
  }
}
