// An announced object that cannot be loaded is stored in the rejected rows, and does not block the others.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { LineQueue } from '../../test/runner-world/line-queue.ts'
import { lineEncoders } from '../../test/runner-world/line-rows.ts'
import { assertDone, batchSize, makeQueueWorld, running, until } from '../../test/runner-world/queue-world.ts'
import { NotConnected, ProbeFailure } from '../source-shapes/source-failure.ts'
import { messagePartition } from '../sources/object-storage/queued-objects.ts'
import type { Batch } from '../sources/source.ts'
import { notARow } from './queue/given-up.ts'

describe('an announced object that cannot be loaded', () => {
  it('is stored once in the rejected rows, and does not block the others of a pipe that never ran before', async () => {
    const queue = new LineQueue()
    queue.put('broken', 'x\nBROKEN\n')
    queue.put('good', 'good\n')
    queue.notify('broken', 'good')
    queue.sendUnparsable()
    queue.notify('never there')
    queue.notify('good')
    const world = makeQueueWorld(queue, { state: 'Provisioning' })
    assert.deepEqual(await world.runToEnd(), { end: 'completed' })
    assert.deepEqual(world.engine.lines, ['good'])
    const kept = [...world.engine.badRows.values()]
    assert.ok(kept.every(({ meta }) => meta === notARow))
    assert.deepEqual(kept.map(({ reason }) => reason).toSorted(), [
      'the message leads nowhere',
      'the message leads nowhere',
      'the object cannot be read: it is broken; nothing of it is in the table',
    ])
    const { rowsRefused, rowsWritten, retries } = world.store.counters
    assert.deepEqual({ rowsRefused, rowsWritten }, { rowsRefused: 3, rowsWritten: 1 })
    assert.equal(retries, 4)
    assert.ok(world.statuses.every(({ state }) => state !== 'degraded'))
    assertDone(world, 'poison')
  })

  it('is stored by the worker that receives it again, whichever worker claimed it', async () => {
    const queue = new LineQueue()
    queue.sendUnparsable()
    const world = makeQueueWorld(queue)
    const partition = messagePartition(queue.messages[0]?.id ?? '')
    world.store.positions.set(partition, { partition, position: '', workerIndex: 0 })
    assert.deepEqual(await world.newWorker({ workerIndex: 1, workerCount: 2 }).run(), { end: 'completed' })
    assert.equal(world.engine.badRows.size, 1)
    assertDone(world, 'of another')
  })

  it('is tried again while others are loaded', async () => {
    const queue = new LineQueue()
    queue.put('a broken', 'BROKEN\n')
    for (const key of ['b', 'c', 'd']) queue.put(key, `${key}\n`)
    const times = { backOff: { firstMs: 60_000, longestMs: 60_000 }, lookAgainMs: 1 }
    queue.isEndless = true
    for (const key of ['a broken', 'b', 'c', 'd']) queue.notify(key)
    const encoders = lineEncoders({ pieceBytes: [10] })
    const { world, stop } = await running(queue, { options: { batchSize, encoders, times } })
    await until(() => queue.messages.length === 1)
    assert.deepEqual(world.engine.lines, ['b', 'c', 'd'])
    await until(() => world.statuses.at(-1)?.doing === 'Waiting for messages; 1 file will be tried again')
    assert.deepEqual(await stop(), { end: 'stopped' })
    assert.equal(queue.messages.length, 1)
  })

  it('is tried five times, also when the worker starts again after each attempt', async () => {
    const queue = new LineQueue()
    queue.put('broken', 'BROKEN\n')
    queue.notify('broken')
    const world = makeQueueWorld(queue, {
      makeSource: (pass) => {
        const source = queue.source(pass)
        const open: typeof source.open = async (positions, surroundings, selection) => {
          const reader = await source.open(positions, surroundings, selection)
          let hasRead = false
          const read: typeof reader.read = async (limits) => {
            if (hasRead && !selection?.until && queue.messages.length > 0) throw new NotConnected()
            hasRead = true
            return reader.read(limits)
          }
          return { ...reader, read }
        }
        return { ...source, open }
      },
    })
    assert.deepEqual(await world.runToEnd(), { end: 'completed' })
    assert.equal(world.faults.calls.filter((name) => name === 'openObject').length, 5)
    assert.ok(world.statuses.some(({ state }) => state === 'degraded'))
    assert.equal(world.engine.badRows.size, 1)
  })

  it('is finally reported as a failure of the source when it is more than one object', async () => {
    const queue = new LineQueue()
    queue.put('a', 'a\n')
    const world = makeQueueWorld(queue, {
      state: 'Provisioning',
      makeSource: (pass) => {
        const source = queue.source(pass)
        const open: typeof source.open = async (...given) => {
          const reader = await source.open(...given)
          return { ...reader, read: async (limits) => (await reader.read(limits)).map(forbidden) }
        }
        return { ...source, open }
      },
    })
    assert.deepEqual(await world.runToEnd(), { end: 'failed', reason: 'the bucket may not be read; grant it' })
    assert.equal(world.engine.badRows.size, 0)
  })
})

function forbidden(batch: Batch): Batch {
  const open = async (): Promise<never> => {
    const reason = 'the bucket may not be read'
    throw new ProbeFailure({ step: 'read', code: 'permission_missing', reason, remedy: 'grant it' })
  }
  return batch.object ? { ...batch, object: { ...batch.object, open } } : batch
}
