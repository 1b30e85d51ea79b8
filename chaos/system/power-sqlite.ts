// R2: acknowledged writes survive a power cut under load. The control proves that the cut is real: with a SQLite that does not
// sync each commit, acknowledged writes are lost.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeRandom } from '../random.ts'
import type { SystemDrill } from './drill.ts'
import { readSample, startServer } from './drill-process.ts'
import { inStore, padLog } from './drill-store.ts'
import { compare, moreAcknowledged, openJournal, writeUntilRefused } from './drill-writers.ts'
import { type PowerCut, tellPowerCuts } from './power.ts'
import { makePowerDevice } from './power-device.ts'

const deviceBytes = 512 * 1_048_576

export const powerOfSqlite: SystemDrill = {
  id: 'R2',
  promise: 'a power cut loses no acknowledged write and damages no data (SQLite)',
  ci: 10,
  full: 300,
  unit: 'cuts',
  run: async (options) => tellPowerCuts(await cutPower(options, { hasCheckpoints: true }), { mustLose: false }),
}

export const powerOfSqliteControl: SystemDrill = {
  id: 'R2-control',
  promise: 'with synchronous=NORMAL a power cut loses acknowledged writes',
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
    const journal = await inStore(data, (store) => openJournal(store, readSample(data)))
    await device.flush()
    while (cuts.length < size) {
      const writesBefore = journal.acknowledgedWrites
      const blackout = new AbortController()
      const writing = writeUntilRefused(journal, server.url, blackout.signal)
      await moreAcknowledged(journal, random.between(16, 200))
      await sleep(random.between(0, 200))
      await device.cut(() => blackout.abort())
      await server.kill()
      await writing
      await device.restore()
      server = await start()
      const findings = await inStore(data, (store) => compare(store, journal))
      cuts.push({ findings, writes: journal.acknowledgedWrites - writesBefore, readyMs: server.readyMs })
      // Every second cut hits a checkpoint.
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
