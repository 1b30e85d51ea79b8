// Drops what a sink has made beside its table, while nobody waits. What could not be dropped holds the engine's memory, so it is
// tried again with the next one, and when the sink is closed.
import type { Capabilities } from './capabilities.ts'
import type { EngineClient } from './client.ts'
import { dropTable, type TablePlace } from './side-tables.ts'

/** An engine that does not answer is left with them, and a later sink of the pipe drops them. */
const timeoutMs = 5_000
const timeoutOfLastTryMs = 1_000

export interface Dropper {
  drop(place: TablePlace): void
  /** After the last one. */
  finish(): Promise<void>
}

export function makeDropper(client: EngineClient, capabilities: Capabilities): Dropper {
  const underWay = new Set<Promise<void>>()
  const left = new Set<TablePlace>()
  function start(places: TablePlace[], limitMs: number): void {
    for (const place of places) {
      left.delete(place)
      const dropped: Promise<void> = dropTable(client, capabilities, place, { timeoutMs: limitMs })
        .catch(() => void left.add(place))
        .finally(() => underWay.delete(dropped))
      underWay.add(dropped)
    }
  }
  return {
    drop: (place) => start([place, ...left], timeoutMs),
    async finish() {
      await Promise.all(underWay)
      start([...left], timeoutOfLastTryMs)
      await Promise.all(underWay)
    },
  }
}
