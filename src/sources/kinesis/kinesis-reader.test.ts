import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { assertGapless, loopbackEgress, probe, probeFails, readAll } from '../../../test/sources/conformance.ts'
import { type KinesisServer, startKinesis } from '../../../test/sources/kinesis-server.ts'
import { accessKey, kinesisConfig, kinesisContext, secrets, sourceAt } from '../../../test/sources/kinesis-source-at.ts'
import { type SignatureCheck, startSignatureCheck } from '../../../test/sources/signature-check.ts'
import { NotConnected, ProbeFailure } from '../../source-shapes/source-failure.ts'
import type { Batch, SourceReader } from '../source.ts'
import { openKinesisReader } from './kinesis-reader.ts'

describe('a Kinesis with failures', () => {
  let server: KinesisServer
  let proxy: SignatureCheck
  /** Failures of the next requests, one each. */
  const failures: { action: string; status: number; code: string }[] = []
  let pageRequests = 0
  /** GetRecords requests wait for it. */
  let held: Promise<void> | undefined
  const interfere = async (action: string): Promise<{ status: number; code: string } | undefined> => {
    if (action === 'kinesis:GetRecords') {
      pageRequests++
      await held
    }
    const index = failures.findIndex((failure) => failure.action === action)
    return index < 0 ? undefined : failures.splice(index, 1)[0]
  }
  const failNext = (code: string, times = 1, status = 400, action = 'kinesis:GetRecords'): void => {
    failures.push(...Array.from({ length: times }, () => ({ action, status, code })))
  }
  const connectOptions = () => ({ egress: loopbackEgress, signal: AbortSignal.timeout(20_000) })
  const limits = { maxRecords: 100, maxBytes: 100_000, waitMs: 10_000 }
  const read = (reader: SourceReader): Promise<Batch[]> => reader.read({ ...limits, signal: connectOptions().signal })
  const textsOf = (batches: Batch[]): string[] =>
    batches.flatMap(({ records = [] }) => [...records].map(({ value }) => Buffer.from(value).toString()))
  const put = (streamName: string, text: string): Promise<void> =>
    server.put(streamName, [{ key: 'a', value: Buffer.from(text) }])

  before(async () => {
    server = await startKinesis()
    const keys = [{ ...accessKey, mayRead: true }]
    const target = { service: 'kinesis', region: 'eu-west-1', target: server.endpoint } as const
    proxy = await startSignatureCheck({ ...target, keys, interfere })
    await server.createStream('clicks', 1)
    await put('clicks', '{"number":1}')
  })
  after(async () => {
    await proxy.stop()
    await server.stop()
  })

  it('is asked again when it throttles a sample', async () => {
    failNext('ProvisionedThroughputExceededException', 2)
    const { samples } = await probe(sourceAt(proxy.url))
    assert.equal(samples[0]?.rows.length, 1)
    assert.equal(failures.length, 0)
  })

  it('fails a sample that is always throttled', async () => {
    failNext('ProvisionedThroughputExceededException', 100)
    await probeFails(sourceAt(proxy.url), { step: 'read', code: 'source_failed', field: 'streamName' }, { secrets })
    failures.length = 0
  })

  it('is polled later when it throttles a reader', async () => {
    const reader = await sourceAt(proxy.url).open({}, connectOptions())
    failNext('ProvisionedThroughputExceededException')
    const startedAtMs = performance.now()
    assert.deepEqual(textsOf(await read(reader)), ['{"number":1}'])
    assert.ok(performance.now() - startedAtMs >= 900)
    await reader.close()
  })

  it('replaces an expired iterator without loss or duplicates', async () => {
    const reader = await sourceAt(proxy.url).open({}, connectOptions())
    assert.deepEqual(textsOf(await read(reader)), ['{"number":1}'])
    failNext('ExpiredIteratorException')
    await put('clicks', '{"number":2}')
    assert.deepEqual(textsOf(await read(reader)), ['{"number":2}'])
    assert.equal(failures.length, 0)
    await reader.close()
  })

  it('reads from LATEST, also when the first iterator expires before the first record', async () => {
    const source = sourceAt(proxy.url, { iteratorType: 'LATEST' })
    await wait(5)
    const reader = await source.open({}, connectOptions())
    const [start] = await read(reader)
    assert.deepEqual([start?.records, start?.from], [[], start?.next], 'the start, before there is a record')
    failNext('ExpiredIteratorException')
    await put('clicks', '{"number":3}')
    assert.deepEqual(textsOf(await read(reader)), ['{"number":3}'])
    assert.equal(failures.length, 0)
    await reader.close()
  })

  it('reads from LATEST as of an earlier reader that read nothing', async () => {
    await wait(5)
    const source = sourceAt(proxy.url, { iteratorType: 'LATEST' })
    const lost = await source.open({}, connectOptions())
    const positions = Object.fromEntries((await read(lost)).map(({ partition, next }) => [partition, next]))
    await lost.close()
    await put('clicks', '{"number":4}')
    const reader = await source.open(positions, connectOptions())
    assert.deepEqual(textsOf(await read(reader)), ['{"number":4}'])
    await reader.close()
  })

  for (const aheadMs of [-2_000, 2_000]) {
    it(`reads the first records since LATEST again when our clock is ${aheadMs} ms ahead`, async () => {
      const streamName = `skewed${aheadMs}`
      await server.createStream(streamName, 1)
      await put(streamName, '{"number":0}')
      await wait(5)
      const source = sourceAt(proxy.url, { streamName, iteratorType: 'LATEST' })
      const config = { ...kinesisConfig, streamName, iteratorType: 'LATEST' as const }
      const now = (): number => Date.now() + aheadMs
      const reader = await openKinesisReader(config, { accessKey }, kinesisContext(proxy.url), {}, connectOptions(), {
        now,
      })
      const [start] = await read(reader)
      await put(streamName, '{"number":1}')
      const [first] = await read(reader)
      await put(streamName, '{"number":2}')
      const [second] = await read(reader)
      await reader.close()
      assert.ok(start && first && second)
      assertGapless([start, first, second])
      const again = async (from: string, until: string): Promise<string[]> => {
        const { partition } = start
        const { batches, ended } = await readAll(source, { [partition]: from }, {}, { until: { [partition]: until } })
        assert.ok(ended)
        if (batches.length > 0) assert.equal(batches.at(-1)?.next, until)
        return textsOf(batches)
      }
      assert.deepEqual(await again(start.from, start.next), [])
      assert.deepEqual(await again(first.from, first.next), ['{"number":1}'])
      assert.deepEqual(await again(start.from, second.next), ['{"number":1}', '{"number":2}'])
      assert.deepEqual(await again(second.from, second.next), ['{"number":2}'])
    })
  }

  it('reports that the first record of a range is gone', async () => {
    const { batches } = await readAll(sourceAt(proxy.url), {}, { maxRecords: 1 })
    const [one, two] = batches
    assert.ok(one && two)
    const { partition } = two
    // A sequence number between the two records, valid in this shard: the last nine hexadecimal digits encode the shard.
    const gone = one.from.replace(/\d+$/, (digits) => String(BigInt(digits) + 16n ** 9n))
    const again = readAll(sourceAt(proxy.url), { [partition]: gone }, {}, { until: { [partition]: two.next } })
    const reason =
      'the shard shardId-000000000000 of the stream "clicks" has lost records that were read and are not delivered yet'
    await assert.rejects(again, { name: 'ProbeFailure', code: 'not_found', reason })
  })

  it('is a lost connection while its clock is behind the stored time of LATEST', async () => {
    const positions = { 'shardId-000000000000': `time:${Date.now() + 3_600_000}` }
    const reader = await sourceAt(proxy.url, { iteratorType: 'LATEST' }).open(positions, connectOptions())
    await assert.rejects(read(reader), NotConnected)
    await reader.close()
  })

  it('is asked for child shards of the shards of other readers', async () => {
    await server.createStream('split', 1)
    await put('split', '{"number":1}')
    const context = kinesisContext(proxy.url)
    const config = { ...kinesisConfig, streamName: 'split' }
    const open = (index: number): Promise<SourceReader> => {
      const selection = { assignment: { index, count: 3 } }
      return openKinesisReader(config, { accessKey }, context, {}, connectOptions(), { selection, refreshMs: 50 })
    }
    // One reader has the only shard; its two child shards fall to the others.
    const readers = await Promise.all([open(0), open(1), open(2)])
    await server.split('split', 'shardId-000000000000')
    await server.put(
      'split',
      Array.from({ length: 20 }, (_, index) => ({
        key: `key ${index}`,
        value: Buffer.from(`{"number":${index + 2}}`),
      })),
    )
    // Until all records have arrived, and once more: there must be no others.
    const endsAtMs = performance.now() + 15_000
    let given = 0
    const counts = await Promise.all(
      readers.map(async (reader) => {
        let count = 0
        for (let left = 3; left > 0 || (given < 21 && performance.now() < endsAtMs); left--) {
          const batches = await reader.read({ ...limits, waitMs: 700, signal: connectOptions().signal })
          count += textsOf(batches).length
          given += textsOf(batches).length
        }
        await reader.close()
        return count
      }),
    )
    assert.equal(counts[0]! + counts[1]! + counts[2]!, 21)
    assert.ok(
      counts.every((count) => count > 0),
      `${counts}`,
    )
  })

  it('is not read after the reader is closed, or the read is aborted', async () => {
    const reader = await sourceAt(proxy.url).open({}, connectOptions())
    await assert.rejects(reader.read({ ...limits, signal: AbortSignal.abort() }), NotConnected)
    await reader.close()
    await assert.rejects(read(reader), NotConnected)
  })

  describe('read ahead', () => {
    const until = async (isTrue: () => boolean): Promise<void> => {
      for (let round = 0; round < 1_000 && !isTrue(); round++) await wait(10)
      assert.ok(isTrue(), 'not in time')
    }
    const few = { ...limits, maxRecords: 2 }
    const numbers = (from: number, to: number): string[] =>
      Array.from({ length: to - from + 1 }, (_, index) => `{"number":${from + index}}`)
    const openBehind = async (streamName: string): Promise<SourceReader> => {
      await server.createStream(streamName, 1)
      for (const text of numbers(1, 6)) await put(streamName, text)
      return sourceAt(proxy.url, { streamName }).open({}, connectOptions())
    }

    it('requests exactly one page in advance', async () => {
      const reader = await openBehind('ahead')
      const first = await reader.read({ ...few, signal: connectOptions().signal })
      const requestsBefore = pageRequests
      await until(() => pageRequests > requestsBefore)
      await wait(1_000)
      assert.equal(pageRequests, requestsBefore + 1)
      const rest = []
      while (textsOf(rest).length < 4) rest.push(...(await reader.read({ ...few, signal: connectOptions().signal })))
      assertGapless([...first, ...rest])
      assert.deepEqual(textsOf([...first, ...rest]), numbers(1, 6))
      await reader.close()
    })

    it('reports a failed page to the next read, once, and continues', async () => {
      const reader = await openBehind('troubled')
      const first = await reader.read({ ...few, signal: connectOptions().signal })
      failNext('InternalFailure', 2, 500)
      await until(() => failures.length === 0)
      await wait(200)
      await assert.rejects(reader.read({ ...few, signal: connectOptions().signal }), NotConnected)
      const second = await reader.read({ ...few, signal: connectOptions().signal })
      const third = await reader.read({ ...few, signal: connectOptions().signal })
      assert.deepEqual(textsOf([...first, ...second, ...third]), numbers(1, 6))
      await reader.close()
    })

    it('keeps a page for the next read when a read is aborted', async () => {
      const reader = await openBehind('called-off')
      const first = await reader.read({ ...few, signal: connectOptions().signal })
      const { promise, resolve } = Promise.withResolvers<void>()
      held = promise
      // The page arrives only after this read has ended.
      await assert.rejects(reader.read({ ...few, signal: AbortSignal.timeout(20) }), NotConnected)
      held = undefined
      resolve()
      const second = await reader.read({ ...few, signal: connectOptions().signal })
      assert.deepEqual(textsOf([...first, ...second]), numbers(1, 4))
      await reader.close()
    })

    it('limits the pages of many shards, and reads all shards', async () => {
      await server.createStream('many', 12)
      const records = Array.from({ length: 200 }, (_, index) => ({ key: `key ${index}`, value: Buffer.from('x') }))
      await server.put('many', records)
      const before = pageRequests
      const reader = await sourceAt(proxy.url, { streamName: 'many' }).open({}, connectOptions())
      const batches = await reader.read({ ...limits, maxRecords: 1, signal: connectOptions().signal })
      await wait(700)
      // One page was given out.
      assert.ok(pageRequests - before <= 1 + 8, `${pageRequests - before} pages`)
      while (textsOf(batches).length < 200) batches.push(...(await read(reader)))
      assert.equal(new Set(batches.map(({ partition }) => partition)).size, 12)
      assertGapless(batches)
      await reader.close()
    })

    it('reads all shards while records keep arriving', async () => {
      await server.createStream('two', 2)
      const keys = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
      await server.put(
        'two',
        keys.map((key) => ({ key, value: Buffer.from(key) })),
      )
      const reader = await sourceAt(proxy.url, { streamName: 'two' }).open({}, connectOptions())
      const seen = new Map<string, number>()
      for (let reads = 0; reads < 12; reads++) {
        for (const { partition, records = [] } of await reader.read({
          ...few,
          maxRecords: 1,
          signal: connectOptions().signal,
        }))
          seen.set(partition, (seen.get(partition) ?? 0) + [...records].length)
        await server.put(
          'two',
          keys.map((key) => ({ key, value: Buffer.from(key) })),
        )
      }
      assert.equal(seen.size, 2)
      assert.ok(
        [...seen.values()].every((count) => count >= 3),
        `${[...seen.values()]}`,
      )
      await reader.close()
    })
  })

  it('is a lost connection when it fails twice, and continues from there', async () => {
    const reader = await sourceAt(proxy.url).open({}, connectOptions())
    failNext('InternalFailure', 2, 500)
    await assert.rejects(read(reader), NotConnected)
    assert.equal(textsOf(await read(reader)).length, 4)
    await reader.close()
  })

  it('is a ProbeFailure when the key is disabled', async () => {
    const reader = await sourceAt(proxy.url).open({}, connectOptions())
    failNext('KMSDisabledException')
    const isForUser = (error: unknown) => error instanceof ProbeFailure && error.code === 'not_set_up'
    await assert.rejects(read(reader), isForUser)
    await reader.close()
  })

  it('reports shards that expired before they were read to their end, once', async () => {
    const [unread, ended] = ['shardId-000000000008', 'shardId-000000000009']
    const reader = await sourceAt(proxy.url).open({ [unread]: 'after:5', [ended]: 'end' }, connectOptions())
    const [lost, ...others] = await read(reader)
    const reason =
      'shards of the stream "clicks" expired before they were read to their end; increase its retention period'
    assert.deepEqual([lost?.partition, lost?.from, lost?.next], [unread, 'after:5', 'end'])
    assert.deepEqual(lost?.lost, { reason })
    const rest = [...others, ...(textsOf(others).length > 0 ? [] : await read(reader))]
    assert.equal(textsOf(rest).length, 4)
    assert.ok(rest.every((batch) => batch.lost === undefined))
    await reader.close()
  })

  it('reports a shard that expires while the stream is read', async () => {
    await server.createStream('shrunk', 2)
    const source = sourceAt(proxy.url, { streamName: 'shrunk' })
    const reader = await source.open({}, connectOptions())
    await server.deleteStream('shrunk')
    await server.createStream('shrunk', 1)
    const batches: Batch[] = []
    while (batches.length === 0) batches.push(...(await read(reader)))
    assert.deepEqual(
      batches.map(({ partition, next, lost }) => [partition, next, lost !== undefined]),
      [['shardId-000000000001', 'end', true]],
    )
    await reader.close()
  })

  it('does not treat a shard as expired that it still lists', async () => {
    const reader = await sourceAt(proxy.url).open({}, connectOptions())
    failNext('ResourceNotFoundException', 1, 400, 'kinesis:GetShardIterator')
    await assert.rejects(read(reader), (error) => error instanceof ProbeFailure && error.code === 'not_found')
    await reader.close()
  })
})
