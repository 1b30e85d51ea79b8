import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CallQueue } from './call-queue.ts'

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('turns', () => {
  it('let as many go on as a turn has, the others in their order, turn by turn', async () => {
    const turns = new CallQueue(2)
    const gone: number[] = []
    const all = [0, 1, 2, 3, 4, 5, 6].map(async (number) => {
      await turns.turn()
      gone.push(number)
    })
    await Promise.resolve()
    assert.deepEqual(gone, [0, 1])
    assert.equal(turns.isBusy, true)
    await nextTurn()
    assert.deepEqual(gone, [0, 1, 2, 3])
    await nextTurn()
    assert.deepEqual(gone, [0, 1, 2, 3, 4, 5])
    await Promise.all(all)
    assert.deepEqual(gone, [0, 1, 2, 3, 4, 5, 6])
    assert.equal(turns.isBusy, false)
    await nextTurn()
    assert.deepEqual([turns.turn(), turns.turn()], [undefined, undefined])
  })

  it('let nobody wait beyond the most that may', () => {
    const turns = new CallQueue(1, 2)
    assert.equal(turns.turn(), undefined)
    assert.ok(turns.turn())
    assert.ok(turns.turn())
    assert.equal(turns.turn(), undefined)
  })
})
