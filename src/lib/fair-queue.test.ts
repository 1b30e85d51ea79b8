import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { FairQueue, QueueFull } from './fair-queue.ts'

/** A queue whose work ends when the test says so; `begun` has the names of the work in the order it was begun. */
function setUp(limits: { atOnce: number; mostWaiting: number; mostWaitingInLane: number }) {
  const queue = new FairQueue(limits)
  const begun: string[] = []
  const ends: (() => void)[] = []
  const send = (lane: string, name = lane) =>
    queue.run(lane, () => {
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
  it('lets lanes take turns, however many wait in one', async () => {
    const { begun, send, finish } = setUp({ atOnce: 1, mostWaiting: 10, mostWaitingInLane: 10 })
    const sent = [send('a', 'a1'), send('a', 'a2'), send('a', 'a3'), send('a', 'a4'), send('b'), send('c')]
    await finish()
    assert.deepEqual(begun, ['a1', 'a2', 'b', 'c', 'a3', 'a4'])
    assert.deepEqual(await Promise.all(sent), ['a1', 'a2', 'a3', 'a4', 'b', 'c'])
  })

  it('runs no more at once than it may, and goes on after a failure', async () => {
    const { queue, begun, send, finish } = setUp({ atOnce: 2, mostWaiting: 10, mostWaitingInLane: 10 })
    const failing = assert.rejects(
      queue.run('a', () => Promise.reject(new Error('no'))),
      /no/,
    )
    const sent = ['b', 'c', 'd'].map((lane) => send(lane))
    await nextTurn()
    await failing
    assert.deepEqual(begun, ['b', 'c'])
    await finish()
    assert.deepEqual(await Promise.all(sent), ['b', 'c', 'd'])
  })

  it('refuses what comes on top in the same lane', async () => {
    const { send, finish } = setUp({ atOnce: 1, mostWaiting: 10, mostWaitingInLane: 2 })
    const sent = [send('a'), send('a'), send('a')]
    await assert.rejects(send('a'), QueueFull)
    const other = send('b')
    await finish()
    assert.equal((await Promise.all([...sent, other])).length, 4)
  })

  it('takes the last of the longest lane out for somebody of a shorter one', async () => {
    const { begun, send, finish } = setUp({ atOnce: 1, mostWaiting: 3, mostWaitingInLane: 3 })
    const sent = [send('a', 'a1'), send('a', 'a2'), send('a', 'a3')]
    const last = assert.rejects(send('a', 'a4'), QueueFull)
    const other = send('b')
    await last
    const third = assert.rejects(sent[2]!, QueueFull)
    const another = send('c')
    await third
    // All lanes are equally short now.
    await assert.rejects(send('d'), QueueFull)
    await finish()
    assert.deepEqual(begun, ['a1', 'a2', 'b', 'c'])
    await Promise.all([sent[0], sent[1], other, another])
  })
})
