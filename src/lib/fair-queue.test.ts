import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { FairQueue, QueueFull } from './fair-queue.ts'

/** A queue whose work ends when the test decides; `begun` has the names in the order of their start. */
function setUp(limits: { atOnce: number; mostWaiting: number; mostWaitingPerKey: number }) {
  const queue = new FairQueue(limits)
  const begun: string[] = []
  const ends: (() => void)[] = []
  const send = (key: string, name = key) =>
    queue.run(key, () => {
      begun.push(name)
      return new Promise<string>((resolve) => ends.push(() => resolve(name)))
    })
  const finish = async () => {
    for (let end = ends.shift(); end; end = ends.shift()) {
      end()
      await nextTurn()
    }
  }
  return { queue, begun, send, finish }
}

describe('a fair queue', () => {
  it('serves keys alternately, however many callers wait with one', async () => {
    const { begun, send, finish } = setUp({ atOnce: 1, mostWaiting: 10, mostWaitingPerKey: 10 })
    const sent = [send('a', 'a1'), send('a', 'a2'), send('a', 'a3'), send('a', 'a4'), send('b'), send('c')]
    await finish()
    assert.deepEqual(begun, ['a1', 'a2', 'b', 'c', 'a3', 'a4'])
    assert.deepEqual(await Promise.all(sent), ['a1', 'a2', 'a3', 'a4', 'b', 'c'])
  })

  it('limits concurrency, and continues after a failure', async () => {
    const { queue, begun, send, finish } = setUp({ atOnce: 2, mostWaiting: 10, mostWaitingPerKey: 10 })
    const failing = assert.rejects(
      queue.run('a', () => Promise.reject(new Error('no'))),
      /no/,
    )
    const sent = ['b', 'c', 'd'].map((key) => send(key))
    await nextTurn()
    await failing
    assert.deepEqual(begun, ['b', 'c'])
    await finish()
    assert.deepEqual(await Promise.all(sent), ['b', 'c', 'd'])
  })

  it('rejects callers beyond the limit of a key', async () => {
    const { send, finish } = setUp({ atOnce: 1, mostWaiting: 10, mostWaitingPerKey: 2 })
    const sent = [send('a'), send('a'), send('a')]
    await assert.rejects(send('a'), QueueFull)
    const other = send('b')
    await finish()
    assert.equal((await Promise.all([...sent, other])).length, 4)
  })

  it('rejects the last waiting caller of the most frequent key for a caller with a less frequent one', async () => {
    const { begun, send, finish } = setUp({ atOnce: 1, mostWaiting: 3, mostWaitingPerKey: 3 })
    const sent = [send('a', 'a1'), send('a', 'a2'), send('a', 'a3')]
    const last = assert.rejects(send('a', 'a4'), QueueFull)
    const other = send('b')
    await last
    const third = assert.rejects(sent[2]!, QueueFull)
    const another = send('c')
    await third
    // All keys have equally few waiting callers now.
    await assert.rejects(send('d'), QueueFull)
    await finish()
    assert.deepEqual(begun, ['a1', 'a2', 'b', 'c'])
    await Promise.all([sent[0], sent[1], other, another])
  })
})
