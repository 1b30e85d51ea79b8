import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { inRounds } from '../../chaos/system/drill.ts'

describe('the rounds of a drill', () => {
  const roundsOf = (each: boolean[]) => {
    const left = [...each]
    return inRounds(async () => ({ isOnlySlow: left.shift()!, left: left.length }))
  }

  it('end with the first round that is successful or fails for another reason than time', async () => {
    assert.deepEqual(await roundsOf([false, true, true]), { isOnlySlow: false, left: 2, rounds: 1 })
    assert.deepEqual(await roundsOf([true, false, true]), { isOnlySlow: false, left: 1, rounds: 2 })
  })

  it('are three at most, and fail when all of them are too slow', async () => {
    assert.deepEqual(await roundsOf([true, true, true, false]), { isOnlySlow: true, left: 1, rounds: 3 })
  })
})
