import assert from 'node:assert/strict'
import { it } from 'node:test'
import { onBothDatabases } from '../harness/test-app.ts'
import { pipeModelOperations, runPipeModel } from './model.ts'

onBothDatabases('R9 model of pipes', (app) => {
  it('R9 changes pipes as its model, for any sequence of requests', async () => {
    const seed = Number(process.env.PENSTOCK_DRILL_SEED ?? Date.now() % 0x7fffffff)
    const outcomes = [
      ...pipeModelOperations,
      'changed',
      'unchanged',
      'replayed',
      'idempotency_key_reused',
      'version_mismatch',
      'invalid_body',
    ]
    // A run that never covers these would prove nothing; rare ones may need more than one run.
    let missing = outcomes
    for (let round = 0; round < 5 && missing.length > 0; round++) {
      const counts = await runPipeModel(app(), 40, seed + round)
      missing = missing.filter((outcome) => !counts.get(outcome))
    }
    assert.deepEqual(missing, [], `seed ${seed} never made some outcomes`)
  })
})
