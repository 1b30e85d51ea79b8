import assert from 'node:assert/strict'
import { it } from 'node:test'
import { bytesOf, countOf, durationOf, shortCount, threeDigits } from './amounts.ts'

it('counts are shown with their noun', () => {
  assert.equal(countOf(0, 'row'), '0 rows')
  assert.equal(countOf(1, 'row'), '1 row')
  assert.equal(countOf(12_000, 'row'), '12,000 rows')
})

it('long counts are shortened', () => {
  assert.equal(shortCount(9_999_999), '9,999,999')
  assert.equal(shortCount(45_123_456), '45.1M')
})

it('bytes are shown in the unit that keeps them short', () => {
  assert.equal(bytesOf(0), '0 bytes')
  assert.equal(bytesOf(999), '999 bytes')
  assert.equal(bytesOf(1000), '1 KB')
  assert.equal(bytesOf(999_700), '1 MB')
  assert.equal(bytesOf(31_330_000), '31.3 MB')
  assert.equal(bytesOf(5_000_000_000_000), '5 TB')
})

it('measured values have three digits, and all digits before the point', () => {
  assert.equal(threeDigits(0), '0')
  assert.equal(threeDigits(0.1234), '0.123')
  assert.equal(threeDigits(17.04), '17')
  assert.equal(threeDigits(123_456.7), '123,457')
})

it('durations are rounded to their precision', () => {
  assert.equal(durationOf(0), 'under a minute')
  assert.equal(durationOf(59), 'under a minute')
  assert.equal(durationOf(60), 'about 1 minute')
  assert.equal(durationOf(5_400), 'about 90 minutes')
  assert.equal(durationOf(7_200), 'about 2 hours')
  assert.equal(durationOf(100_000), 'about 28 hours')
  assert.equal(durationOf(300_000), 'about 3 days')
})
