import assert from 'node:assert/strict'
import { it } from 'node:test'
import { tableSize } from './table-size.ts'

it('a size says whether the count has older versions of rows', () => {
  const size = { rows: 1_234, bytes: 2_000 }
  assert.match(tableSize({ ...size, engine: 'MergeTree' }), /^1,234 rows, .*on disk$/)
  assert.match(
    tableSize({ ...size, engine: 'ReplicatedReplacingMergeTree' }),
    /^1,234 rows stored, with older versions, .*on disk$/,
  )
  assert.equal(tableSize({ rows: null, bytes: null, engine: 'View' }), 'View')
})
