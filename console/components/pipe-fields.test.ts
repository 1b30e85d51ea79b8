import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PipeState } from '../../src/progress/pipe-state.ts'
import { scalingFields, settingFields, stateNames } from './pipe-fields.ts'

test('every setting has the default and the bounds of the API', () => {
  const fields = Object.values({ ...settingFields, ...scalingFields })
  assert.ok(fields.every((field) => typeof field.default === 'boolean' || ('minimum' in field && 'maximum' in field)))
  assert.equal(settingFields.streaming_max_insert_wait_ms.default, 5_000)
})

test('every state of the API has an explanation', () => {
  assert.deepEqual([...stateNames].sort(), [...(PipeState as unknown as { enum: string[] }).enum].sort())
})
