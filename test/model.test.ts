import assert from 'node:assert/strict'
import { it } from 'node:test'
import { onBothDatabases } from './harness.ts'
import { pipeModelOperations, runPipeModel } from './model.ts'

onBothDatabases('R9 model of pipes', (app) => {
  it('R9 changes pipes as its model does, whatever is asked in whatever order', async () => {
    const seed = Number(process.env.MODEL_SEED ?? Date.now() % 0x7fffffff)
    const counts = await runPipeModel(app(), 40, seed)
    // A run that never meets these would prove nothing about them.
    for (const outcome of [
      ...pipeModelOperations,
      'changed',
      'unchanged',
      'replayed',
      'idempotency_key_reused',
      'version_mismatch',
      'invalid_body',
    ]) {
      assert.ok(counts.get(outcome), `seed ${seed} never made: ${outcome}`)
    }
  })
})
