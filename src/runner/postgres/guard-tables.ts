// Wraps a TableStore as `guardStore` wraps a WorkerStore: calls fail once the session has ended.
import { makeGuard } from '../session.ts'
import type { TableStore } from './table-store.ts'

export function guardTables(tables: TableStore, signal: AbortSignal): TableStore {
  const guarded = makeGuard(signal)
  return {
    listTables: () => guarded(() => tables.listTables()),
    listRivals: (table) => guarded(() => tables.listRivals(table)),
    findReloadRequest: () => guarded(() => tables.findReloadRequest()),
    requestReload: (kept) => guarded(() => tables.requestReload(kept)),
    saveTable: (table) => guarded(() => tables.saveTable(table)),
    removeTable: (targetTable) => guarded(() => tables.removeTable(targetTable)),
    planLoad: (targetTable, plan) => guarded(() => tables.planLoad(targetTable, plan)),
    listRanges: (targetTable) => guarded(() => tables.listRanges(targetTable)),
    finishRange: (targetTable, change) => guarded(() => tables.finishRange(targetTable, change)),
    finishSwap: (shadowTable) => guarded(() => tables.finishSwap(shadowTable)),
  }
}
