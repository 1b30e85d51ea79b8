import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { buildBatch } from '../../../test/sources/kafka-broker/record-batch.ts'
import { makeAnswerMemory, memoryOf } from './kafka-memory.ts'
import { KafkaRecordList } from './kafka-record-list.ts'
import { RecordWalk, readRecords, type StoredBatches } from './kafka-records.ts'

const mebibyte = 1_024 * 1_024

/** Consecutive batches with keys and timestamps, alternately plain and compressed. */
function stored(batchCount: number, recordCount: number): StoredBatches {
  const batches = Array.from({ length: batchCount }, (_, batch) => {
    const records = Array.from({ length: recordCount }, (_, index) => ({
      key: `key ${index}`,
      value: Buffer.from(JSON.stringify({ batch, index })),
      timestampMs: 1_700_000_000_000 + index,
    }))
    const { bytes } = buildBatch(records, batch % 2 === 0 ? 'none' : 'gzip')
    bytes.writeBigInt64BE(BigInt(batch * recordCount), 0)
    return bytes
  })
  return { topic: 'topic', partition: 3, bytes: Buffer.concat(batches), aborted: [] }
}

function listOf(batches: StoredBatches): KafkaRecordList {
  const walk = new RecordWalk(batches, 0n)
  const list = new KafkaRecordList()
  while (walk.step()) walk.addTo(list)
  walk.close()
  return list
}

describe('a list of Kafka records', () => {
  it('returns the records in any order, with the byte offsets of their values', () => {
    const batches = stored(5, 41)
    const read = [...readRecords(batches, 0n)].flatMap(({ record }) => record ?? [])
    const list = listOf(batches)
    assert.equal(list.length, 205)
    assert.deepEqual(
      [...list].map(({ value, meta }) => ({ value, meta })),
      read.map(({ value, meta }) => ({ value, meta })),
    )
    for (const index of [204, 0, 100, 40, 41]) assert.deepEqual(list.at(index)?.meta, read[index]?.meta)
    assert.deepEqual([list.at(-1), list.at(205)], [undefined, undefined])
    const { starts, ends, runs } = list.valueOffsets
    assert.deepEqual(
      runs.map(({ end }) => end),
      [41, 82, 123, 164, 205],
    )
    for (const [index, { value }] of read.entries()) {
      const { bytes } = runs.find(({ end }) => index < end)!
      assert.deepEqual(bytes.subarray(starts[index], ends[index]), value)
    }
  })

  it('holds the memory of an answer until it is released, and cannot be used after that', () => {
    const memory = makeAnswerMemory()
    const { bytes, ...rest } = stored(3, 10)
    const answer = memory.take(mebibyte)
    bytes.copy(answer)
    const held = memoryOf(answer)!
    const list = listOf({ ...rest, bytes: answer.subarray(0, bytes.length), memory: held })
    const isFree = (): boolean => memory.take(mebibyte).buffer === answer.buffer
    assert.ok(!isFree(), 'the list holds it')
    list.release()
    assert.ok(isFree(), 'it was released')
    // A second release must not affect the next holder.
    list.release()
    held.release()
    assert.ok(!isFree())
    assert.throws(() => list.at(0), /released/)
    assert.throws(() => list.valueOffsets, /released/)
  })

  it('does not hold an answer whose batches were decompressed', () => {
    const memory = makeAnswerMemory()
    const { bytes } = buildBatch([{ value: Buffer.from('{}') }], 'gzip')
    const answer = memory.take(mebibyte)
    bytes.copy(answer)
    const part = answer.subarray(0, bytes.length)
    const list = listOf({ topic: 'topic', partition: 0, bytes: part, memory: memoryOf(answer), aborted: [] })
    assert.equal(memory.take(mebibyte).buffer, answer.buffer)
    assert.equal(String(list.at(0)?.value), '{}')
  })
})
