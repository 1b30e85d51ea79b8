import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { setImmediate as settled } from 'node:timers/promises'
import type { MessageQueue } from './message-queue.ts'
import { countWaiting } from './queue-waiting.ts'

function counting(test: TestContext, { countsHeld = false, heldCount = 0 } = {}) {
  const now = { ms: 0 }
  test.mock.method(performance, 'now', () => now.ms)
  const answers: PromiseWithResolvers<number>[] = []
  const queue: MessageQueue = {
    countsHeld,
    receive: async () => [],
    extend: async () => undefined,
    remove: async () => undefined,
    count: () => {
      const answer = Promise.withResolvers<number>()
      answers.push(answer)
      return answer.promise
    },
    describe: async () => undefined,
    close: () => undefined,
  }
  const waiting = countWaiting(queue, { count: heldCount }, new AbortController().signal)
  const answer = async (count: number): Promise<void> => {
    answers.at(-1)?.resolve(count)
    await settled()
  }
  return { waiting, now, answers, answer }
}

describe('the number of waiting messages', () => {
  it('is updated after messages were received, at most every five seconds', async (test) => {
    const { waiting, now, answers, answer } = counting(test)
    assert.equal(waiting.count(), undefined)
    waiting.received(10, 0)
    await answer(70)
    assert.equal(waiting.count(), 70)
    now.ms = 4_999
    waiting.received(10, 0)
    assert.equal(answers.length, 1)
    now.ms = 5_000
    waiting.received(10, 0)
    await answer(50)
    assert.deepEqual([answers.length, waiting.count()], [2, 50])
  })

  it('is zero after an empty receive, also with a pending request', async (test) => {
    const { waiting, answers, answer } = counting(test)
    waiting.received(10, 0)
    waiting.received(0, 20_000)
    assert.equal(waiting.count(), 0)
    await answer(70)
    assert.deepEqual([answers.length, waiting.count()], [1, 0])
  })

  it('is updated after an empty receive that did not wait', async (test) => {
    const { waiting, answer } = counting(test)
    waiting.received(0, 0)
    assert.equal(waiting.count(), 0)
    await answer(3)
    assert.equal(waiting.count(), 3)
  })

  it('excludes held messages if the queue counts them, and is unknown when the queue does not answer', async (test) => {
    const { waiting, now, answers, answer } = counting(test, { countsHeld: true, heldCount: 4 })
    waiting.received(4, 0)
    await answer(9)
    assert.equal(waiting.count(), 5)
    now.ms = 5_000
    waiting.received(4, 0)
    answers.at(-1)?.reject(new Error('away'))
    await settled()
    assert.equal(waiting.count(), undefined)
  })
})
