// What the runs of pipes in the tests have in common.
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { type DrillOptions, drills, runDeliveries } from '../../chaos/drills.ts'
import { isExact, type Run } from '../../chaos/in-world.ts'
import { makeServers } from '../../chaos/servers.ts'

type Delivery = Parameters<typeof runDeliveries>

export interface PipeDrills {
  /** R18: everything around a pipe dies at random. */
  deliveries(source: Delivery[1], options: Omit<Delivery[2], 'number'>): void
  /** Another drill of pipes, by its id. */
  drill(name: string, id: string, options: Partial<DrillOptions> & Omit<DrillOptions, 'number'>): void
}

/** Far above what a run takes: whoever waits within it in vain says for what, and keeps what there is to look at. */
const timeout = 900_000

/** The servers of a file are its own, and are started when a run needs them. */
export function describePipeDrills(name: string, define: (pipeDrills: PipeDrills) => void): void {
  describe(name, () => {
    const servers = makeServers()
    after(() => servers.stop())
    define({
      deliveries(source, { engine, troubles, seed }) {
        it(`R18: ${source}, ${engine} engine: ${troubles} troubles lose and double nothing`, { timeout }, async () => {
          assertExact(await runDeliveries(servers, source, { number: 0, engine, troubles, seed }))
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
