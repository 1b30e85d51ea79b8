// Conformance suite for object sources with a queue, for all stores and queues.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { NotConnected } from '../../src/source-shapes/source-failure.ts'
import type { Batch } from '../../src/sources/source.ts'
import { loopbackEgress, probe, probeFails } from './conformance.ts'
import { finished, keysOf, none, type QueueWorld, reading, readOnce, setUp, short, steady } from './queue-common.ts'
import { loadsObjects } from './queue-loading.ts'

export type { QueueWorld } from './queue-common.ts'

export function queueConformance(start: () => Promise<QueueWorld>): void {
  describe('objects with a queue', () => {
    let world: QueueWorld
    before(async () => {
      world = await start()
    })
    after(() => world.stop())

    loadsObjects(() => world)
    holds(() => world)
    leadsNowhere(() => world)
    isProbed(() => world)
  })
}

function holds(world: () => QueueWorld): void {
  it('deletes a message only when all its objects are durable', async () => {
    const { source, notify, counts } = await setUp(world(), ['in/a', 'in/b'])
    await notify('in/a', 'in/b')
    await reading(source(), async ({ read, finish }) => {
      const [first, second] = await read({ waitMs: 5_000 })
      await finish([first!])
      assert.deepEqual(await counts(), { waiting: 0, held: 1 })
      await finish([second!])
      assert.deepEqual(await counts(), none)
    })
  })

  it('returns an object of two messages once, and deletes both', async () => {
    const { source, notify, counts } = await setUp(world(), ['in/a', 'in/b'])
    await notify('in/a')
    await notify('in/a', 'in/b')
    await reading(source(), async ({ read, finish }) => {
      const given: Batch[] = []
      const isLeft = async () => given.length < 2 || (await counts()).waiting > 0
      for (let round = 0; round < 4 || (round < 30 && (await isLeft())); round++)
        given.push(...(await read({ waitMs: 500 })))
      assert.deepEqual(keysOf(given), ['in/a', 'in/b'])
      await finish(given)
      assert.deepEqual(await counts(), none)
    })
  })

  it('extends the visibility timeout while it is open, and not after', async () => {
    const { source, notify, counts } = await setUp(world(), ['in/a'])
    await notify('in/a')
    await reading(source({}, steady), async (one) => {
      assert.deepEqual(keysOf(await one.read({ waitMs: 5_000 })), ['in/a'])
      await reading(source({}, steady), async (other) => assert.deepEqual(await other.read({ waitMs: 6_000 }), []))
      assert.deepEqual(await counts(), { waiting: 0, held: 1 })
    })
    await reading(source({}, steady), async ({ read, finish }) => {
      const again = await read({ waitMs: 15_000 })
      assert.deepEqual(keysOf(again), ['in/a'])
      await finish(again)
      assert.deepEqual(await counts(), none)
    })
  })

  it('returns the lag, including messages that it holds', async () => {
    const { source, notify } = await setUp(world(), ['in/a'])
    await notify('in/a')
    const signal = AbortSignal.timeout(10_000)
    const measured = async (index: number, skipInitialLoad: boolean): Promise<number | undefined> =>
      source({ skipInitialLoad }).measureLag?.({}, { egress: loopbackEgress, signal }, { index, count: 2 })
    assert.deepEqual([await measured(0, true), await measured(1, true)], [1, 0])
    // One of the two workers lists the file; the first counts the queue.
    assert.equal(((await measured(0, false)) ?? 0) + ((await measured(1, false)) ?? 0), 2)
    await reading(source(), async ({ reader, read }) => {
      assert.equal(reader.lag(), undefined)
      assert.equal((await read({ waitMs: 5_000 })).length, 1)
      for (let look = 0; look < 200 && reader.lag() === undefined; look++) await wait(50)
      const lag = reader.lag() ?? 0
      assert.ok(lag === 1 || lag === 2, `${lag}`)
    })
  })

  it('returns a lag of zero when the queue is empty', async () => {
    const { source, notify } = await setUp(world(), ['in/a'])
    await notify('in/a')
    await reading(source(), async ({ reader, read, finish }) => {
      await finish(await read({ waitMs: 5_000 }))
      assert.deepEqual(await read({ waitMs: 1_000 }), [])
      assert.equal(reader.lag(), 0)
    })
  })

  it('releases its messages when it closes', async () => {
    const { source, notify, counts } = await setUp(world(), ['in/a', 'in/b'])
    await notify('in/a')
    await notify('in/b')
    const given: Batch[] = []
    await reading(source(), async ({ reader, read }) => {
      for (let round = 0; round < 10 && given.length < 2; round++) given.push(...(await read({ waitMs: 1_000 })))
      assert.deepEqual(await counts(), { waiting: 0, held: 2 })
      await reader.giveBack?.()
      assert.deepEqual(await counts(), { waiting: 2, held: 0 })
    })
    await reading(source(), async ({ read, finish }) => {
      const again: Batch[] = []
      for (let round = 0; round < 10 && again.length < 2; round++) again.push(...(await read({ waitMs: 1_000 })))
      assert.deepEqual(keysOf(again), keysOf(given))
      await finish(again)
      assert.deepEqual(await counts(), none)
    })
  })

  it('ends when the signal aborts', async () => {
    const { source } = await setUp(world())
    const reader = await source().open({}, { egress: loopbackEgress, signal: AbortSignal.timeout(20_000) })
    const startedAtMs = performance.now()
    const limits = { maxRecords: 1, maxBytes: 1, waitMs: 10_000 }
    await assert.rejects(reader.read({ ...limits, signal: AbortSignal.timeout(200) }), NotConnected)
    const reads = assert.rejects(reader.read({ ...limits, signal: AbortSignal.timeout(20_000) }), NotConnected)
    await wait(100)
    await reader.close()
    await reads
    assert.ok(performance.now() - startedAtMs < 9_000)
  })
}

