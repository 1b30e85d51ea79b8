// State of a worker in the database. Writes are bound to its lease and fail with LeaseLost when another worker has claimed it.
import type { Database } from '../database/database.ts'
import { listDeliveries, listPositions, type WorkerLease } from '../progress/store.ts'
import type { ProgressWrites } from '../progress/writes.ts'
import { LeaseLost, type WorkerStore } from './worker.ts'

export type RunnerDatabase = Pick<Database<ProgressWrites>, 'reader' | 'write'>

/** Rejects with LeaseLost when a write reports that the lease is lost. */
export async function held(written: Promise<boolean>): Promise<void> {
  if (!(await written)) throw new LeaseLost()
}

/** Rejects with a Problem when the database does not answer: the write may have succeeded, and may be repeated. */
export function makeWorkerStore({ reader, write }: RunnerDatabase, lease: WorkerLease): WorkerStore {
  const { organizationId, pipeId } = lease
  const now = (): string => new Date().toISOString()
  return {
    listPositions: () => listPositions(reader, pipeId),
    listDeliveries: () => listDeliveries(reader, pipeId),
    setPositions: (positions) => held(write('setPositions', { lease, positions, now: now() }, organizationId)),
    keepLosses: (change) => held(write('keepLosses', { lease, ...change, now: now() }, organizationId)),
    claim: async (partitions) => {
      const claims = await write('claimPositions', { lease, partitions }, organizationId)
      if (!claims) throw new LeaseLost()
      return claims
    },
    begin: (delivery) => held(write('beginDelivery', { lease, delivery }, organizationId)),
    reject: (deliveryId, badRows) => held(write('rejectRows', { lease, deliveryId, badRows }, organizationId)),
    finish: (change) => held(write('finishDeliveries', { lease, ...change, now: now() }, organizationId)),
  }
}
