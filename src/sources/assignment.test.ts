import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { hashOf, isAssignedByNumber } from './assignment.ts'

const counts = [1, 2, 3, 4, 7, 16]
const indexes = (count: number): number[] => Array.from({ length: count }, (_, index) => index)

describe('assignment of a partition', () => {
  it('is to exactly one reader, for any name', () => {
    for (const name of ['orders/0', 'orders/17', 'a.b-c_d/4294967297', 'shardId-000000000012', 'no number', '7', '']) {
      for (const count of counts) {
        const assigned = indexes(count).filter((index) => isAssignedByNumber(name, { index, count }))
        assert.equal(assigned.length, 1, `${name} of ${count}`)
      }
    }
    assert.ok(isAssignedByNumber('orders/0', undefined))
  })

  it('never changes, because stored positions depend on it', () => {
    const names = ['orders/0', 'orders/1', 'shardId-000000000012', 'über/3']
    const assignedTo = names.map((name) => indexes(7).find((index) => isAssignedByNumber(name, { index, count: 7 })))
    assert.deepEqual(assignedTo, [2, 3, 5, 0])
    assert.deepEqual(
      ['', 'a', 'invoices/2024-01.csv', 'é/😀'].map(hashOf),
      [2872998923, 444641715, 940823943, 3298745345],
    )
  })

  it('is evenly distributed for similar keys', () => {
    const keys = Array.from({ length: 10_000 }, (_, index) => `logs/2024/part-${String(index).padStart(6, '0')}.json`)
    for (const count of counts) {
      const sizes = indexes(count).map((index) => keys.filter((key) => hashOf(key) % count === index).length)
      assert.ok(Math.min(...sizes) > (0.85 * keys.length) / count, `${count}: ${sizes}`)
    }
  })
})
