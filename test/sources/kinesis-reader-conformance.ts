// Conformance suite for Kinesis readers: every record exactly once, in order within a shard, from the given positions.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { NotConnected, ProbeFailure } from '../../src/source-shapes/source-failure.ts'
import type { Batch, Positions, ReadableSource, SourceReader } from '../../src/sources/source.ts'
import { assertGapless, loopbackEgress, positionsAfter, readAll } from './conformance.ts'
import { jsonRecords, type KinesisUnderTest } from './kinesis-conformance.ts'
import { closedPort } from './odd-servers.ts'

const numberOf = (value: Uint8Array): number => JSON.parse(Buffer.from(value).toString()).number
const numbersOf = (batches: Batch[]): number[] =>
  batches.flatMap(({ records = [] }) => [...records].map(({ value }) => numberOf(value)))
const range = (count: number, first = 0): number[] => Array.from({ length: count }, (_, index) => first + index)
const sorted = (numbers: number[]): number[] => numbers.toSorted((a, b) => a - b)

/** The end of a shard can take some empty reads. */
const longWait = { waitMs: 700 }
const skipReason = 'closed shards have no end on this server'
const limits = { maxRecords: 100, maxBytes: 1_000_000, waitMs: 100 }

export function kinesisReaderConformance(test: KinesisUnderTest): void {
  const connectOptions = () => ({ egress: loopbackEgress, signal: AbortSignal.timeout(20_000) })

  it('every record of all shards once, with its metadata', async () => {
    const streamName = await test.newStream(3)
    await test.server.put(streamName, jsonRecords(60))
    const { batches, ended } = await readAll(test.source({ streamName }), {}, { maxRecords: 7 })
    assertGapless(batches)
    assert.equal(ended, false)
    assert.deepEqual(sorted(numbersOf(batches)), range(60))
    assert.ok(batches.every(({ records = [] }) => records.length <= 7))
    assert.ok(new Set(batches.map(({ partition }) => partition)).size > 1)
    for (const { partition, records = [] } of batches) {
      for (const { value, meta } of records) {
        const { _stream, _shard, _sequence, _timestamp, _key } = meta
        assert.deepEqual(
          { _stream, _shard, _key },
          { _stream: streamName, _shard: partition, _key: `key-${numberOf(value)}` },
        )
        assert.match(String(_sequence), /^\d+$/)
        assert.ok(_timestamp instanceof Date && Math.abs(_timestamp.getTime() - Date.now()) < 60_000)
      }
    }
  })

  it('from the last position, and the same records again from the same position', async () => {
    const streamName = await test.newStream(2)
    await test.server.put(streamName, jsonRecords(40))
    const source = test.source({ streamName })
    const reader = await source.open({}, connectOptions())
    const first = await reader.read({ ...limits, maxRecords: 15, signal: connectOptions().signal })
    await reader.acknowledge(positionsAfter(first))
    await reader.close()
    const { batches: rest } = await readAll(source, positionsAfter(first))
    assert.deepEqual(sorted(numbersOf([...first, ...rest])), range(40))
    assertGapless([...first, ...rest])
    const beginnings = Object.fromEntries(first.map(({ partition, from }) => [partition, from]))
    const { batches: again } = await readAll(source, beginnings)
    for (const { partition, records = [] } of first) {
      const same = again.filter((batch) => batch.partition === partition)
      assert.deepEqual(
        numbersOf(same).slice(0, records.length),
        [...records].map(({ value }) => numberOf(value)),
      )
    }
  })

  it('at most maxBytes, or a single larger record', async () => {
    const streamName = await test.newStream()
    const large = JSON.stringify({ number: 3, text: 'x'.repeat(5_000) })
    await test.server.put(streamName, [
      ...jsonRecords(3),
      { key: 'key-3', value: Buffer.from(large) },
      ...jsonRecords(3, 4),
    ])
    const { batches } = await readAll(test.source({ streamName }), {}, { maxBytes: 30 })
    assert.deepEqual(sorted(numbersOf(batches)), range(7))
    assertGapless(batches)
    for (const { records = [] } of batches) {
      const sizeBytes = [...records].reduce((sum, { value }) => sum + value.length, 0)
      assert.ok(sizeBytes <= 30 || records.length === 1)
    }
    assert.ok(batches.length >= 5)
  })

  it('decompressed records', async () => {
    const streamName = await test.newStream()
    const broken = Buffer.from([0x1f, 0x8b, 1, 2, 3])
    await test.server.put(streamName, [
      { key: 'a', value: gzipSync('{"number":1}') },
      { key: 'a', value: broken },
    ])
    const { batches } = await readAll(test.source({ streamName }), {})
    const values = batches.flatMap(({ records = [] }) =>
      [...records].map(({ value }) => Buffer.from(value).toString('latin1')),
    )
    assert.deepEqual(values, ['{"number":1}', broken.toString('latin1')])
  })

  it('records that arrive while it waits', async () => {
    const streamName = await test.newStream()
    const reader = await test.source({ streamName }).open({}, connectOptions())
    try {
      const reading = reader.read({ ...limits, waitMs: 5_000, signal: connectOptions().signal })
      await wait(300)
      await test.server.put(streamName, jsonRecords(1))
      assert.deepEqual(numbersOf(await reading), [0])
      assert.deepEqual(await reader.read({ ...limits, signal: connectOptions().signal }), [])
    } finally {
      await reader.close()
    }
  })

  it('only records that arrive after opening, with LATEST', async () => {
    const streamName = await test.newStream(2)
    await test.server.put(streamName, jsonRecords(10))
    await wait(20)
    const source = test.source({ streamName, iteratorType: 'LATEST' })
    const reader = await source.open({}, connectOptions())
    try {
      await wait(20)
      await test.server.put(streamName, jsonRecords(10, 100))
      const read = await readCount(reader, 10)
      assert.deepEqual(sorted(numbersOf(read)), range(10, 100))
      const beginnings = Object.fromEntries(read.toReversed().map(({ partition, from }) => [partition, from]))
      const { batches: again } = await readAll(source, beginnings)
      assert.deepEqual(sorted(numbersOf(again)), range(10, 100), 'the start position means the same later')
    } finally {
      await reader.close()
    }
  })

  it('only records from a timestamp on, with AT_TIMESTAMP', async () => {
    const streamName = await test.newStream()
    await test.server.put(streamName, jsonRecords(10))
    await wait(1_100)
    const timestamp = Math.floor(Date.now() / 1_000)
    await test.server.put(streamName, jsonRecords(10, 100))
    const { batches } = await readAll(test.source({ streamName, iteratorType: 'AT_TIMESTAMP', timestamp }), {})
    assert.deepEqual(numbersOf(batches), range(10, 100))
  })

  it('child shards after the parent that was split', async (t) => {
    if (test.server.keepsClosedShards === false) return t.skip(skipReason)
    const streamName = await test.newStream()
    await test.server.put(streamName, jsonRecords(20))
    const source = test.source({ streamName })
    const { batches: before } = await readAll(source, {}, { maxRecords: 5 })
    const [parent = ''] = before.map(({ partition }) => partition)
    await test.server.split(streamName, parent)
    await test.server.put(streamName, jsonRecords(20, 20))
    for (const [positions, expected] of [
      [{}, range(40)],
      [{ [parent]: before[1]!.next }, range(30, 10)],
      [positionsAfter(before), range(20, 20)],
    ] as [Positions, number[]][]) {
      const batches = await readPast(source, positions, expected.length)
      assertGapless(batches)
      assert.deepEqual(sorted(numbersOf(batches)), expected)
      assert.equal(new Set(batches.map(({ partition }) => partition)).size, 3)
      const lastOfParent = batches.findLastIndex(({ partition }) => partition === parent)
      const firstOfChildren = batches.findIndex(({ partition }) => partition !== parent)
      assert.ok(lastOfParent < firstOfChildren)
      const { batches: more } = await readAll(source, positionsAfter(batches), longWait)
      assert.deepEqual(numbersOf(more), [])
      assert.ok(!more.some(({ partition }) => partition === parent), 'a shard that has ended is not read again')
    }
  })

  it('a child shard after both parents that were merged', async (t) => {
    if (test.server.keepsClosedShards === false) return t.skip(skipReason)
    const streamName = await test.newStream(2)
    await test.server.put(streamName, jsonRecords(20))
    await test.server.merge(streamName, 'shardId-000000000000', 'shardId-000000000001')
    await test.server.put(streamName, jsonRecords(20, 20))
    const batches = await readPast(test.source({ streamName }), {}, 40)
    assert.deepEqual(sorted(numbersOf(batches)), range(40))
    const merged = batches.findIndex(({ partition }) => partition === 'shardId-000000000002')
    assert.ok(batches.slice(merged).every(({ partition }) => partition === 'shardId-000000000002'))
  })

  it('child shards created while no reader was open, with LATEST', async (t) => {
    if (test.server.keepsClosedShards === false) return t.skip(skipReason)
    const streamName = await test.newStream()
    const source = test.source({ streamName, iteratorType: 'LATEST' })
    const reader = await source.open({}, connectOptions())
    await wait(20)
    await test.server.put(streamName, jsonRecords(5))
    const seen = await readCount(reader, 5)
    await reader.close()
    await test.server.split(streamName, seen[0]!.partition)
    await test.server.put(streamName, jsonRecords(20, 5))
    const batches = await readPast(source, positionsAfter(seen), 20)
    assert.deepEqual(sorted(numbersOf(batches)), range(20, 5))
  })

  it('until the signal aborts', async () => {
    const streamName = await test.newStream()
    const reader = await test.source({ streamName }).open({}, connectOptions())
    try {
      const startedAtMs = performance.now()
      const signal = AbortSignal.timeout(150)
      await assert.rejects(reader.read({ ...limits, waitMs: 10_000, signal }), NotConnected)
      assert.ok(performance.now() - startedAtMs < 8_000)
    } finally {
      await reader.close()
    }
  })

  it('nothing with invalid credentials, or from a closed port', async () => {
    const streamName = await test.newStream()
    const key = { ...test.server.credentials, secretKey: 'not-the-secret-of-this-key' }
    await assert.rejects(
      test.source({ streamName }, { key }).open({}, connectOptions()),
      (error) => error instanceof ProbeFailure && error.code === 'credentials_refused',
    )
    const awsEndpoints = { kinesis: `http://127.0.0.1:${await closedPort()}` }
    const source = test.source({ streamName }, { context: { awsEndpoints } })
    await assert.rejects(source.open({}, connectOptions()), NotConnected)
  })

  it('nothing more when the stream becomes unreachable', async () => {
    const streamName = await test.newStream()
    const reader = await test.source({ streamName }).open({}, connectOptions())
    try {
      await test.server.stop()
      await assert.rejects(reader.read({ ...limits, signal: connectOptions().signal }), NotConnected)
    } finally {
      await reader.close()
    }
  })
}

/** Reads until so many records have arrived and a long read returns nothing more. */
async function readPast(source: ReadableSource, positions: Positions, count: number): Promise<Batch[]> {
  const endsAtMs = performance.now() + 15_000
  const batches: Batch[] = []
  do {
    batches.push(...(await readAll(source, { ...positions, ...positionsAfter(batches) }, longWait)).batches)
  } while (numbersOf(batches).length < count && performance.now() < endsAtMs)
  return batches
}

async function readCount(reader: SourceReader, count: number): Promise<Batch[]> {
  const batches: Batch[] = []
  while (numbersOf(batches).length < count) {
    const read = await reader.read({ ...limits, waitMs: 10_000, signal: AbortSignal.timeout(20_000) })
    assert.ok(read.length > 0, 'no records arrived')
    batches.push(...read)
  }
  return batches
}
