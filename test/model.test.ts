import assert from 'node:assert/strict'
import { it } from 'node:test'
import { onBothDatabases } from './harness.ts'
import { runModel } from './model.ts'

onBothDatabases('R9 model', (app) => {
  it('R9 answers as its model, whatever is asked in whatever order', async () => {
    const seed = Date.now() % 0x7fffffff
    const counts = await runModel(app(), 40, seed)
    // A run that never meets these would prove nothing about them.
    for (const outcome of [
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
