import assert from 'node:assert/strict'
import { it } from 'node:test'
import { DeadRunners } from './dead-runners.ts'

it('a runner is dead when it has not renewed for a lease by the monotonic clock, whatever the wall clock says', () => {
  const deadRunners = new DeadRunners({ leaseMs: 15_000 })
  const dead = { id: 'dead', seenAt: '2026-11-20T12:00:00.000Z' }
  const aheadAt = (minute: number) => ({ id: 'ahead', seenAt: `2026-11-20T12:0${minute}:00.000Z` })
  assert.deepEqual(deadRunners.find([dead, aheadAt(0)], 1_000), [])
  assert.deepEqual(deadRunners.find([dead, aheadAt(0)], 16_000), [])
  assert.deepEqual(deadRunners.find([dead, aheadAt(1)], 16_001), [dead])
  assert.deepEqual(deadRunners.find([dead, aheadAt(1)], 31_001), [dead])
  assert.deepEqual(deadRunners.find([aheadAt(1)], 31_002), [aheadAt(1)])
  assert.deepEqual(deadRunners.find([aheadAt(2)], 31_003), [])
  // One that was gone in between is watched from the start.
  assert.deepEqual(deadRunners.find([dead, aheadAt(2)], 40_000), [])
})
