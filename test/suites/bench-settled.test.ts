import assert from 'node:assert/strict'
import { it } from 'node:test'
import { settledState } from '../../bench/load.ts'

const everyMs = 1

it('a benchmark reads the store only after interrupted requests have ended, even if the server stalls', async () => {
  const readings = [640, 647, 647, 647, 650, 689, 689]
  const underWay = [40, 40, 40, 3, 0, 0]
  const state = await settledState({
    readState: async () => ({ admins: new Set<string>(), activities: readings.shift()! }),
    countUnderWay: async () => underWay.shift()!,
    everyMs,
    limitMs: 60_000,
  })
  assert.equal(state.activities, 689)
  assert.deepEqual(underWay, [])
})

it('a benchmark fails when interrupted requests never end', async () => {
  const readState = async () => ({ admins: new Set<string>(), activities: 1 })
  await assert.rejects(
    settledState({ readState, countUnderWay: async () => 7, everyMs, limitMs: 20 }),
    /^Error: after 20 ms, 7 interrupted requests are still running$/,
  )
})
