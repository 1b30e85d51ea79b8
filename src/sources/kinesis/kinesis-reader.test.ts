import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { assertGapless, loopbackEgress, probe, probeFails, readAll } from '../../../test/sources/conformance.ts'
import { type KinesisServer, startKinesis } from '../../../test/sources/kinesis-server.ts'
import { accessKey, kinesisConfig, kinesisContext, secrets, sourceAt } from '../../../test/sources/kinesis-source-at.ts'
import { type SignatureCheck, startSignatureCheck } from '../../../test/sources/signature-check.ts'
import { type Batch, NotConnected, ProbeFailure, type SourceReader } from '../source.ts'
import { openKinesisReader } from './kinesis-reader.ts'

describe('a Kinesis that is in trouble', () => {
  let server: KinesisServer
  let door: SignatureCheck
  /** What goes wrong, by the action, once for each. */
  const troubles: { action: string; status: number; code: string }[] = []
  let pagesAskedFor = 0
  /** What pages wait for before they are answered. */
  let held: Promise<void> | undefined
  const interfere = async (action: string): Promise<{ status: number; code: string } | undefined> => {
    if (action === 'kinesis:GetRecords') {
      pagesAskedFor++
      await held
    }
    const index = troubles.findIndex((trouble) => trouble.action === action)
    return index < 0 ? undefined : troubles.splice(index, 1)[0]
  }
  const trouble = (code: string, times = 1, status = 400, action = 'kinesis:GetRecords'): void => {
    troubles.push(...Array.from({ length: times }, () => ({ action, status, code })))
  }
  const surroundings = () => ({ egress: loopbackEgress, signal: AbortSignal.timeout(20_000) })
  const limits = { maxRecords: 100, maxBytes: 100_000, waitMs: 10_000 }
  const read = (reader: SourceReader): Promise<Batch[]> => reader.read({ ...limits, signal: surroundings().signal })
  const textsOf = (batches: Batch[]): string[] =>
    batches.flatMap(({ records = [] }) => [...records].map(({ value }) => Buffer.from(value).toString()))
  const put = (streamName: string, text: string): Promise<void> =>
    server.put(streamName, [{ key: 'a', value: Buffer.from(text) }])

  before(async () => {
    server = await startKinesis()
    const keys = [{ ...accessKey, mayRead: true }]
    const where = { service: 'kinesis', region: 'eu-west-1', target: server.endpoint } as const
    door = await startSignatureCheck({ ...where, keys, interfere })
    await server.createStream('clicks', 1)
    await put('clicks', '{"number":1}')
  })
  after(async () => {
    await door.stop()
    await server.stop()
  })

  it('is asked again when it asks a sample to slow down', async () => {
    trouble('ProvisionedThroughputExceededException', 2)
    const { samples } = await probe(sourceAt(door.url))
    assert.equal(samples[0]?.rows.length, 1)
    assert.equal(troubles.length, 0)
  })

  it('is told from one that never gives a sample', async () => {
    trouble('ProvisionedThroughputExceededException', 100)
    await probeFails(sourceAt(door.url), { step: 'read', code: 'source_failed', field: 'streamName' }, { secrets })
    troubles.length = 0
  })

  it('is left alone for a while when it asks a reader to slow down', async () => {
    const reader = await sourceAt(door.url).open({}, surroundings())
    trouble('ProvisionedThroughputExceededException')
    const startedAtMs = performance.now()
    assert.deepEqual(textsOf(await read(reader)), ['{"number":1}'])
    assert.ok(performance.now() - startedAtMs >= 900)
    await reader.close()
  })

  it('gives a new iterator when one has expired, and nothing is read twice or lost', async () => {
    const reader = await sourceAt(door.url).open({}, surroundings())
    assert.deepEqual(textsOf(await read(reader)), ['{"number":1}'])
    trouble('ExpiredIteratorException')
    await put('clicks', '{"number":2}')
    assert.deepEqual(textsOf(await read(reader)), ['{"number":2}'])
    assert.equal(troubles.length, 0)
    await reader.close()
  })

  it('gives what came since LATEST, also when the first iterator has expired before its first record', async () => {
    const source = sourceAt(door.url, { iteratorType: 'LATEST' })
    await wait(5)
    const reader = await source.open({}, surroundings())
    const [start] = await read(reader)
    assert.deepEqual([start?.records, start?.from], [[], start?.next], 'where it begins, before there is a record')
    trouble('ExpiredIteratorException')
    await put('clicks', '{"number":3}')
    assert.deepEqual(textsOf(await read(reader)), ['{"number":3}'])
    assert.equal(troubles.length, 0)
    await reader.close()
  })

  it('gives a reader of LATEST what came since another one was opened, which got nothing', async () => {
    await wait(5)
    const source = sourceAt(door.url, { iteratorType: 'LATEST' })
    const lost = await source.open({}, surroundings())
    const positions = Object.fromEntries((await read(lost)).map(({ partition, next }) => [partition, next]))
    await lost.close()
    await put('clicks', '{"number":4}')
    const reader = await source.open(positions, surroundings())
    assert.deepEqual(textsOf(await read(reader)), ['{"number":4}'])
    await reader.close()
  })

  for (const aheadMs of [-2_000, 2_000]) {
    it(`gives the first records since LATEST once more when our clock is ${aheadMs} ms ahead`, async () => {
      const streamName = `skewed${aheadMs}`
      await server.createStream(streamName, 1)
      await put(streamName, '{"number":0}')
      await wait(5)
      const source = sourceAt(door.url, { streamName, iteratorType: 'LATEST' })
      const config = { ...kinesisConfig, streamName, iteratorType: 'LATEST' as const }
      const now = (): number => Date.now() + aheadMs
      const reader = await openKinesisReader(config, { accessKey }, kinesisContext(door.url), {}, surroundings(), {
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

  it('tells that the first record of a range is not there any more', async () => {
    const { batches } = await readAll(sourceAt(door.url), {}, { maxRecords: 1 })
    const [one, two] = batches
    assert.ok(one && two)
    const { partition } = two
    // Between the two records, and as the numbers of this shard are: their last nine digits, of base 16, are those of the shard.
    const gone = one.from.replace(/\d+$/, (digits) => String(BigInt(digits) + 16n ** 9n))
    const again = readAll(sourceAt(door.url), { [partition]: gone }, {}, { until: { [partition]: two.next } })
    const reason =
      'the shard shardId-000000000000 of the stream "clicks" has lost records that were read and are not delivered yet'
    await assert.rejects(again, { name: 'ProbeFailure', code: 'not_found', reason })
  })

  it('is waited for when its clock is behind the time that LATEST stood for', async () => {
    const positions = { 'shardId-000000000000': `time:${Date.now() + 3_600_000}` }
    const reader = await sourceAt(door.url, { iteratorType: 'LATEST' }).open(positions, surroundings())
    await assert.rejects(read(reader), NotConnected)
    await reader.close()
  })

  it('is asked for shards that came out of those of other readers', async () => {
    await server.createStream('split', 1)
    await put('split', '{"number":1}')
    const context = kinesisContext(door.url)
    const config = { ...kinesisConfig, streamName: 'split' }
    const open = (index: number): Promise<SourceReader> => {
      const selection = { share: { index, count: 3 } }
      return openKinesisReader(config, { accessKey }, context, {}, surroundings(), { selection, refreshMs: 50 })
    }
    // One of them has the only shard; the two that it is split into fall to the others.
    const readers = await Promise.all([open(0), open(1), open(2)])
    await server.split('split', 'shardId-000000000000')
    await server.put(
      'split',
      Array.from({ length: 20 }, (_, index) => ({
        key: `key ${index}`,
        value: Buffer.from(`{"number":${index + 2}}`),
      })),
    )
    // Until all have come, and once more: there must not be others.
    const endsAtMs = performance.now() + 15_000
    let given = 0
    const counts = await Promise.all(
      readers.map(async (reader) => {
        let count = 0
        for (let left = 3; left > 0 || (given < 21 && performance.now() < endsAtMs); left--) {
          const batches = await reader.read({ ...limits, waitMs: 700, signal: surroundings().signal })
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

  it('is not read any more once the reader is closed, or the read is called off', async () => {
    const reader = await sourceAt(door.url).open({}, surroundings())
    await assert.rejects(reader.read({ ...limits, signal: AbortSignal.abort() }), NotConnected)
    await reader.close()
    await assert.rejects(read(reader), NotConnected)
  })

  describe('read ahead', () => {
    const until = async (isSo: () => boolean): Promise<void> => {
      for (let round = 0; round < 1_000 && !isSo(); round++) await wait(10)
      assert.ok(isSo(), 'it did not come to pass')
    }
    const few = { ...limits, maxRecords: 2 }
    const numbers = (from: number, to: number): string[] =>
      Array.from({ length: to - from + 1 }, (_, index) => `{"number":${from + index}}`)
    const openBehind = async (streamName: string): Promise<SourceReader> => {
      await server.createStream(streamName, 1)
      for (const text of numbers(1, 6)) await put(streamName, text)
      return sourceAt(door.url, { streamName }).open({}, surroundings())
    }

    it('has the next page before it is asked for, one and no more', async () => {
      const reader = await openBehind('ahead')
      const first = await reader.read({ ...few, signal: surroundings().signal })
      const asked = pagesAskedFor
      await until(() => pagesAskedFor > asked)
      await wait(1_000)
      assert.equal(pagesAskedFor, asked + 1)
      const rest = []
      while (textsOf(rest).length < 4) rest.push(...(await reader.read({ ...few, signal: surroundings().signal })))
      assertGapless([...first, ...rest])
      assert.deepEqual(textsOf([...first, ...rest]), numbers(1, 6))
      await reader.close()
    })

    it('tells the next one who reads what failed meanwhile, once, and goes on', async () => {
      const reader = await openBehind('troubled')
      const first = await reader.read({ ...few, signal: surroundings().signal })
      trouble('InternalFailure', 2, 500)
      await until(() => troubles.length === 0)
      await wait(200)
      await assert.rejects(reader.read({ ...few, signal: surroundings().signal }), NotConnected)
      const second = await reader.read({ ...few, signal: surroundings().signal })
      const third = await reader.read({ ...few, signal: surroundings().signal })
      assert.deepEqual(textsOf([...first, ...second, ...third]), numbers(1, 6))
      await reader.close()
    })

    it('is waited for by nobody whose read is called off, and is there for the next one', async () => {
      const reader = await openBehind('called-off')
      const first = await reader.read({ ...few, signal: surroundings().signal })
      const { promise, resolve } = Promise.withResolvers<void>()
      held = promise
      // The page does not come before this has ended.
      await assert.rejects(reader.read({ ...few, signal: AbortSignal.timeout(20) }), NotConnected)
      held = undefined
      resolve()
      const second = await reader.read({ ...few, signal: surroundings().signal })
      assert.deepEqual(textsOf([...first, ...second]), numbers(1, 4))
      await reader.close()
    })

    it('has pages of some shards at a time, however many there are, and gets to all of them', async () => {
      await server.createStream('many', 12)
      const records = Array.from({ length: 200 }, (_, index) => ({ key: `key ${index}`, value: Buffer.from('x') }))
      await server.put('many', records)
      const before = pagesAskedFor
      const reader = await sourceAt(door.url, { streamName: 'many' }).open({}, surroundings())
      const batches = await reader.read({ ...limits, maxRecords: 1, signal: surroundings().signal })
      await wait(700)
      // One of them was given.
      assert.ok(pagesAskedFor - before <= 1 + 8, `${pagesAskedFor - before} pages`)
      while (textsOf(batches).length < 200) batches.push(...(await read(reader)))
      assert.equal(new Set(batches.map(({ partition }) => partition)).size, 12)
      assertGapless(batches)
      await reader.close()
    })

    it('leaves no shard unread because others never end', async () => {
      await server.createStream('two', 2)
      const keys = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
      await server.put(
        'two',
        keys.map((key) => ({ key, value: Buffer.from(key) })),
      )
      const reader = await sourceAt(door.url, { streamName: 'two' }).open({}, surroundings())
      const seen = new Map<string, number>()
      for (let reads = 0; reads < 12; reads++) {
        for (const { partition, records = [] } of await reader.read({
          ...few,
          maxRecords: 1,
          signal: surroundings().signal,
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

  it('is a lost connection when it fails twice, and goes on from there', async () => {
    const reader = await sourceAt(door.url).open({}, surroundings())
    trouble('InternalFailure', 2, 500)
    await assert.rejects(read(reader), NotConnected)
    assert.equal(textsOf(await read(reader)).length, 4)
    await reader.close()
  })

  it('is for the user to mend when it no longer lets us in', async () => {
    const reader = await sourceAt(door.url).open({}, surroundings())
    trouble('KMSDisabledException')
    const isToMend = (error: unknown) => error instanceof ProbeFailure && error.code === 'not_set_up'
    await assert.rejects(read(reader), isToMend)
    await reader.close()
  })

  it('reports shards that expired before they were read to their end, once', async () => {
    const [unread, ended] = ['shardId-000000000008', 'shardId-000000000009']
    const reader = await sourceAt(door.url).open({ [unread]: 'after:5', [ended]: 'end' }, surroundings())
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
    const source = sourceAt(door.url, { streamName: 'shrunk' })
    const reader = await source.open({}, surroundings())
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

  it('has not forgotten a shard only because it says so once', async () => {
    const reader = await sourceAt(door.url).open({}, surroundings())
    trouble('ResourceNotFoundException', 1, 400, 'kinesis:GetShardIterator')
    await assert.rejects(read(reader), (error) => error instanceof ProbeFailure && error.code === 'not_found')
    await reader.close()
  })
})
