// Enhanced fan-out: records arrive by subscription, exactly once whatever happens to it, and by polling without one.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { makeCertificates } from '../../../test/sources/certificates.ts'
import { assertGapless, positionsAfter } from '../../../test/sources/conformance.ts'
import { jsonRecords } from '../../../test/sources/kinesis-conformance.ts'
import { startFanOut } from '../../../test/sources/kinesis-fan-out.ts'
import {
  assertInOrder,
  consumerName,
  limits,
  numbersOf,
  openFanOutWorld,
  range,
  signal,
  sorted,
} from '../../../test/sources/kinesis-fan-out-world.ts'
import { defaultBehavior } from '../../../test/sources/kinesis-subscriptions.ts'
import type { Batch } from '../source.ts'

describe('enhanced fan-out of Kinesis', () => {
  const world = openFanOutWorld()
  const { readers, newStream, open, readOf, until, countOf, idle } = world

  it('registers a consumer of the pipe, and receives records without polling', async () => {
    const streamName = await newStream(3)
    const reader = await open({ streamName })
    await idle(reader, () => world.server.subscriptions() === 3, 'all shards are subscribed to')
    assert.deepEqual(
      [...world.server.consumers.values()].map(({ name, streamName }) => ({ name, streamName })),
      [{ name: consumerName, streamName }],
    )
    world.server.requests.length = 0
    await world.backend.put(streamName, jsonRecords(60))
    const batches = await readOf(reader, 60)
    assert.deepEqual(sorted(numbersOf(batches)), range(60))
    assert.deepEqual(world.server.requests, [])
    assert.equal(reader.note?.(), undefined)
    assert.equal(reader.lag(), 0)
  })

  it('reads every record once when subscriptions end repeatedly', async () => {
    const streamName = await newStream(2)
    Object.assign(world.server.behavior, { endsAfterMs: 80, eventRecords: 7 })
    const reader = await open({ streamName })
    const writing = (async () => {
      for (let round = 0; round < 20; round++) {
        await world.backend.put(streamName, jsonRecords(30, round * 30))
        await wait(30)
      }
    })()
    const batches = await readOf(reader, 600)
    await writing
    assert.deepEqual(sorted(numbersOf(batches)), range(600))
    assertInOrder(batches)
    assert.ok(countOf('SubscribeToShard') >= 6, `${countOf('SubscribeToShard')} subscriptions`)
    const starts = world.server.requests.filter(({ start }) => start).map(({ start }) => start?.Type)
    assert.ok(starts.includes('AFTER_SEQUENCE_NUMBER'))
  })

  for (const [what, behavior] of [
    ['breaks in the middle of a frame', { breaksInFrame: 4 }],
    ['breaks before its first event', { breaksInFrame: 1 }],
    ['goes silent', { isSilentFrom: 4 }],
    ['goes silent before its first event', { isSilentFrom: 1 }],
    ['ends with an error', { exception: 'InternalFailureException' }],
  ] as const) {
    it(`reads every record once when a subscription ${what}`, async () => {
      const streamName = await newStream(2)
      Object.assign(world.server.behavior, { eventRecords: 5, ...behavior })
      await world.backend.put(streamName, jsonRecords(100))
      const reader = await open({ streamName }, {}, { silenceMs: 150 })
      const writing = (async () => {
        for (let round = 0; round < 10; round++) {
          await world.backend.put(streamName, jsonRecords(20, 100 + round * 20))
          await wait(50)
        }
      })()
      const batches = await readOf(reader, 300)
      await writing
      assert.deepEqual(sorted(numbersOf(batches)), range(300))
      assertInOrder(batches)
      assert.ok(countOf('SubscribeToShard') >= 4, `${countOf('SubscribeToShard')} subscriptions`)
      Object.assign(world.server.behavior, defaultBehavior)
      await idle(reader, () => world.server.subscriptions() === 2, 'all shards are subscribed to again')
      await world.backend.put(streamName, jsonRecords(20, 300))
      assert.deepEqual(sorted(numbersOf(await readOf(reader, 20))), range(20, 300))
      // A stalled machine can also look like a silent subscription.
      await idle(reader, () => reader.note?.() === undefined, 'the note is cleared')
    })
  }

  it('reads no record twice when a subscription ends while shards are listed', async () => {
    const streamName = await newStream()
    const assignment = { index: 0, count: 2 }
    const reader = await open({ streamName }, {}, { selection: { assignment }, refreshMs: 0 })
    await idle(reader, () => world.server.subscriptions() === 1, 'it is subscribed to')
    let holds = 0
    world.server.settings.hold = async (operation) => {
      if (operation !== 'ListShards' || holds++ > 0) return
      await world.backend.put(streamName, jsonRecords(10))
      await until(() => reader.lag() === 10, 'the records are there')
      // Reported as soon as the subscription has ended.
      world.server.behavior.exception = 'KMSDisabledException'
      await until(() => reader.note?.() !== undefined, 'the subscription has ended')
    }
    assert.deepEqual(numbersOf(await readOf(reader, 10)), range(10))
    assert.ok(holds > 0 && countOf('GetRecords') > 0, 'it was polled after that')
  })

  it('continues in child shards after splits and merges, each after its parents', async () => {
    const streamName = await newStream(2)
    Object.assign(world.server.behavior, { eventRecords: 7, endsAfterMs: 300 })
    const [first, second, merged] = [0, 1, 2].map((number) => `shardId-00000000000${number}`) as [
      string,
      string,
      string,
    ]
    const reader = await open({ streamName })
    await idle(reader, () => world.server.subscriptions() === 2, 'all shards are subscribed to')
    const writing = (async () => {
      await world.backend.put(streamName, jsonRecords(100))
      await world.backend.merge(streamName, first, second)
      await world.backend.put(streamName, jsonRecords(100, 100))
      await world.backend.split(streamName, merged)
      await world.backend.put(streamName, jsonRecords(100, 200))
    })()
    const batches = await readOf(reader, 300)
    await writing
    assert.deepEqual(sorted(numbersOf(batches)), range(300))
    assertInOrder(batches)
    const indexes = (shard: string) => batches.flatMap(({ partition }, index) => (partition === shard ? [index] : []))
    const ends = [first, second, merged].map((shard) =>
      batches.find((batch) => batch.partition === shard && batch.next === 'end'),
    )
    assert.ok(
      ends.every((end) => end !== undefined),
      'closed shards have an end',
    )
    assert.ok(Math.max(...indexes(first), ...indexes(second)) < Math.min(...indexes(merged)))
    const children = batches.flatMap(({ partition }, index) =>
      [first, second, merged].includes(partition) ? [] : [index],
    )
    assert.ok(Math.max(...indexes(merged)) < Math.min(...children))
    assert.ok(
      world.server.requests.some(({ operation, shard }) => operation === 'SubscribeToShard' && shard === merged),
    )
    await reader.close()
    const again = await open({ streamName }, positionsAfter(batches))
    assert.deepEqual(await again.read({ ...limits, waitMs: 300, signal: signal() }), [])
  })

  it('reads a range again by polling, exactly', async () => {
    const streamName = await newStream(2)
    await world.backend.put(streamName, jsonRecords(60))
    const reader = await open({ streamName })
    const batches = await readOf(reader, 60, { maxRecords: 11 })
    await reader.close()
    world.server.requests.length = 0
    const some = batches.slice(0, 3)
    const from = Object.fromEntries(some.toReversed().map((batch) => [batch.partition, batch.from]))
    const bounded = await open({ streamName }, from, { selection: { until: positionsAfter(some) } })
    const again: Batch[] = []
    await assert.rejects(
      async () => {
        for (;;) again.push(...(await bounded.read({ ...limits, maxRecords: 4, signal: signal() })))
      },
      { name: 'EndOfInput' },
    )
    assertGapless(again)
    assert.deepEqual(sorted(numbersOf(again)), sorted(numbersOf(some)))
    assert.equal(countOf('SubscribeToShard') + countOf('DescribeStreamConsumer'), 0)
  })

  it('reads with LATEST only records that arrive after opening, first by polling', async () => {
    const streamName = await newStream()
    await world.backend.put(streamName, jsonRecords(10))
    await wait(20)
    const reader = await open({ streamName, iteratorType: 'LATEST' })
    const [start] = await reader.read({ ...limits, signal: signal() })
    assert.match(start?.next ?? '', /^time:/)
    await wait(100)
    await idle(reader, () => countOf('DescribeStreamConsumer') >= 2, 'the consumer is registered')
    assert.equal(countOf('SubscribeToShard'), 0)
    await world.backend.put(streamName, jsonRecords(5, 100))
    assert.deepEqual(numbersOf(await readOf(reader, 5)), range(5, 100))
    await idle(reader, () => world.server.subscriptions() === 1, 'from the first record on it is subscribed to')
    await world.backend.put(streamName, jsonRecords(5, 105))
    assert.deepEqual(numbersOf(await readOf(reader, 5)), range(5, 105))
    const settled = await open({ streamName, iteratorType: 'LATEST' }, { [start!.partition]: start!.next })
    assert.deepEqual(numbersOf(await readOf(settled, 10)), range(10, 100))
  })

  it('reads by polling until its consumer is active', async () => {
    const streamName = await newStream(2)
    world.server.settings.activeAfterMs = Infinity
    await world.backend.put(streamName, jsonRecords(50))
    const reader = await open({ streamName })
    const first = await readOf(reader, 50, { maxRecords: 20 })
    assert.equal(world.server.subscriptions(), 0)
    assert.equal(reader.note?.(), undefined)
    for (const consumer of world.server.consumers.values()) consumer.activeAtMs = 0
    await idle(reader, () => world.server.subscriptions() === 2, 'it is active')
    await world.backend.put(streamName, jsonRecords(50, 50))
    assert.deepEqual(sorted(numbersOf([...first, ...(await readOf(reader, 50))])), range(100))
    assert.equal(countOf('RegisterStreamConsumer'), 1)
  })

  it('does not poll when its consumer exists', async () => {
    const streamName = await newStream(2)
    await world.backend.put(streamName, jsonRecords(50))
    await (await open({ streamName })).close()
    world.server.requests.length = 0
    const reader = await open({ streamName })
    assert.deepEqual(sorted(numbersOf(await readOf(reader, 50))), range(50))
    assert.equal(countOf('GetRecords') + countOf('GetShardIterator'), 0)
    assert.equal(countOf('SubscribeToShard'), 2)
  })

  it('registers its consumer again after it was removed', async () => {
    const streamName = await newStream()
    Object.assign(world.server.behavior, { endsAfterMs: 100 })
    const reader = await open({ streamName })
    await idle(reader, () => world.server.subscriptions() === 1, 'it is subscribed to')
    world.server.consumers.clear()
    await idle(reader, () => world.server.consumers.size === 1, 'it is registered again')
    await world.backend.put(streamName, jsonRecords(10))
    assert.deepEqual(numbersOf(await readOf(reader, 10)), range(10))
  })

  for (const [operation, code, note] of [
    [
      'DescribeStreamSummary',
      'AccessDeniedException',
      /do not allow kinesis:DescribeStreamSummary on the stream "fan-/,
    ],
    [
      'DescribeStreamConsumer',
      'AccessDeniedException',
      /do not allow kinesis:DescribeStreamConsumer on the stream "fan-/,
    ],
    [
      'RegisterStreamConsumer',
      'AccessDeniedException',
      /do not allow kinesis:RegisterStreamConsumer on the stream "fan-/,
    ],
    ['RegisterStreamConsumer', 'LimitExceededException', /the stream "fan-\d+" has as many consumers as it may have$/],
    ['DescribeStreamConsumer', 'UnknownOperationException', /the Kinesis of eu-west-1 has no enhanced fan-out$/],
    ['SubscribeToShard', 'AccessDeniedException', /do not allow kinesis:SubscribeToShard on the stream "fan-/],
    ['SubscribeToShard', 'KMSDisabledException', /the key that encrypts the stream "fan-\d+" cannot be used$/],
  ] as const) {
    it(`polls when ${operation} fails with ${code}, reports it, and retries later`, async () => {
      const streamName = await newStream()
      // Enough for all attempts until the assertions are done.
      world.server.refusals.push(...range(1_000).map(() => ({ operation, code })))
      await world.backend.put(streamName, jsonRecords(20))
      const reader = await open({ streamName })
      const batches = await readOf(reader, 20)
      await until(() => world.server.refusals.length < 1_000, 'it was refused')
      await until(() => reader.note?.() !== undefined, 'the note is set')
      assert.match(reader.note?.() ?? '', /^by polling, because /)
      assert.match(reader.note?.() ?? '', note)
      assert.doesNotMatch(reader.note?.() ?? '', /as the test wants it|Exception/)
      assert.equal(world.server.subscriptions(), 0)
      world.server.refusals.length = 0
      await idle(reader, () => world.server.subscriptions() === 1, 'it tries again')
      await idle(reader, () => reader.note?.() === undefined, 'the note is cleared')
      await world.backend.put(streamName, jsonRecords(20, 20))
      assert.deepEqual(sorted(numbersOf([...batches, ...(await readOf(reader, 20))])), range(40))
    })
  }

  it('does not subscribe again before the pause is over', async () => {
    const streamName = await newStream()
    const codes = ['LimitExceededException', 'ResourceInUseException']
    world.server.refusals.push(...codes.map((code) => ({ operation: 'SubscribeToShard', code })))
    const reader = await open({ streamName }, {}, { fanOutLimits: { betweenMs: 200, longestBetweenMs: 10_000 } })
    await idle(reader, () => world.server.subscriptions() === 1, 'it is subscribed to')
    const times = world.server.requests
      .filter(({ operation }) => operation === 'SubscribeToShard')
      .map(({ atMs }) => atMs)
    assert.equal(times.length, 3)
    assert.ok(times[1]! - times[0]! >= 195 && times[2]! - times[1]! >= 395, `${times}`)
    assert.equal(reader.note?.(), undefined)
  })

  it('polls while Kinesis still has the previous subscription', async () => {
    const streamName = await newStream()
    Object.assign(world.server.behavior, { isTakenForMs: Infinity })
    const reader = await open({ streamName })
    await idle(reader, () => world.server.subscriptions() === 1, 'it is subscribed to')
    await reader.close()
    await world.backend.put(streamName, jsonRecords(10))
    const next = await open({ streamName })
    const batches = await readOf(next, 10)
    assert.equal(world.server.subscriptions(), 0)
    world.server.behavior.isTakenForMs = 0
    await idle(next, () => world.server.subscriptions() === 1, 'it is subscribed to again')
    await world.backend.put(streamName, jsonRecords(10, 10))
    assert.deepEqual(numbersOf([...batches, ...(await readOf(next, 10))]), range(20))
  })

  it('reports subscriptions that break repeatedly', async () => {
    const streamName = await newStream()
    Object.assign(world.server.behavior, { breaksInFrame: 1 })
    const reader = await open({ streamName })
    await idle(reader, () => reader.note?.() !== undefined, 'the note is set')
    assert.match(reader.note?.() ?? '', /^by polling, because the Kinesis of eu-west-1 /)
    assert.ok(countOf('SubscribeToShard') >= 3)
  })

  it('limits the waiting records', async () => {
    const streamName = await newStream()
    const large = 'x'.repeat(50_000)
    const records = range(200).map((number) => ({
      key: 'a',
      value: Buffer.from(JSON.stringify({ number, large })),
    }))
    Object.assign(world.server.behavior, { eventRecords: 5 })
    const reader = await open({ streamName }, {}, { fanOutLimits: { waitingBytes: 1 } })
    await idle(reader, () => world.server.subscriptions() === 1, 'it is subscribed to')
    const sentBefore = world.server.sentBytes()
    for (let first = 0; first < 200; first += 50) await world.backend.put(streamName, records.slice(first, first + 50))
    let sentBytes = 0
    for (let same = 0; same < 10; await wait(100)) {
      same = world.server.sentBytes() - sentBefore === sentBytes ? same + 1 : 0
      sentBytes = world.server.sentBytes() - sentBefore
    }
    assert.ok(sentBytes > 300_000 && sentBytes < 4_000_000, `${sentBytes} bytes were sent`)
    assert.deepEqual(numbersOf(await readOf(reader, 200)), range(200))
  })

  it('leaves no connection open', async () => {
    const streamName = await newStream(3)
    const reader = await open({ streamName })
    await idle(reader, () => world.server.subscriptions() === 3, 'all shards are subscribed to')
    await reader.close()
    await until(() => world.server.subscriptions() === 0 && world.server.connections() === 0, 'all are closed')
    // While it opens: first the consumer, then the subscriptions.
    const early = await open({ streamName })
    await early.read({ ...limits, waitMs: 0, signal: signal() })
    await early.close()
    Object.assign(world.server.behavior, { isSilentFrom: 1 })
    const silent = await open({ streamName })
    await silent.read({ ...limits, waitMs: 0, signal: signal() })
    await until(() => countOf('SubscribeToShard') > 0 || world.server.connections() === 0, 'it begins')
    await silent.close()
    await until(() => world.server.subscriptions() === 0 && world.server.connections() === 0, 'all are closed')
    await assert.rejects(silent.read({ ...limits, signal: signal() }), { name: 'NotConnected' })
  })

  it('is not used without useEnhancedFanOut', async () => {
    const streamName = await newStream()
    await world.backend.put(streamName, jsonRecords(10))
    const reader = await open({ streamName, useEnhancedFanOut: false })
    assert.deepEqual(numbersOf(await readOf(reader, 10)), range(10))
    assert.equal(countOf('DescribeStreamConsumer') + countOf('SubscribeToShard'), 0)
    assert.equal(reader.note?.(), undefined)
  })

  it('is reported as unavailable without support for it, or for HTTP/2', async () => {
    const certificates = await makeCertificates()
    const fronts = [
      await startFanOut(world.backend, { hasHttp2: false }),
      await startFanOut(world.backend, { hasHttp2: false, tls: certificates.server }),
    ]
    try {
      for (const [endpoint, note] of [
        [world.backend.endpoint, 'by polling, because the Kinesis of eu-west-1 has no enhanced fan-out'],
        [fronts[0]!.endpoint, 'by polling, because the Kinesis of eu-west-1 does not speak HTTP/2'],
        [fronts[1]!.endpoint, 'by polling, because the Kinesis of eu-west-1 does not speak HTTP/2'],
      ] as const) {
        const streamName = await newStream()
        await world.backend.put(streamName, jsonRecords(10))
        const reader = await open({ streamName }, {}, { ca: certificates.ca }, endpoint)
        assert.deepEqual(numbersOf(await readOf(reader, 10)), range(10))
        await idle(reader, () => reader.note?.() !== undefined, 'the note is set')
        assert.equal(reader.note?.(), note)
      }
    } finally {
      await Promise.all(readers.splice(0).map((reader) => reader.close()))
      await Promise.all(fronts.map((front) => front.stop()))
    }
  })
})
