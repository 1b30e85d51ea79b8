// S2 in small; test/heavy/fuzz-*.test.ts send a hundred thousand requests.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { operations } from '../../src/operations.ts'
import { fuzz } from '../harness/fuzz.ts'
import { onBothDatabases } from '../harness/test-app.ts'

const requests = 1_000

onBothDatabases('S2 made-up requests', (app) => {
  it(`S2 gives the specified answer to each of ${requests} requests`, async () => {
    const seed = Number(process.env.PENSTOCK_DRILL_SEED ?? Math.floor(Math.random() * 2 ** 31))
    try {
      const { byOperation } = await fuzz(app(), requests, seed)
      for (const { id } of operations) assert.ok((byOperation[id]?.sent ?? 0) > 0, `${id} was never asked`)
    } catch (error) {
      throw new Error(`with PENSTOCK_DRILL_SEED=${seed}: ${(error as Error).message}`, { cause: error })
    }
  })
})
