// R3: what was acknowledged survives that the power of the PostgreSQL server is cut under load, and of Penstock with it. Its
// control shows that the cut is a real one: Penstock refuses to start on synchronous_commit=off, so it is switched off later.
import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { type PostgresServer, startPostgres } from '../../src/embedded-postgres/postgres-server.ts'
import { makeRandom } from '../random.ts'
import type { SystemDrill } from './drill.ts'
import { readSample, type Server, startServer } from './drill-process.ts'
import { inStore } from './drill-store.ts'
import { compare, moreAcknowledged, openBooks, writeUntilRefused } from './drill-writers.ts'
import { type PowerCut, tellPowerCuts } from './power.ts'
import { makePowerDevice } from './power-device.ts'

const deviceBytes = 1024 * 1_048_576
const databaseName = 'penstock'
/** The log is written now and then only, not at each commit; as seldom as may be, so that a cut does not just miss it. */
const forgetful = [
  'ALTER SYSTEM SET synchronous_commit = off',
  "ALTER SYSTEM SET wal_writer_delay = '10s'",
  'SELECT pg_reload_conf()',
]

export const powerOfPostgres: SystemDrill = {
  id: 'R3',
  promise: 'a power cut loses nothing that was acknowledged, and damages nothing (PostgreSQL)',
  ci: 4,
  full: 100,
  unit: 'cuts',
  run: async (options) => tellPowerCuts(await cutPower(options, { isControl: false }), { mustLose: false }),
}

export const powerOfPostgresControl: SystemDrill = {
  id: 'R3-control',
  promise: 'with synchronous_commit=off a power cut loses what was acknowledged',
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
  // The account that PostgreSQL runs as must get through.
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
    const books = await inStore(data, (store) => openBooks(store, readSample(data)), databaseUrl)
    await device.flush()
    while (cuts.length < size) {
      if (isControl) await command(databaseUrl, ...forgetful)
      const writesBefore = books.acknowledgedWrites
      const blackout = new AbortController()
      const writing = writeUntilRefused(books, server.url, blackout.signal)
      await moreAcknowledged(books, random.between(16, 200))
      // Every other cut is to meet a checkpoint.
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
      const findings = await inStore(data, (store) => compare(store, books), databaseUrl)
      cuts.push({ findings, writes: books.acknowledgedWrites - writesBefore, readyMs })
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

/** Resolves when the postmaster is gone; it may have ended by itself, for want of a disk. */
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
