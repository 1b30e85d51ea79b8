// Table state of a postgres pipe in memory; table-store.test.ts runs the same tests with it and with the databases.

import type { CounterChanges } from '../../src/progress/pipe-counters.ts'
import type { StoredTable, TableRange } from '../../src/progress/tables/stored-table.ts'
import { addCounters, zeroCounters } from '../../src/runner/counters.ts'
import type { TableStore } from '../../src/runner/postgres/table-store.ts'
import { LeaseLost } from '../../src/runner/worker.ts'

export class MemoryTables {
  readonly tables = new Map<string, StoredTable>()
  /** Ranges that are not done, by table. */
  readonly ranges = new Map<string, TableRange[]>()
  counters: CounterChanges = zeroCounters
  reloadRequestedAt: string | null = null
  rivals: { name: string; database: string }[] = []
  #epoch = 0

  of({ epoch }: { epoch: number }): TableStore {
    this.#epoch = epoch
    const check = (): void => {
      if (this.#epoch !== epoch) throw new LeaseLost()
    }
    return {
      listTables: async () =>
        structuredClone(
          [...this.tables.values()].toSorted((one, other) => (one.targetTable < other.targetTable ? -1 : 1)),
        ),
      listRivals: async () => this.rivals,
      findReloadRequest: async () => this.reloadRequestedAt,
      requestReload: async (kept) => {
        check()
        this.reloadRequestedAt = new Date().toISOString()
        const change = { reloadRequestedAt: this.reloadRequestedAt, beginLsn: '0/0', coverage: null }
        for (const name of kept) Object.assign(this.tables.get(name) ?? {}, change)
      },
      saveTable: async (table) => {
        check()
        this.#save(table)
      },
      removeTable: async (targetTable) => {
        check()
        this.#remove(targetTable)
      },
      planLoad: async (targetTable, { ranges, rowsEstimated }) => {
        check()
        const counts = { rowsEstimated, rowsLoaded: 0, rangeCount: ranges.length, rangesDone: 0 }
        const times = { loadStartedAt: new Date().toISOString(), loadEndedAt: null }
        Object.assign(this.#load(targetTable), counts, times)
        this.ranges.set(targetTable, structuredClone(ranges))
      },
      listRanges: async (targetTable) =>
        structuredClone(this.#rangesOf(targetTable).toSorted((one, other) => one.number - other.number)),
      finishRange: async (targetTable, { number, rows, counters }) => {
        check()
        const left = this.#rangesOf(targetTable).filter((range) => range.number !== number)
        if (left.length === this.#rangesOf(targetTable).length) return
        this.ranges.set(targetTable, left)
        const table = this.#load(targetTable)
        table.rowsLoaded += rows
        table.rangesDone++
        this.counters = addCounters(this.counters, counters)
      },
      finishSwap: async (shadowTable) => {
        check()
        const shadow = this.tables.get(shadowTable)
        if (!shadow || shadow.replaces === null) return
        this.#remove(shadowTable)
        this.#remove(shadow.replaces)
        const swapped = { ...shadow, targetTable: shadow.replaces, replaces: null, phase: 'following' as const }
        this.tables.set(swapped.targetTable, swapped)
      },
    }
  }

  #save(table: StoredTable): void {
    const before = this.tables.get(table.targetTable)
    const kept: Partial<StoredTable> = {}
    if (before?.loadId === table.loadId) {
      const { rowsEstimated, rowsLoaded, rangeCount, rangesDone, loadStartedAt } = before
      Object.assign(kept, { rowsEstimated, rowsLoaded, rangeCount, rangesDone, loadStartedAt })
    }
    this.tables.set(table.targetTable, structuredClone({ ...table, ...kept }))
  }

  #remove(targetTable: string): void {
    this.tables.delete(targetTable)
    this.ranges.delete(targetTable)
  }

  #load(targetTable: string): StoredTable {
    const table = this.tables.get(targetTable)
    if (!table) throw new Error('the table is not stored')
    return table
  }

  #rangesOf(targetTable: string): TableRange[] {
    return this.ranges.get(targetTable) ?? []
  }
}
