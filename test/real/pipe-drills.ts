// Shared setup of pipe drills in tests.
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { type DrillOptions, drills, runDeliveries } from '../../chaos/drills.ts'
import { isExact, type Run } from '../../chaos/in-world.ts'
import { makeServers } from '../../chaos/servers.ts'

type Delivery = Parameters<typeof runDeliveries>

export interface PipeDrills {
  /** R18: random faults around a pipe. */
  deliveries(source: Delivery[1], options: Omit<Delivery[2], 'number'>): void
  /** Another pipe drill, by its id. */
  drill(name: string, id: string, options: Partial<DrillOptions> & Omit<DrillOptions, 'number'>): void
}

/** Far above the duration of a run: a run that hangs reports what it waits for, and keeps its folder. */
const timeout = 900_000

/** Each file has its own servers, which start on first use. */
export function describePipeDrills(name: string, define: (pipeDrills: PipeDrills) => void): void {
  describe(name, () => {
    const servers = makeServers()
    after(() => servers.stop())
    define({
      deliveries(source, { engine, faults, seed }) {
        it(`R18: ${source}, ${engine} engine: ${faults} faults lose and duplicate no row`, { timeout }, async () => {
          assertExact(await runDeliveries(servers, source, { number: 0, engine, faults, seed }))
        })
      },
      drill(title, id, options) {
        it(title, { timeout }, async () => {
          const drill = drills[id] ?? assert.fail(`there is no ${id}`)
          assertExact(await drill.run(servers, { number: 0, ...options }))
        })
      },
    })
  })
}

function assertExact({ outcome, kept }: Run): void {
  assert.ok(outcome.producedRows > 0)
  assert.ok(isExact(outcome), `look in ${kept}: ${JSON.stringify(outcome)}`)
}
