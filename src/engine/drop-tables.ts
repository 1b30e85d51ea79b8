// Drops the side tables of a sink in the background. Tables that cannot be dropped hold memory of ClickHouse, so they are tried again
// with the next ones, and when the sink is closed.
import type { Capabilities } from './capabilities.ts'
import type { EngineClient } from './client.ts'
import { dropTable, type TableRef } from './side-tables.ts'

/** When ClickHouse does not answer, a later sink of the pipe drops the tables. */
const timeoutMs = 5_000
const timeoutOfLastTryMs = 1_000

export interface Dropper {
  /** Drops the tables in this order. */
  drop(...tables: TableRef[]): void
  /** Waits for all drops, and tries failed ones once more. */
  finish(): Promise<void>
}

export function makeDropper(client: EngineClient, capabilities: Capabilities): Dropper {
  const dropping = new Set<Promise<void>>()
  const failed = new Set<TableRef[]>()
  async function dropAll(tables: TableRef[], limitMs: number): Promise<void> {
    for (const table of tables) await dropTable(client, capabilities, table, { timeoutMs: limitMs })
  }
  function start(groups: TableRef[][], limitMs: number): void {
    for (const tables of groups) {
      failed.delete(tables)
      const dropped: Promise<void> = dropAll(tables, limitMs)
        .catch(() => void failed.add(tables))
        .finally(() => dropping.delete(dropped))
      dropping.add(dropped)
    }
  }
  return {
    drop: (...tables) => start([tables, ...failed], timeoutMs),
    async finish() {
      await Promise.all(dropping)
      start([...failed], timeoutOfLastTryMs)
      await Promise.all(dropping)
    },
  }
}
