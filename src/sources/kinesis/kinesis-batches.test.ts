import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Batch } from '../source.ts'
import { takeBatches } from './kinesis-batches.ts'
import { type Page, parsePage } from './kinesis-page.ts'
import type { ReadShard } from './kinesis-shards.ts'

const recordBytes = 600_000

/** Three records, large enough for reusable memory. */
function pageOf(letter: string): Page {
  const record = (_: unknown, index: number): object => ({
    SequenceNumber: String(index + 1),
    PartitionKey: 'a',
    ApproximateArrivalTimestamp: 1_700_000_000,
    Data: Buffer.from(letter.repeat(recordBytes)).toString('base64'),
  })
  return parsePage(Buffer.from(JSON.stringify({ Records: Array.from({ length: 3 }, record) })))
}

function shardOf({ records }: Page): ReadShard {
  return {
    id: 'shardId-0',
    isClosed: false,
    parents: [],
    position: '',
    mustStoreStart: false,
    firstSinceTime: undefined,
    expected: undefined,
    start: { type: 'TRIM_HORIZON' },
    iterator: undefined,
    dueAtMs: 0,
    waiting: [...records],
    reached: undefined,
    isExhausted: false,
    lost: undefined,
    isFinished: false,
    until: undefined,
    isBehind: undefined,
    emptyPages: 0,
  }
}

const memoryOfPage = ({ records: [first] }: Page): ArrayBufferLike => first!.data.buffer
const isAll = (letter: string, { records = [] }: Batch): boolean =>
  [...records].every(({ value }) => Buffer.from(value).equals(Buffer.alloc(recordBytes, letter)))

describe('batches of Kinesis', () => {
  it('hold the memory of a page until the last of them is released', () => {
    const page = pageOf('x')
    const stream = { name: 'orders', shards: [shardOf(page)], nextFirst: 0 }
    const take = (maxRecords: number): Batch => takeBatches(stream, { maxRecords, maxBytes: 10_000_000 })[0]!
    const isFree = (): boolean => memoryOfPage(pageOf('y')) === memoryOfPage(page)
    const [first, second] = [take(1), take(10)]
    assert.deepEqual([first.records?.length, second.records?.length], [1, 2])
    assert.ok(!isFree())
    first.records?.release?.()
    first.records?.release?.()
    assert.ok(!isFree(), 'the second batch has records of it')
    assert.ok(isAll('x', second))
    second.records?.release?.()
    assert.ok(isFree())
  })

  it('do not release the memory of a page with waiting records', () => {
    const page = pageOf('x')
    const stream = { name: 'orders', shards: [shardOf(page)], nextFirst: 0 }
    const [first] = takeBatches(stream, { maxRecords: 1, maxBytes: 10_000_000 })
    first?.records?.release?.()
    assert.notEqual(memoryOfPage(pageOf('y')), memoryOfPage(page))
    const [rest] = takeBatches(stream, { maxRecords: 10, maxBytes: 10_000_000 })
    assert.ok(rest && isAll('x', rest))
  })
})
