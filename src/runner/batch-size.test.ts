import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { makeBatchSize } from './batch-size.ts'

const mebibyte = 1_024 * 1_024

describe('the size of a batch', () => {
  it('grows to 500,000 rows and 32 MiB while rows are taken', () => {
    const size = makeBatchSize({ replicaMemoryGb: 0.5 }, 1)
    assert.ok(size.rows < 50_000)
    for (let batch = 0; batch < 5; batch++) size.note(1_000, 0)
    assert.deepEqual([size.rows, size.bytes], [500_000, 32 * mebibyte])
  })

  it('shrinks while many rows are refused, and not because of a few', () => {
    const size = makeBatchSize({ replicaMemoryGb: 0.5 }, 1)
    for (let batch = 0; batch < 5; batch++) size.note(1_000, 10)
    assert.equal(size.rows, 500_000)
    for (let batch = 0; batch < 5; batch++) size.note(1_000, 500)
    assert.ok(size.rows < 10_000 && size.rows > 1_000)
  })

  it('leaves room for all inserts that are under way, whatever the memory', () => {
    for (const [replicaMemoryGb, lanes] of [
      [0.5, 34],
      [8, 1],
      [8, 34],
    ] as const) {
      const size = makeBatchSize({ replicaMemoryGb }, lanes)
      for (let batch = 0; batch < 5; batch++) size.note(1, 0)
      assert.ok(size.bytes * (lanes + 1) <= 128 * mebibyte + lanes + 1, `${replicaMemoryGb} GB, ${lanes} inserts`)
      assert.ok(size.bytes > mebibyte)
    }
  })
})
