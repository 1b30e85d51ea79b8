import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { limitConcurrency } from './kafka-scheduling.ts'

describe('the concurrency limit of Kafka connections', () => {
  it('runs at most three tasks at once, and completes all of them, also after failures', async () => {
    const limited = limitConcurrency(3)
    let busyCount = 0
    let mostBusy = 0
    const tasks = Array.from({ length: 20 }, (_, index) =>
      limited(async () => {
        mostBusy = Math.max(mostBusy, ++busyCount)
        await sleep(1)
        busyCount--
        if (index % 4 === 0) throw new Error(`task ${index} fails`)
        return index
      }),
    )
    const results = await Promise.allSettled(tasks)
    assert.equal(mostBusy, 3)
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 15)
    assert.equal(await limited(async () => 'free again'), 'free again')
  })
})
