import assert from 'node:assert/strict'
import { it } from 'node:test'
import { operations } from '../../src/operations.ts'
import { onBothDatabases } from '../harness/test-app.ts'
import { lifecycleOperations, runLifecycleModel } from './lifecycle-model.ts'
import { pipeModelOperations } from './model.ts'

it('R9 models every operation', () => {
  const modelled = new Set([...pipeModelOperations, ...lifecycleOperations])
  assert.deepEqual(
    operations.map(({ id }) => id).filter((id) => !modelled.has(id)),
    [],
    'add a row to test/models/lifecycle-pipes.ts, -services, -people, -keys or -metrics',
  )
})

onBothDatabases('R9 model of a life', (app) => {
  it('R9 answers as its model, for any sequence of requests', async () => {
    const seed = Number(process.env.PENSTOCK_DRILL_SEED ?? Date.now() % 0x7fffffff)
    const counts = await runLifecycleModel(app(), 10, seed)
    // A run that never covers these would prove nothing about them.
    for (const id of lifecycleOperations) assert.ok(counts.get(`${id} 200`), `${id} was never accepted`)
    for (const outcome of [
      'changed',
      'unchanged',
      'replayed',
      'idempotency_key_reused',
      'version_mismatch',
      'invalid_body',
      'invalid_header',
      'nothing_to_update',
      'not_found',
      'unauthorized',
      'role_not_allowed',
      'address_not_allowed',
      'last_admin',
      'already_member',
      'invitation_exists',
      'own_key',
      'service_has_pipes',
      'private_endpoint_exists',
      'unusual_endpoint_id',
      'pipe_already_running',
      'pipe_cannot_resync',
      'source_not_validated',
    ]) {
      assert.ok(counts.get(outcome), `seed ${seed} never made: ${outcome}`)
    }
  })
})
