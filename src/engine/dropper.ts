// Drops what a sink has made beside its table, while nobody waits. What could not be dropped holds the engine's memory, so it is
// tried again with the next one, and when the sink is closed.
import type { Capabilities } from './capabilities.ts'
import type { EngineClient } from './client.ts'
import { dropTable, type TableRef } from './side-tables.ts'

/** An engine that does not answer is left with them, and a later sink of the pipe drops them. */
const timeoutMs = 5_000
const timeoutOfLastTryMs = 1_000

export interface Dropper {
  /** One after the other. */
  drop(...places: TableRef[]): void
  /** After the last one. */
  finish(): Promise<void>
}

export function makeDropper(client: EngineClient, capabilities: Capabilities): Dropper {
  const underWay = new Set<Promise<void>>()
  const left = new Set<TableRef[]>()
  async function dropAll(places: TableRef[], limitMs: number): Promise<void> {
    for (const place of places) await dropTable(client, capabilities, place, { timeoutMs: limitMs })
  }
  function start(groups: TableRef[][], limitMs: number): void {
    for (const places of groups) {
      left.delete(places)
      const dropped: Promise<void> = dropAll(places, limitMs)
        .catch(() => void left.add(places))
        .finally(() => underWay.delete(dropped))
      underWay.add(dropped)
    }
  }
  return {
    drop: (...places) => start([places, ...left], timeoutMs),
    async finish() {
      await Promise.all(underWay)
      start([...left], timeoutOfLastTryMs)
      await Promise.all(underWay)
    },
  }
}
