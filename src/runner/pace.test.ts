import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { nextLookMs } from './pace.ts'

const everyMs = 1_000
const between = (rows: number, runners: number) =>
  [0, 0.999].map((random) => Math.round(nextLookMs({ rows, runners, everyMs, random })))

describe('the interval of looks', () => {
  it('is one tick while the load on the database is low', () => {
    assert.deepEqual(between(0, 1), [1_000, 1_000])
    assert.deepEqual(between(20_000, 10), [1_000, 1_000])
  })

  it('grows with rows and runners, and has jitter', () => {
    assert.deepEqual(between(20_000, 40), [3_000, 4_998])
    assert.deepEqual(between(80_000, 10), [3_000, 4_998])
  })

  it('has a maximum', () => {
    assert.deepEqual(between(200_000, 1_000), [11_250, 18_743])
  })
})
