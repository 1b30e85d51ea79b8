import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { makeBatchSize } from './batch-size.ts'

const mebibyte = 1_024 * 1_024

describe('the size of a batch', () => {
  it('grows to 500,000 rows and 32 MiB while rows are accepted', () => {
    const size = makeBatchSize({ replicaMemoryGb: 0.5 }, 1)
    assert.ok(size.rows < 50_000)
    for (let batch = 0; batch < 5; batch++) size.note(1_000, 0)
    assert.deepEqual([size.rows, size.bytes], [500_000, 32 * mebibyte])
  })

  it('shrinks while many rows are rejected, and not because of a few', () => {
    const size = makeBatchSize({ replicaMemoryGb: 0.5 }, 1)
    for (let batch = 0; batch < 5; batch++) size.note(1_000, 10)
    assert.equal(size.rows, 500_000)
    for (let batch = 0; batch < 5; batch++) size.note(1_000, 500)
    assert.ok(size.rows < 10_000 && size.rows > 1_000)
  })

  it('leaves room for all concurrent inserts, with any size of memory', () => {
    for (const [replicaMemoryGb, limit] of [
      [0.5, 34],
      [8, 1],
      [8, 34],
    ] as const) {
      const size = makeBatchSize({ replicaMemoryGb }, limit)
      for (let batch = 0; batch < 5; batch++) size.note(1, 0)
      assert.ok(size.bytes * (limit + 1) <= 128 * mebibyte + limit + 1, `${replicaMemoryGb} GB, ${limit} inserts`)
      assert.ok(size.bytes > mebibyte)
    }
  })
})
