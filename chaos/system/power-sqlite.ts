// R2: what was acknowledged survives that the power is cut under load. Its control shows that the cut is a real one: with a
// SQLite that does not sync each commit, acknowledged writes are gone.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeRandom } from '../random.ts'
import type { SystemDrill } from './drill.ts'
import { readSample, startServer } from './drill-process.ts'
import { inStore, padLog } from './drill-store.ts'
import { compare, moreAcknowledged, openBooks, writeUntilRefused } from './drill-writers.ts'
import { type PowerCut, tellPowerCuts } from './power.ts'
import { makePowerDevice } from './power-device.ts'

const deviceBytes = 512 * 1_048_576

export const powerOfSqlite: SystemDrill = {
  id: 'R2',
  promise: 'a power cut loses nothing that was acknowledged, and damages nothing (SQLite)',
  ci: 10,
  full: 300,
  unit: 'cuts',
  run: async (options) => tellPowerCuts(await cutPower(options, { hasCheckpoints: true }), { mustLose: false }),
}

export const powerOfSqliteControl: SystemDrill = {
  id: 'R2-control',
  promise: 'with synchronous=NORMAL a power cut loses what was acknowledged',
  ci: 3,
  full: 30,
  unit: 'cuts',
  run: async (options) =>
    tellPowerCuts(await cutPower(options, { mutant: 'sync-normal', hasCheckpoints: false }), { mustLose: true }),
}

async function cutPower(
  { seed, size, folder }: { seed: number; size: number; folder: string },
  { mutant, hasCheckpoints }: { mutant?: string; hasCheckpoints: boolean },
): Promise<PowerCut[]> {
  const random = makeRandom(seed)
  const device = await makePowerDevice(folder, deviceBytes)
  const data = join(device.mountPoint, 'data')
  const start = () => startServer({ folder: data, ...(mutant === undefined ? {} : { mutant }) })
  const cuts: PowerCut[] = []
  let server: Awaited<ReturnType<typeof startServer>> | undefined
  try {
    mkdirSync(data, { mode: 0o700 })
    server = await start()
    const books = await inStore(data, (store) => openBooks(store, readSample(data)))
    await device.flush()
    while (cuts.length < size) {
      const writesBefore = books.acknowledgedWrites
      const blackout = new AbortController()
      const writing = writeUntilRefused(books, server.url, blackout.signal)
      await moreAcknowledged(books, random.between(16, 200))
      await sleep(random.between(0, 200))
      await device.cut(() => blackout.abort())
      await server.kill()
      await writing
      await device.restore()
      server = await start()
      const findings = await inStore(data, (store) => compare(store, books))
      cuts.push({ findings, writes: books.acknowledgedWrites - writesBefore, readyMs: server.readyMs })
      // Every other cut is to meet a checkpoint.
      if (!hasCheckpoints || cuts.length % 2 === 0) continue
      await server.kill()
      padLog(data)
      await device.flush()
      server = await start()
    }
    return cuts
  } finally {
    await server?.kill()
    await device.remove()
  }
}
