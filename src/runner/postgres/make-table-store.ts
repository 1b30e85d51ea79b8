// What the worker of a postgres pipe keeps of its tables in the database, under its place, as ../worker-store.ts does.
import type { WorkerLease } from '../../progress/store.ts'
import { findReloadRequest, listRanges, listRivals, listTables } from '../../progress/tables/store.ts'
import { held, type RunnerDatabase } from '../worker-store.ts'
import type { TableStore } from './table-store.ts'

/** Rejects with a Problem when the database is away: then nobody knows whether a write was made, and it may be sent again. */
export function makeTableStore({ reader, write }: RunnerDatabase, place: WorkerLease): TableStore {
  const { organizationId, pipeId } = place
  const now = (): string => new Date().toISOString()
  return {
    listTables: () => listTables(reader, pipeId),
    listRivals: (targetTable) => listRivals(reader, { pipeId, targetTable }),
    findReloadRequest: () => findReloadRequest(reader, pipeId),
    requestReload: (kept) => held(write('requestOwnReload', { place, kept, now: now() }, organizationId)),
    saveTable: (table) => held(write('saveTable', { place, table }, organizationId)),
    removeTable: (targetTable) => held(write('removeTable', { place, targetTable }, organizationId)),
    planLoad: (targetTable, plan) =>
      held(write('planLoad', { place, targetTable, ...plan, now: now() }, organizationId)),
    listRanges: (targetTable) => listRanges(reader, { pipeId, targetTable }),
    finishRange: (targetTable, change) =>
      held(write('finishRange', { place, targetTable, ...change, now: now() }, organizationId)),
    finishSwap: (shadowTable) => held(write('finishSwap', { place, shadowTable }, organizationId)),
  }
}
