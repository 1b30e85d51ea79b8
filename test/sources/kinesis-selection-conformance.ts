// Conformance suite for selections of Kinesis readers: the assigned shards, and exact ranges.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { type Batch, EndOfInput, type Positions } from '../../src/sources/source.ts'
import { assertGapless, loopbackEgress, positionsAfter, readAll } from './conformance.ts'
import { jsonRecords, type KinesisUnderTest } from './kinesis-conformance.ts'

const numbersOf = (batches: Batch[]): number[] =>
  batches.flatMap(({ records = [] }) =>
    [...records].map(({ value }) => JSON.parse(Buffer.from(value).toString()).number),
  )
const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index)
const sorted = (numbers: number[]): number[] => numbers.toSorted((a, b) => a - b)
const positionsBefore = (batches: Batch[]): Positions =>
  Object.fromEntries(batches.toReversed().map(({ partition, from }) => [partition, from]))

/** The end of a shard can take some empty reads. */
const longWait = { waitMs: 700 }

export function kinesisSelectionConformance(test: KinesisUnderTest): void {
  it('assigns each shard to exactly one of several readers', async () => {
    const streamName = await test.newStream(4)
    await test.server.put(streamName, jsonRecords(60))
    const source = test.source({ streamName })
    for (const count of [1, 2, 3, 6]) {
      const assigned = await Promise.all(
        range(count).map(async (index) => (await readAll(source, {}, {}, { assignment: { index, count } })).batches),
      )
      assert.deepEqual(sorted(assigned.flatMap(numbersOf)), range(60))
      const sizes = assigned.map((batches) => new Set(batches.map(({ partition }) => partition)).size)
      assert.ok(Math.max(...sizes) <= Math.ceil(4 / count), `${sizes}`)
    }
  })

  it('reads exactly a range again, and ends', async () => {
    const streamName = await test.newStream(2)
    await test.server.put(streamName, jsonRecords(40))
    const source = test.source({ streamName })
    const { batches } = await readAll(source, {}, { maxRecords: 9 })
    const some = batches.slice(0, 3)
    for (const few of [{}, { maxRecords: 2 }, { maxBytes: 30 }]) {
      const until = positionsAfter(some)
      const again = await readAll(source, positionsBefore(some), few, { until, assignment: { index: 0, count: 5 } })
      assert.ok(again.ended)
      assertGapless(again.batches)
      assert.deepEqual(positionsAfter(again.batches), until)
      assert.deepEqual(sorted(numbersOf(again.batches)), sorted(numbersOf(some)))
    }
    const behind = positionsAfter(some)
    assert.deepEqual(await readAll(source, behind, {}, { until: behind }), { batches: [], ended: true })
    const before = positionsBefore(some)
    assert.deepEqual(await readAll(source, behind, {}, { until: before }), { batches: [], ended: true })
  })

  it('reads a range up to the end of a shard', async (t) => {
    if (test.server.keepsClosedShards === false) return t.skip('closed shards have no end on this server')
    const streamName = await test.newStream()
    await test.server.put(streamName, jsonRecords(10))
    const [parent = ''] = (await readAll(test.source({ streamName }), {})).batches.map(({ partition }) => partition)
    await test.server.split(streamName, parent)
    await test.server.put(streamName, jsonRecords(10, 10))
    const source = test.source({ streamName })
    const ofParent: Batch[] = []
    // On a busy machine a read can return nothing before the end is there.
    for (let round = 0; round < 10 && ofParent.at(-1)?.next !== 'end'; round++) {
      const { batches } = await readAll(source, positionsAfter(ofParent), longWait)
      ofParent.push(...batches.filter(({ partition }) => partition === parent))
    }
    assert.equal(ofParent.at(-1)?.next, 'end')
    const until = positionsAfter(ofParent)
    const again = await readAll(source, positionsBefore(ofParent), longWait, { until })
    assert.ok(again.ended)
    assert.deepEqual(numbersOf(again.batches), range(10))
    assert.deepEqual(positionsAfter(again.batches), until)
  })

  it('reports a range that no longer exists as lost', async () => {
    const streamName = await test.newStream()
    await test.server.put(streamName, jsonRecords(5))
    const source = test.source({ streamName })
    const { batches } = await readAll(source, {}, { maxRecords: 3 })
    const [first, second] = batches
    assert.ok(first && second)
    const lost = { name: 'ProbeFailure', code: 'not_found', field: 'streamName' }
    const shift = (position: string, by: bigint) => position.replace(/\d+$/, (digits) => String(BigInt(digits) + by))
    const { partition } = first
    const sequences = batches.flatMap(({ records = [] }) => [...records].map(({ meta }) => String(meta._sequence)))
    const isOfRecord = (position: string) => sequences.some((sequence) => position.endsWith(sequence))
    // Some servers number records without gaps: then no sequence number lies between two records.
    const gone = [shift(first.next, 1n), shift(second.next, 1n)].filter((position) => !isOfRecord(position))
    assert.ok(gone.length > 0)
    for (const until of gone.map((position) => ({ [partition]: position }))) {
      await assert.rejects(readAll(source, { [partition]: first.from }, { waitMs: 5_000 }, { until }), lost)
    }
    const unknown = { 'shardId-000000000077': first.next }
    await assert.rejects(readAll(source, unknown, {}, { until: { 'shardId-000000000077': second.next } }), lost)
  })

  it('returns the lag, when it is known', async () => {
    const streamName = await test.newStream()
    await test.server.put(streamName, jsonRecords(5))
    const signal = AbortSignal.timeout(10_000)
    const reader = await test.source({ streamName }).open({}, { egress: loopbackEgress, signal })
    try {
      assert.equal(reader.lag(), undefined)
      const read = (maxRecords: number) => reader.read({ maxRecords, maxBytes: 1_000_000, waitMs: 300, signal })
      assert.equal(numbersOf(await read(5)).length, 5)
      assert.deepEqual(await read(5), [])
      assert.equal(reader.lag(), 0)
    } finally {
      await reader.close()
    }
    const bounded = await test.source({ streamName }).open({}, { egress: loopbackEgress, signal }, { until: {} })
    await assert.rejects(bounded.read({ maxRecords: 1, maxBytes: 1, waitMs: 0, signal }), EndOfInput)
    await bounded.close()
  })
}
