// TableStore in the database. Writes need the worker lease, as in ../worker-store.ts.
import type { WorkerLease } from '../../progress/store.ts'
import { findReloadRequest, listRanges, listRivals, listTables } from '../../progress/tables/store.ts'
import { held, type RunnerDatabase } from '../worker-store.ts'
import type { TableStore } from './table-store.ts'

/** Rejects with a Problem when the database is unavailable: the write may have been made, and can be repeated. */
export function makeTableStore({ reader, write }: RunnerDatabase, lease: WorkerLease): TableStore {
  const { organizationId, pipeId } = lease
  const now = (): string => new Date().toISOString()
  return {
    listTables: () => listTables(reader, pipeId),
    listRivals: (targetTable) => listRivals(reader, { pipeId, targetTable }),
    findReloadRequest: () => findReloadRequest(reader, pipeId),
    requestReload: (kept) => held(write('requestOwnReload', { lease, kept, now: now() }, organizationId)),
    saveTable: (table) => held(write('saveTable', { lease, table }, organizationId)),
    removeTable: (targetTable) => held(write('removeTable', { lease, targetTable }, organizationId)),
    planLoad: (targetTable, plan) =>
      held(write('planLoad', { lease, targetTable, ...plan, now: now() }, organizationId)),
    listRanges: (targetTable) => listRanges(reader, { pipeId, targetTable }),
    finishRange: (targetTable, change) =>
      held(write('finishRange', { lease, targetTable, ...change, now: now() }, organizationId)),
    finishSwap: (shadowTable) => held(write('finishSwap', { lease, shadowTable }, organizationId)),
  }
}
