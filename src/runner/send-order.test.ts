import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as later } from 'node:timers/promises'
import { makeSendOrder, type SendPermit } from './send-order.ts'

const never = new AbortController().signal

function watch(permits: SendPermit[]): number[] {
  const begun: number[] = []
  for (const [index, permit] of permits.entries()) void permit.begin(never).then(() => begun.push(index))
  return begun
}

describe('permits to send', () => {
  it('are given in the order of the requests, N at a time', async () => {
    const { take } = makeSendOrder(2)
    const permits = [take(), take(), take(), take(), take()]
    const begun = watch(permits.toReversed())
    await later()
    assert.deepEqual(begun.toSorted(), [3, 4])
    permits[1]!.end()
    await later()
    assert.deepEqual(begun.toSorted(), [2, 3, 4])
    permits[0]!.end()
    permits[2]!.end()
    await later()
    assert.deepEqual(begun.toSorted(), [0, 1, 2, 3, 4])
  })

  it('are skipped by a delivery that has nothing to send', async () => {
    const { take } = makeSendOrder(1)
    const permits = [take(), take(), take()]
    const begun = watch(permits)
    permits[1]!.end()
    await later()
    assert.deepEqual(begun, [0])
    permits[0]!.end()
    await later()
    assert.ok(begun.includes(2))
  })

  it('may be requested again, as after a temporary failure', async () => {
    const { take } = makeSendOrder(1)
    const [first, second] = [take(), take()]
    await first.begin(never)
    await first.begin(never)
    const begun = watch([second])
    await later()
    assert.deepEqual(begun, [])
  })

  it('are not waited for after an abort', async () => {
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
