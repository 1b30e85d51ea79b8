import assert from 'node:assert/strict'
import { it } from 'node:test'
import { operations } from '../../src/operations.ts'
import { activityTypes } from './activity-types.ts'

it('has labels for the activity types of all operations', () => {
  const known = activityTypes.flatMap(({ types }) => Object.keys(types))
  const recorded = operations.flatMap(({ activity, prepare }) => [activity ?? [], prepare?.activity ?? []].flat())
  assert.deepEqual(
    [...new Set(recorded)].filter((type) => !known.includes(type)),
    [],
  )
  // Accepting an invitation is a console action, not an operation.
  assert.deepEqual(
    known.filter((type) => !recorded.includes(type)),
    ['invitation_accepted'],
  )
})
