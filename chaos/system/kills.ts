// R1: 16 writers of mixed operations; the process is killed at a random time and restarted, and its data is compared with the
// acknowledgements.
import { setTimeout as sleep } from 'node:timers/promises'
import { makeRandom } from '../random.ts'
import { medianMs, timeBareStart } from './bare-start.ts'
import type { SystemDrill } from './drill.ts'
import { readSample, startServer } from './drill-process.ts'
import { inStore } from './drill-store.ts'
import { compare, moreAcknowledged, openJournal, writeUntilRefused } from './drill-writers.ts'

const mostReadyMs = 1_000
/** Limit in bare starts, for machines so slow that this exceeds one second. */
const mostBareStarts = 12

export const killDrill: SystemDrill = {
  id: 'R1',
  promise: 'kill -9 loses no acknowledged write, and leaves no write half done',
  ci: 20,
  full: 500,
  unit: 'kills',
  async run({ seed, size, folder }) {
    const random = makeRandom(seed)
    let server = await startServer({ folder })
    try {
      const journal = await inStore(folder, (store) => openJournal(store, readSample(folder)))
      const readyMs: number[] = []
      const bareMs: number[] = []
      for (let kill = 0; kill < size; kill++) {
        const writing = writeUntilRefused(journal, server.url)
        await moreAcknowledged(journal, 16)
        await sleep(random.between(100, 500))
        await server.kill()
        const refusals = [...(await writing)].filter((refusal) => refusal !== undefined)
        bareMs.push(await timeBareStart(folder))
        server = await startServer({ folder })
        readyMs.push(server.readyMs)
        const findings = await inStore(folder, (store) => compare(store, journal))
        const wrong = Object.values(findings).flat().length + refusals.length
        if (wrong > 0) {
          const toLookAt = JSON.stringify({ kill, refusals, findings })
          return {
            isKept: false,
            measurements: { kills: kill + 1, writes: journal.acknowledgedWrites, wrong },
            toLookAt,
          }
        }
      }
      const [readyMedianMs = 0, bareMedianMs = 0] = [readyMs, bareMs].map(medianMs)
      const writes = journal.acknowledgedWrites
      const measurements = { kills: size, writes, wrong: 0, readyMedianMs, bareMedianMs }
      if (writes <= size * 20) return { isKept: false, measurements, toLookAt: 'the kills met an idle process' }
      return { isKept: readyMedianMs <= Math.max(mostReadyMs, mostBareStarts * bareMedianMs), measurements }
    } finally {
      await server.kill()
    }
  },
}
