// Types of ClickHouse that hold all values of another.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { holdsAll } from './types.ts'

describe('a type that holds all values of another', () => {
  const wider: [string, string][] = [
    ['Int64', 'Int32'],
    ['Nullable(Int32)', 'Int16'],
    ['Float64', 'Float32'],
    ['Decimal(12, 4)', 'Decimal(10, 2)'],
    ['String', 'Decimal(10, 2)'],
    ['Nullable(String)', 'Nullable(Int8)'],
    ['Nullable(UUID)', 'UUID'],
  ]

  it('is wider, and not the other way round', () => {
    for (const [wide, narrow] of wider)
      assert.deepEqual([holdsAll(wide, narrow), holdsAll(narrow, wide)], [true, false])
  })

  it('has enough digits before and after the point, and is known', () => {
    assert.equal(holdsAll('Decimal(12, 4)', 'Decimal(12, 2)'), false)
    assert.equal(holdsAll('UInt32', 'Int32'), false)
    assert.equal(holdsAll('Int64', 'UInt32'), false)
    assert.equal(holdsAll('String', "DateTime64(6, 'UTC')"), false)
  })
})
