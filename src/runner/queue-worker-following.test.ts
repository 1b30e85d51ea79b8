// A worker waits for the messages of a queue until it is stopped, and deletes or releases them.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { LineQueue } from '../../test/runner-world/line-queue.ts'
import {
  assertDone,
  makeQueueWorld,
  running,
  slowPolls,
  until,
  withReaders,
} from '../../test/runner-world/queue-world.ts'
import { EngineError } from '../engine/engine.ts'
import { NotConnected } from '../source-shapes/source-failure.ts'
import type { SourceReader } from '../sources/source.ts'

describe('a worker that follows a queue', () => {
  it('runs as soon as it knows that there is nothing to load', async () => {
    const queue = new LineQueue()
    queue.isEndless = true
    const { world, stop } = await running(queue, { settings: slowPolls, state: 'Provisioning' })
    await until(() => world.statuses.at(-1)?.doing === 'Waiting for messages')
    assert.equal(world.statuses.at(-1)?.state, 'running')
    assert.deepEqual(await stop(), { end: 'stopped' })
  })

  it('waits for messages, and loads nothing more, after it has given an object up', async () => {
    const queue = new LineQueue()
    queue.isEndless = true
    const { world, stop } = await running(queue, { settings: slowPolls })
    queue.put('broken', 'BROKEN\n')
    queue.notify('broken')
    await until(() => world.engine.badRows.size === 1)
    await until(() => world.statuses.at(-1)?.doing === 'Waiting for messages')
    await until(() => world.statuses.at(-1)?.lag === 0)
    assert.deepEqual(await stop(), { end: 'stopped' })
  })

  it('reports how many messages will be tried again', async () => {
    const queue = new LineQueue()
    queue.isEndless = true
    const note = () => '3 messages will be tried again'
    const { world, stop } = await running(queue, { settings: slowPolls, ...withReaders(queue, () => ({ note })) })
    await until(() => world.statuses.at(-1)?.doing === 'Waiting for messages; 3 messages will be tried again')
    await stop()
  })

  it('reports that the queue cannot be reached', async () => {
    const queue = new LineQueue()
    queue.put('a', 'a\n')
    let reads = 0
    const more = (reader: SourceReader): Partial<SourceReader> => ({
      read: (limits) =>
        ++reads === 1 ? Promise.reject(new NotConnected('the queue at queue.example.com')) : reader.read(limits),
    })
    const world = makeQueueWorld(queue, withReaders(queue, more))
    assert.deepEqual(await world.runToEnd(), { end: 'completed' })
    const reasons = world.statuses.flatMap(({ reason }) => reason ?? [])
    assert.deepEqual(
      new Set(reasons),
      new Set(['the queue at queue.example.com cannot be reached, or broke the connection off']),
    )
  })

  it('releases its messages when it is stopped, and not when it fails', async () => {
    const queue = new LineQueue()
    queue.isEndless = true
    queue.put('a', 'a\n')
    let [reads, givenBack] = [0, 0]
    const more = (reader: SourceReader): Partial<SourceReader> => ({
      read: (limits) => (++reads <= 2 ? Promise.reject(new NotConnected()) : reader.read(limits)),
      giveBack: async () => {
        givenBack++
      },
    })
    const { world, stop } = await running(queue, { settings: slowPolls, ...withReaders(queue, more) })
    await until(() => world.engine.lines.length === 1)
    await until(() => world.statuses.at(-1)?.doing === 'Waiting for messages')
    assert.equal(givenBack, 0)
    assert.deepEqual(await stop(), { end: 'stopped' })
    assert.equal(givenBack, 1)
  })

  it('waits for messages until it is stopped', async () => {
    const queue = new LineQueue()
    queue.isEndless = true
    queue.put('a', 'a\n')
    const settings = { object_storage_polling_interval_ms: 60_000 }
    const { world, stop } = await running(queue, { settings })
    await until(() => world.statuses.at(-1)?.doing === 'Waiting for messages')
    assert.equal(world.statuses.at(-1)?.state, 'running')
    assert.deepEqual(await stop(), { end: 'stopped' })
    assert.deepEqual(world.engine.lines, ['a'])
    assert.equal(world.engine.openSinks, 0)
  })

  it('deletes no message of an object that is only read when it is stopped', async () => {
    const queue = new LineQueue()
    for (const key of ['a', 'b', 'c']) queue.put(key, `${key} is one line\n${key} is another line\n`)
    for (const key of ['a', 'b', 'c']) queue.notify(key)
    const { world, stop } = await running(queue)
    const { promise, resolve } = Promise.withResolvers<void>()
    world.engine.held = promise
    // One that is inserted, and one that is prepared.
    await until(() => world.store.deliveries.size === 2)
    const ended = stop()
    resolve()
    assert.deepEqual(await ended, { end: 'stopped' })
    assert.equal(world.store.deliveries.size, 0)
    assert.equal(queue.messages.length, 3)
    assert.deepEqual(await world.runToEnd(), { end: 'completed' })
    assert.equal(world.engine.lines.length, 6)
    assertDone(world, 'stopped')
  })

  it('ends when another worker has its lease, and leaves its messages to that worker', async () => {
    const queue = new LineQueue()
    for (const key of ['a', 'b', 'c', 'd']) queue.put(key, `${key}\n`)
    for (const key of ['a', 'b', 'c', 'd']) queue.notify(key)
    const world = makeQueueWorld(queue)
    const { promise, resolve } = Promise.withResolvers<void>()
    world.engine.held = promise
    const first = world.newWorker().run()
    // One that is inserted, and one that is prepared.
    await until(() => world.store.deliveries.size === 2)
    const second = world.newWorker().run()
    resolve()
    assert.deepEqual(await first, { end: 'lost' })
    assert.deepEqual(await second, { end: 'completed' })
    assert.deepEqual(world.engine.lines.toSorted(), ['a', 'b', 'c', 'd'])
    assertDone(world, 'lost')
  })

  it('waits for an unavailable engine without counting it as a failure of an object', async () => {
    const queue = new LineQueue()
    queue.put('a', 'a\n')
    queue.notify('a')
    const world = makeQueueWorld(queue)
    world.engine.refusal = new EngineError('passing', 'the engine at db.example.com:8123 cannot be reached')
    const ended = world.newWorker().run()
    await until(() => world.engine.inserts.length > 12)
    assert.equal(world.statuses.at(-1)?.state, 'degraded')
    world.engine.refusal = undefined
    assert.deepEqual(await ended, { end: 'completed' })
    assert.deepEqual(world.engine.lines, ['a'])
    assert.equal(world.engine.badRows.size, 0)
  })
})
