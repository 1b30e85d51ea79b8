// The worker count of a pipe changes during deliveries: no row is lost or duplicated.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Faults } from '../../test/runner-world/faults.ts'
import { lineEncoders } from '../../test/runner-world/line-rows.ts'
import { lineObjects, lineStream } from '../../test/runner-world/line-sources.ts'
import { makeRunnerWorld, type RunnerWorld, type WorldOptions } from '../../test/runner-world/runner-world.ts'

const batchSize = { rows: 3, bytes: 1_000, note: () => undefined }
const partitions = { a: ['a1', 'a2', 'a3', 'a4'], b: ['b1', 'b2', 'b3'], c: ['c1', 'c2', 'c3', 'c4', 'c5'] }
const objects = {
  1: 'first\nsecond line\nthird\nfourth line\n',
  2: 'fifth\n',
  3: 'sixth line is longer\nseventh\neighth line\n',
  4: 'ninth\n',
}

interface Case {
  name: string
  source: Pick<WorldOptions, 'kind' | 'makeSource'>
  lines: string[]
}

const cases: Case[] = [
  {
    name: 'a stream',
    source: {
      kind: 'kafka',
      makeSource: (pass) => lineStream({ partitions, begin: () => 0, batchRows: 3 }, pass),
    },
    lines: Object.values(partitions).flat(),
  },
  {
    name: 'objects',
    source: { kind: 'objectStorage', makeSource: (pass) => lineObjects(objects, pass) },
    lines: Object.values(objects).flatMap((text) => text.split('\n').slice(0, -1)),
  },
]

function worldOf({ source }: Case, faults: Faults): RunnerWorld {
  return makeRunnerWorld({
    ...source,
    faults,
    options: { batchSize, encoders: lineEncoders({ pieceBytes: [10, 4, 17] }) },
  })
}

async function runAll(world: RunnerWorld, workerCount: number): Promise<void> {
  const leases = Array.from({ length: workerCount }, (_, workerIndex) => ({ workerIndex, workerCount }))
  const ends = await Promise.all(leases.map((lease) => world.newWorker(lease).run()))
  assert.ok(
    ends.every(({ end }) => end === 'completed'),
    JSON.stringify(ends),
  )
}

describe('a changed worker count', () => {
  for (const one of cases) {
    it(`${one.name}: the first new worker finishes the work of the old one, whenever that died`, async () => {
      for (let at = 1; ; at++) {
        const faults = new Faults([at], 'die-after')
        const world = worldOf(one, faults)
        const end = await world.newWorker().run()
        await runAll(world, 3)
        await runAll(world, 2)
        assert.deepEqual(world.engine.lines.toSorted(), one.lines.toSorted(), `died after call ${at}`)
        assert.equal(world.store.deliveries.size, 0)
        if (end.end === 'completed') break
      }
    })

    it(`${one.name}: one worker takes over from three`, async () => {
      for (let at = 1; ; at++) {
        const faults = new Faults([at], 'die')
        const world = worldOf(one, faults)
        // The other workers have not started.
        const { end } = await world.newWorker({ workerIndex: 2, workerCount: 3 }).run()
        if (end === 'completed') break
        await runAll(world, 1)
        assert.deepEqual(world.engine.lines.toSorted(), one.lines.toSorted(), `died at call ${at}`)
      }
    })
  }
})