function leadsNowhere(world: () => QueueWorld): void {
  it('deletes messages for other objects', async () => {
    const { source, notify, counts, queueUrl } = await setUp(world(), ['in/a', 'out/b'])
    await notify('out/b')
    await notify('in/folder/')
    await world().send(queueUrl, world().eventOf('another-bucket', 'in/a'))
    await notify('out/b', 'in/a')
    await reading(source(), async ({ read, finish }) => {
      const given: Batch[] = []
      const isLeft = async () => given.length < 1 || (await counts()).waiting > 0
      for (let round = 0; round < 4 || (round < 30 && (await isLeft())); round++)
        given.push(...(await read({ waitMs: 500 })))
      assert.deepEqual(keysOf(given), ['in/a'])
      await finish(given)
      assert.deepEqual(await counts(), none)
    })
  })

  it('ignores invalid messages, and rejects them when they are received for the third time', async () => {
    const { source, notify, counts, queueUrl } = await setUp(world(), ['in/a'])
    const nonsense = 'not even JSON: <b>&amp; "so" on</b> ü'
    await world().send(queueUrl, nonsense)
    await notify('in/missing', 'in/a')
    await reading(source({}, short), async ({ reader, read, finish }) => {
      const given: Batch[] = []
      const startedAtMs = performance.now()
      assert.equal(reader.note?.(), undefined)
      const notes = new Set<string | undefined>()
      while (given.filter(({ rejected }) => rejected).length < 2) {
        assert.ok(performance.now() - startedAtMs < 20_000, 'in time')
        const some = await read({ waitMs: 1_000 })
        given.push(...some)
        notes.add(reader.note?.())
        await finish(some.filter(({ object }) => object))
      }
      assert.ok(notes.has('2 messages will be tried again'), [...notes].join())
      assert.equal(reader.note?.(), undefined)
      assert.ok(performance.now() - startedAtMs > 1_500, 'not the first time')
      const rejected = given.filter(({ rejected }) => rejected)
      const rejections = rejected.map(({ rejected }) => rejected!)
      assert.ok(rejected.every(({ partition, next }) => /^message:[\w-]+$/.test(partition) && next === finished))
      assert.deepEqual(
        rejections.map(({ reason }) => reason).toSorted(),
        [
          'the message is not a notification about objects that Penstock understands',
          'the object "in/missing" that the message announces does not exist',
        ].toSorted(),
      )
      assert.ok(rejections.some(({ raw }) => Buffer.from(raw).toString() === nonsense))
      assert.ok(given.filter(({ object }) => object).every(({ object }) => object!.key === 'in/a'))
      await finish(rejected)
      assert.deepEqual(await counts(), none)
    })
  })
}

function isProbed(world: () => QueueWorld): void {
  it('is probed with its queue, without receiving messages', async () => {
    const { source, notify, counts } = await setUp(world(), ['in/a'])
    await notify('in/a')
    const { samples, steps } = await probe(source())
    assert.deepEqual(samples[0]!.rows, [{ id: 0 }])
    assert.deepEqual(steps, ['connect', 'authenticate', 'describe', 'read', 'decode'])
    assert.deepEqual(await counts(), { waiting: 1, held: 0 })
  })

  it('reports a missing queue', async () => {
    const { source, queueUrl } = await setUp(world(), ['in/a'])
    const { secrets } = world()
    const missing = source({ queueUrl: `${queueUrl}-not` })
    const failure = await probeFails(missing, { step: 'describe', code: 'not_found', field: 'queueUrl' }, { secrets })
    assert.match(failure.reason, /the queue "[\w-]+-not" does not exist/)
    const rejected = { name: 'ProbeFailure', code: 'not_found' }
    await assert.rejects(readOnce(missing), rejected)
    await probeFails(source({ queueUrl: 'http://127.0.0.1/' }), { step: 'connect', code: 'not_found' }, { secrets })
  })
}
