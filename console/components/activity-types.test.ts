import assert from 'node:assert/strict'
import { it } from 'node:test'
import { operations } from '../../src/operations.ts'
import { activityTypes } from './activity-types.ts'

it('has words for everything that an operation is recorded as', () => {
  const known = activityTypes.flatMap(({ types }) => Object.keys(types))
  const recorded = operations.flatMap(({ activity, prepare }) => [activity ?? [], prepare?.activity ?? []].flat())
  assert.deepEqual(
    [...new Set(recorded)].filter((type) => !known.includes(type)),
    [],
  )
  // Accepting is an action of the console, not an operation.
  assert.deepEqual(
    known.filter((type) => !recorded.includes(type)),
    ['invitation_accepted'],
  )
})
