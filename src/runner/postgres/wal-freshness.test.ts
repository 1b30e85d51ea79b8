import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { makeFreshness } from './wal-freshness.ts'

it('the log is delivered up to the time at which its end was queried, when that end is reached', async () => {
  const delivered: number[] = []
  let end: bigint | undefined = 100n
  const findEnd = async (): Promise<bigint> => end ?? Promise.reject(new Error('the source does not answer'))
  const freshness = makeFreshness({ everyMs: 0, findEnd, delivered: (untilMs) => delivered.push(untilMs) })
  const look = async (acknowledged: bigint): Promise<void> => {
    freshness.look(acknowledged)
    await nextTurn()
  }
  const begunMs = Date.now()
  await look(0n)
  const askedMs = Date.now()
  end = 200n
  await look(99n)
  assert.deepEqual(delivered, [])
  await look(100n)
  assert.equal(delivered.length, 1)
  assert.ok(begunMs <= delivered[0]! && delivered[0]! <= askedMs)
  await look(199n)
  end = undefined
  await look(200n)
  assert.equal(delivered.length, 2)
  await look(10_000n)
  assert.equal(delivered.length, 2, 'nobody knows where the log ends')
})
