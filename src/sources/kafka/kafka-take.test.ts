// Records that a reader gives out: within its limits, and yielding to the event loop.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { crc32c, createRecordsBatch } from '@platformatic/kafka'
import { buildBatch } from '../../../test/sources/kafka-broker/record-batch.ts'
import { RecordWalk } from './kafka-records.ts'
import { takeBatches } from './kafka-take.ts'
import type { ReadPartition } from './read-partition.ts'

const limits = { maxRecords: 1_000_000, maxBytes: 1e9, waitMs: 0 }

function partitionWith(bytes: Buffer, partition = 0): ReadPartition {
  return {
    topic: 'topic',
    partition,
    leader: undefined,
    name: `topic/${partition}`,
    position: 0n,
    isBegun: true,
    isLaterAddition: false,
    mustStoreStart: false,
    isLogAssumed: false,
    upcoming: new RecordWalk({ topic: 'topic', partition, bytes, aborted: [] }, 0n),
    hasHead: false,
    until: undefined,
    end: undefined,
    silentMs: 0,
    firstCount: undefined,
    topicId: undefined,
    log: undefined,
    after: undefined,
    reset: undefined,
    isMissing: false,
    mustCheckRange: false,
  }
}

function zigzag(value: number): number[] {
  const bytes: number[] = []
  let rest = value * 2
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) + 0x80)
  return [...bytes, rest]
}

/** A batch of tombstones, compressed to almost nothing. */
function deletions(count: number): Buffer {
  const noKeyNoValueNoHeaders = [1, 1, 0]
  const body = Array.from({ length: count }, (_, index) => {
    const record = [0, 0, ...zigzag(index), ...noKeyNoValueNoHeaders]
    return Buffer.from([...zigzag(record.length), ...record])
  })
  const { bytes } = buildBatch([{ value: Buffer.from('a') }], 'none')
  const batch = Buffer.concat([bytes.subarray(0, 61), gzipSync(Buffer.concat(body))])
  batch.writeInt32BE(batch.length - 12, 8)
  batch.writeInt16BE(1, 21)
  batch.writeInt32BE(count - 1, 23)
  batch.writeInt32BE(count, 57)
  batch.writeUInt32BE(crc32c(batch.subarray(21)), 17)
  return batch
}

describe('taking batches from fetched records', () => {
  it('limits the decompressed bytes of one read', async () => {
    const { bytes } = buildBatch([{ value: Buffer.alloc(20 * 1024 * 1024) }], 'zstd')
    const partitions = [0, 1, 2, 3, 4].map((partition) => partitionWith(bytes, partition))
    const signal = AbortSignal.timeout(20_000)
    const reads: string[][] = []
    for (let count = 0; count < 3; count++) {
      const read = await takeBatches(partitions, { ...limits, signal })
      reads.push(read.map(({ partition }) => partition))
    }
    assert.deepEqual(reads, [['topic/0', 'topic/1'], ['topic/2', 'topic/3'], ['topic/4']])
  })

  it('gives out decompressed batches before it decompresses more', async () => {
    const records = Array.from({ length: 4 }, () => ({ value: Buffer.alloc(10 * 1024 * 1024) }))
    const { bytes } = buildBatch(records, 'zstd')
    const partitions = [0, 1].map((partition) => partitionWith(bytes, partition))
    const signal = AbortSignal.timeout(20_000)
    const served: string[] = []
    for (let count = 0; count < 8; count++) {
      // The first partition in order is not always the one with a decompressed batch.
      const read = await takeBatches(count === 0 ? partitions : partitions.toReversed(), {
        ...limits,
        maxRecords: 1,
        signal,
      })
      served.push(...read.map(({ partition }) => partition))
    }
    assert.deepEqual(served.slice(0, 4), Array(4).fill('topic/0'))
    assert.equal(served.filter((name) => name === 'topic/1').length, 4)
  })

  it('counts the memory of headers, even when they are empty', async () => {
    const headers = Array.from({ length: 1_000 }, (): [Buffer, Buffer] => [Buffer.alloc(0), Buffer.alloc(0)])
    const message = { topic: 'topic', value: Buffer.from('a'), headers: new Map(headers) }
    const { buffer } = createRecordsBatch([message, message, message], { compression: 'none' })
    const partition = partitionWith(buffer)
    const signal = AbortSignal.timeout(10_000)
    const [batch] = await takeBatches([partition], { ...limits, maxBytes: 150_000, signal })
    assert.equal(batch?.records?.length, 1)
  })

  it('yields to the event loop, and resumes where it was stopped', async () => {
    const count = 300_000
    const partition = partitionWith(deletions(count))
    const stopping = new AbortController()
    setImmediate(() => stopping.abort())
    const [stopped] = await takeBatches([partition], { ...limits, signal: stopping.signal })
    assert.ok(stopped && Number(stopped.next) < count, `read up to ${stopped?.next}`)
    const [rest] = await takeBatches([partition], { ...limits, signal: AbortSignal.timeout(20_000) })
    assert.equal(rest?.from, stopped.next)
    assert.equal(rest.next, String(count))
  })
})
