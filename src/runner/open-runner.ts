// The runner with everything that real workers need. Loaded when there is a pipe to run: an idle Penstock does without.
import type { Egress } from '../lib/egress.ts'
import type { Log } from '../lib/log.ts'
import type { Vault } from '../lib/vault.ts'
import type { WorkerPlace } from '../progress/store.ts'
import type { SourceContext } from '../sources/source.ts'
import type { Configuration } from './configuration.ts'
import { makeEnds } from './make-ends.ts'
import { makeWorker } from './move.ts'
import { Runner } from './runner.ts'
import { makeWorkerStore, type RunnerDatabase } from './worker-store.ts'

export interface RunnerSurroundings {
  database: RunnerDatabase
  vault: Vault
  egress: Egress
  context: Omit<SourceContext, 'organizationId'>
  isAlone: boolean
  log: Log
}

export function openRunner(surroundings: RunnerSurroundings): Runner {
  const { database, isAlone, log } = surroundings
  return new Runner({
    database,
    isAlone,
    log,
    makeWorker: async ({ configuration, place, slots, tell, tellDelivery }) => {
      const { source, ...parts } = await makeParts(surroundings, configuration, place)
      const { slot, epoch } = place
      const openSink = async (signal: AbortSignal) => {
        const sink = await parts.openSink(signal)
        tellDelivery(sink.delivery)
        return sink
      }
      return makeWorker({ ...parts, openSink, source, slot, slots, epoch, log, tell })
    },
    replay: async ({ configuration, place, signal }) => {
      const { access, ...parts } = await makeParts(surroundings, configuration, place)
      const { database, table = '' } = configuration.pipe.destination
      const [{ openBadRows }, { replayBadRows }] = await Promise.all([
        import('../engine/bad-rows.ts'),
        import('./replay.ts'),
      ])
      const badRows = await openBadRows(surroundings.egress, access, { database, table }, { signal })
      try {
        await replayBadRows(parts, badRows, { signal })
      } finally {
        await badRows.close()
      }
    },
  })
}

async function makeParts(surroundings: RunnerSurroundings, configuration: Configuration, place: WorkerPlace) {
  const { database, vault, egress, context } = surroundings
  const ends = await makeEnds({ vault, egress, context }, configuration, place)
  return { ...ends, pipe: configuration.pipe, store: makeWorkerStore(database, place), egress, context }
}
