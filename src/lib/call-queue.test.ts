import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CallQueue } from './call-queue.ts'

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('CallQueue', () => {
  it('lets a limited number of calls continue per event-loop turn, in order', async () => {
    const queue = new CallQueue(2)
    const continued: number[] = []
    const all = [0, 1, 2, 3, 4, 5, 6].map(async (number) => {
      await queue.turn()
      continued.push(number)
    })
    await Promise.resolve()
    assert.deepEqual(continued, [0, 1])
    assert.equal(queue.isBusy, true)
    await nextTurn()
    assert.deepEqual(continued, [0, 1, 2, 3])
    await nextTurn()
    assert.deepEqual(continued, [0, 1, 2, 3, 4, 5])
    await Promise.all(all)
    assert.deepEqual(continued, [0, 1, 2, 3, 4, 5, 6])
    assert.equal(queue.isBusy, false)
    await nextTurn()
    assert.deepEqual([queue.turn(), queue.turn()], [undefined, undefined])
  })

  it('lets calls continue at once when too many are waiting', () => {
    const queue = new CallQueue(1, 2)
    assert.equal(queue.turn(), undefined)
    assert.ok(queue.turn())
    assert.ok(queue.turn())
    assert.equal(queue.turn(), undefined)
  })
})
