import assert from 'node:assert/strict'
import { it } from 'node:test'
import { lastHour, roundScale, rowsPerSecond, summaryOf } from './minutes.ts'

const at = (time: string) => Date.parse(`2026-11-02T${time}Z`)
const moved = (time: string, rowsWritten: number, rowsRefused = 0) => ({
  minute: `2026-11-02T${time}:00.000Z`,
  rowsRead: rowsWritten,
  bytesRead: 0,
  rowsWritten,
  rowsRefused,
})

it('an hour has sixty minutes, including empty ones', () => {
  const minutes = lastHour([moved('15:40', 5), moved('15:41', 7, 2), moved('16:40', 9)], at('16:40:30'))
  assert.equal(minutes.length, 60)
  assert.deepEqual(minutes[0], { atMs: at('15:41:00'), written: 7, rejected: 2 })
  assert.deepEqual(minutes[1], { atMs: at('15:42:00'), written: 0, rejected: 0 })
  assert.deepEqual(minutes.at(-1), { atMs: at('16:40:00'), written: 9, rejected: 0 })
})

it('the rate covers the last sixty seconds', () => {
  const nowMs = at('16:40:15')
  assert.equal(rowsPerSecond(lastHour([moved('16:39', 1200), moved('16:40', 300)], nowMs), nowMs), 20)
  assert.equal(rowsPerSecond(lastHour([moved('16:38', 1200)], nowMs), nowMs), 0)
})

it('a scale ends with a round number', () => {
  assert.deepEqual([0, 1, 3, 17, 100, 101, 4999].map(roundScale), [2, 2, 5, 20, 100, 200, 5000])
})

it('the peak counts written rows, not rejected ones', () => {
  const hour = (...moves: ReturnType<typeof moved>[]) => summaryOf(lastHour(moves, at('16:40:30')))
  assert.equal(hour(), 'Nothing was moved in the last hour.')
  assert.equal(hour(moved('16:39', 10)), '10 rows written, peak 10/min.')
  assert.equal(hour(moved('16:38', 10), moved('16:39', 12, 6)), '22 rows written, peak 12/min; 6 rejected.')
  assert.equal(hour(moved('16:39', 0, 6)), '0 rows written; 6 rejected.')
})
