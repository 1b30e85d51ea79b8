import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as later } from 'node:timers/promises'
import { makeSendOrder, type SendPermit } from './send-order.ts'

const never = new AbortController().signal

function watch(turns: SendPermit[]): number[] {
  const begun: number[] = []
  for (const [index, turn] of turns.entries()) void turn.begin(never).then(() => begun.push(index))
  return begun
}

describe('turns to send', () => {
  it('come in the order in which they were taken, so many at once', async () => {
    const { take } = makeSendOrder(2)
    const turns = [take(), take(), take(), take(), take()]
    const begun = watch(turns.toReversed())
    await later()
    assert.deepEqual(begun.toSorted(), [3, 4])
    turns[1]!.end()
    await later()
    assert.deepEqual(begun.toSorted(), [2, 3, 4])
    turns[0]!.end()
    turns[2]!.end()
    await later()
    assert.deepEqual(begun.toSorted(), [0, 1, 2, 3, 4])
  })

  it('are left out by one that has nothing to send', async () => {
    const { take } = makeSendOrder(1)
    const turns = [take(), take(), take()]
    const begun = watch(turns)
    turns[1]!.end()
    await later()
    assert.deepEqual(begun, [0])
    turns[0]!.end()
    await later()
    assert.ok(begun.includes(2))
  })

  it('may be asked for again, as after a failure that passes', async () => {
    const { take } = makeSendOrder(1)
    const [first, second] = [take(), take()]
    await first.begin(never)
    await first.begin(never)
    const begun = watch([second])
    await later()
    assert.deepEqual(begun, [])
  })

  it('are waited for no longer than the signal says', async () => {
    const { take } = makeSendOrder(1)
    take()
    const second = take()
    const aborting = new AbortController()
    const waiting = second.begin(aborting.signal)
    aborting.abort(new Error('over'))
    await assert.rejects(waiting, /over/)
    await assert.rejects(second.begin(aborting.signal), /over/)
  })
})
