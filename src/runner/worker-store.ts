// What a worker keeps in the database, under its place: what is refused there tells the worker that it has lost it.
import type { Database } from '../database/database.ts'
import { listDeliveries, listPositions, type WorkerLease } from '../progress/store.ts'
import type { ProgressWrites } from '../progress/writes.ts'
import { LeaseLost, type WorkerStore } from './worker.ts'

export type RunnerDatabase = Pick<Database<ProgressWrites>, 'reader' | 'write'>

/** Of a write that says whether the place was still the worker's. */
export async function held(written: Promise<boolean>): Promise<void> {
  if (!(await written)) throw new LeaseLost()
}

/** Rejects with a Problem when the database is away: then nobody knows whether a write was made, and it may be sent again. */
export function makeWorkerStore({ reader, write }: RunnerDatabase, place: WorkerLease): WorkerStore {
  const { organizationId, pipeId } = place
  const now = (): string => new Date().toISOString()
  return {
    listPositions: () => listPositions(reader, pipeId),
    listDeliveries: () => listDeliveries(reader, pipeId),
    setPositions: (positions) => held(write('setPositions', { place, positions, now: now() }, organizationId)),
    keepLosses: (change) => held(write('keepLosses', { place, ...change, now: now() }, organizationId)),
    claim: async (partitions) => {
      const claims = await write('claimPositions', { place, partitions }, organizationId)
      if (!claims) throw new LeaseLost()
      return claims
    },
    begin: (delivery) => held(write('beginDelivery', { place, delivery }, organizationId)),
    refuse: (deliveryId, badRows) => held(write('refuseRows', { place, deliveryId, badRows }, organizationId)),
    finish: (change) => held(write('finishDeliveries', { place, ...change, now: now() }, organizationId)),
  }
}
