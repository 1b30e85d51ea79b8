import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeTurnstile } from './kafka-pace.ts'

describe('the turnstile of Kafka connections', () => {
  it('lets in no more than some at once, and all of them in the end, also after failures', async () => {
    const inTurn = makeTurnstile(3)
    let busyCount = 0
    let mostBusy = 0
    const works = Array.from({ length: 20 }, (_, index) =>
      inTurn(async () => {
        mostBusy = Math.max(mostBusy, ++busyCount)
        await sleep(1)
        busyCount--
        if (index % 4 === 0) throw new Error(`work ${index} fails`)
        return index
      }),
    )
    const results = await Promise.allSettled(works)
    assert.equal(mostBusy, 3)
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 15)
    assert.equal(await inTurn(async () => 'free again'), 'free again')
  })
})
