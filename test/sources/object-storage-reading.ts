// Conformance suite for readers of object sources, for all stores.
import assert from 'node:assert/strict'
import { buffer } from 'node:stream/consumers'
import { it } from 'node:test'
import { NotConnected, ProbeFailure } from '../../src/source-shapes/source-failure.ts'
import type { Batch, Positions } from '../../src/sources/source.ts'
import { assertGapless, loopbackEgress, positionsAfter, readAll } from './conformance.ts'
import { jsonLines } from './object-samples.ts'
import { filled, idsOf, line, type ObjectWorld } from './object-storage-common.ts'

const keysOf = (batches: Batch[]) => batches.map(({ object }) => object!.key)

export function readsObjects(world: () => ObjectWorld): void {
  it('returns every object once, in order and completely, and ends', async () => {
    const keys = ['in/a.json', 'in/b.json', 'in/c/d.json']
    const bucket = await filled(world(), keys)
    await world().put(bucket, 'in/b0-empty.json', new Uint8Array())
    await world().put(bucket, 'out.json', line(9))
    const large = Buffer.alloc(3_000_000, jsonLines)
    await world().put(bucket, 'in/large.json', large)
    const source = world().makeSource(bucket, 'in/**.json')
    const { batches, ended } = await readAll(source, {}, { maxBytes: 10 })
    assert.ok(ended)
    assert.deepEqual(keysOf(batches), [...keys, 'in/large.json'])
    assert.equal(batches[0]!.from, '')
    assertGapless(batches)
    const [again, signal] = [await readAll(source, {}), AbortSignal.timeout(10_000)]
    assert.deepEqual(positionsOf(again.batches), positionsOf(batches), 'the same positions each time')
    const reader = await source.open({}, { egress: loopbackEgress, signal })
    for (const expected of [line(0), line(1), line(2), large]) {
      const [batch] = await reader.read({ maxRecords: 1, maxBytes: 10, waitMs: 0, signal })
      const bytes = await buffer(await batch!.object!.open(signal))
      assert.ok(bytes.equals(expected), batch!.object!.key)
      assert.equal(batch!.object!.sizeBytes, expected.length)
    }
    await reader.close()
  })

  it('resumes from any position', async () => {
    const keys = ['a', 'b', 'c', 'd']
    const bucket = await filled(world(), keys)
    const source = world().makeSource(bucket, '*')
    const { batches } = await readAll(source, {})
    for (const [index, { partition, next }] of batches.entries()) {
      const rest = await readAll(source, { [partition]: next })
      assert.deepEqual(keysOf(rest.batches), keys.slice(index + 1))
      assert.ok(rest.ended)
      assertGapless([batches[index]!, ...rest.batches])
    }
  })

  it('lists several pages', { timeout: 60_000 }, async () => {
    const keys = Array.from({ length: 1_003 }, (_, index) => `p/${String(index).padStart(5, '0')}`)
    const bucket = await filled(world(), keys)
    const source = world().makeSource(bucket, 'p/*')
    const { batches } = await readAll(source, {})
    assert.deepEqual(keysOf(batches), keys)
    const { partition, next } = batches[1_000]!
    assert.deepEqual(keysOf((await readAll(source, { [partition]: next })).batches), keys.slice(1_001))
    assert.deepEqual(await idsOf(world().makeSource(bucket, '**/01002')), [1_002])
    const continuous = world().makeSource(bucket, 'p/*', { isContinuous: true })
    const signal = AbortSignal.timeout(20_000)
    const reader = await continuous.open({ [partition]: next }, { egress: loopbackEgress, signal })
    const read = () => reader.read({ maxRecords: 1, maxBytes: 1, waitMs: 0, signal })
    assert.deepEqual(keysOf([...(await read()), ...(await read()), ...(await read())]), keys.slice(1_001))
    await world().put(bucket, 'p/01003', line(1_003))
    assert.deepEqual(keysOf([...(await read()), ...(await read())]), ['p/01003'])
    await reader.close()
  })

  it('waits for new objects of a continuous source', async () => {
    const bucket = await filled(world(), ['a.json', 'b.json', 'z.txt'])
    const source = world().makeSource(bucket, '*.json', { isContinuous: true })
    const signal = AbortSignal.timeout(15_000)
    const reader = await source.open({}, { egress: loopbackEgress, signal })
    const read = (waitMs: number) => reader.read({ maxRecords: 9, maxBytes: 1_000, waitMs, signal })
    const first = [...(await read(0)), ...(await read(0))]
    assert.deepEqual(keysOf(first), ['a.json', 'b.json'])
    assert.deepEqual(await read(50), [])
    const waiting = read(1_000)
    await world().put(bucket, 'c.json', line(3))
    const early = await waiting
    // It may have listed the bucket before the object existed.
    const came = early.length > 0 ? early : await read(0)
    assert.deepEqual(keysOf(came), ['c.json'])
    assertGapless([...first, ...came])
    await reader.acknowledge({ [came[0]!.partition]: came[0]!.next })
    assert.deepEqual(await read(0), [])
    await reader.close()
    const { batches, ended } = await readAll(source, { [came[0]!.partition]: came[0]!.next })
    assert.deepEqual([batches, ended], [[], false])
  })

  it('assigns every object to one of several readers, also when their number changes', async () => {
    const name = (index: number) => `in/${String(index).padStart(3, '0')}`
    const bucket = await filled(world(), [])
    const source = world().makeSource(bucket, 'in/*')
    let positions: Positions = {}
    const given: string[] = []
    for (const [round, count] of [1, 3, 2, 1].entries()) {
      for (let index = 0; index < 8; index++) await world().put(bucket, name(round * 8 + index), line(index))
      for (let index = 0; index < count; index++) {
        const { batches, ended } = await readAll(source, positions, {}, { assignment: { index, count } })
        assert.ok(ended)
        assertGapless(batches)
        given.push(...keysOf(batches))
        positions = { ...positions, ...positionsAfter(batches) }
      }
    }
    assert.deepEqual(
      given.toSorted(),
      Array.from({ length: 32 }, (_, index) => name(index)),
    )
  })

  it('reads exactly a range again, and reports that its last object has changed', async () => {
    const bucket = await filled(world(), ['a', 'b', 'c', 'd'])
    const source = world().makeSource(bucket, '*', { isContinuous: true })
    const { batches } = await readAll(source, {})
    const [from, until] = [{ objects: batches[0]!.next }, { objects: batches[2]!.next }]
    const again = await readAll(source, from, {}, { until })
    assert.ok(again.ended)
    assert.deepEqual(positionsOf(again.batches), positionsOf(batches.slice(1, 3)))
    assert.deepEqual(await readAll(source, until, {}, { until: from }), { batches: [], ended: true })
    await world().put(bucket, 'c', Buffer.from('{"id":"changed"}\n'))
    const changed = { name: 'ProbeFailure', code: 'source_failed', reason: /"c" was changed or deleted/ }
    await assert.rejects(readAll(source, from, {}, { until }), changed)
    const gone = { objects: batches[2]!.next.replace(/ c$/, ' bb') }
    const missing = { ...changed, reason: /"bb" was changed or deleted/ }
    await assert.rejects(readAll(source, from, {}, { until: gone }), missing)
  })

  it('reads exactly the objects requested by position, whatever the pattern is now', async () => {
    const bucket = await filled(world(), ['a', 'b', 'c', 'd'])
    const { batches } = await readAll(world().makeSource(bucket, '*', { isContinuous: true }), {})
    const [, b, , d] = batches.map(({ next }) => next)
    const other = world().makeSource(bucket, 'other/*', { isContinuous: true })
    const selection = { until: { objects: d! }, only: [b!, d!] }
    const again = await readAll(other, {}, {}, selection)
    assert.ok(again.ended)
    assert.deepEqual(
      again.batches.map(({ next }) => next),
      [b, d],
    )
    assert.deepEqual(keysOf(again.batches), ['b', 'd'])
    await world().put(bucket, 'd', Buffer.from('{"id":"changed"}\n'))
    const changed = { name: 'ProbeFailure', code: 'source_failed', reason: /"d" was changed or deleted/ }
    await assert.rejects(readAll(other, {}, {}, selection), changed)
    const gone = { until: { objects: d! }, only: [d!.replace(/ d$/, ' dd')] }
    await assert.rejects(readAll(other, {}, {}, gone), { ...changed, reason: /"dd" was changed or deleted/ })
  })

  it('returns the lag', async () => {
    const bucket = await filled(world(), ['a', 'b', 'c'])
    const signal = AbortSignal.timeout(10_000)
    const reader = await world().makeSource(bucket, '*').open({}, { egress: loopbackEgress, signal })
    const lags = [reader.lag()]
    for (const _ of 'abc') {
      await reader.read({ maxRecords: 1, maxBytes: 1, waitMs: 0, signal })
      lags.push(reader.lag())
    }
    assert.deepEqual(lags, [undefined, 2, 1, 0])
    await reader.close()
  })

  it('reports an object that was changed after it was listed', async () => {
    const bucket = await filled(world(), ['a'])
    const source = world().makeSource(bucket, '*')
    const { batches } = await readAll(source, {})
    const signal = AbortSignal.timeout(10_000)
    const reader = await source.open({}, { egress: loopbackEgress, signal })
    const [batch] = await reader.read({ maxRecords: 1, maxBytes: 10, waitMs: 0, signal })
    await world().put(bucket, 'a', Buffer.from('{"id":"changed"}\n'))
    const failure: unknown = await batch!.object!.open(signal).catch((error: unknown) => error)
    assert.ok(failure instanceof ProbeFailure)
    assert.equal(failure.code, 'source_failed')
    assert.match(failure.reason, /"a" was changed/)
    await reader.close()
    const changed = await readAll(source, {})
    assert.notEqual(changed.batches[0]!.next, batches[0]!.next, 'other bytes have another position')
  })

  it('ends when the signal aborts', async () => {
    const bucket = await filled(world(), ['a'])
    const source = world().makeSource(bucket, 'nothing*', { isContinuous: true })
    const reader = await source.open({}, { egress: loopbackEgress, signal: AbortSignal.timeout(20_000) })
    const startedAtMs = performance.now()
    const limits = { maxRecords: 1, maxBytes: 1, waitMs: 10_000, signal: AbortSignal.timeout(200) }
    await assert.rejects(reader.read(limits), NotConnected)
    assert.ok(performance.now() - startedAtMs < 8_000)
    await reader.close()
  })
}

function positionsOf(batches: Batch[]): string[][] {
  return batches.map(({ partition, from, next }) => [partition, from, next])
}
