import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { relativeTime } from './relative-time.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

describe('a time in words', () => {
  const cases: [distance: number, text: string][] = [
    [0, 'just now'],
    [-59_999, 'just now'],
    [20_000, 'in under a minute'],
    [-minute, '1 minute ago'],
    [-3 * hour, '3 hours ago'],
    [-59.8 * minute, '59 minutes ago'],
    [59.5 * minute, 'in 59 minutes'],
    [60 * minute - 1_000, 'in 1 hour'],
    [-23.6 * hour, '23 hours ago'],
    [23.6 * hour, 'in 23 hours'],
    [day - minute, 'in 1 day'],
    [35 * hour, 'in 1 day'],
    [-35 * hour, '1 day ago'],
    // An invitation that was just created, and half an hour later.
    [7 * day - 2_000, 'in 7 days'],
    [7 * day - 30 * minute, 'in 7 days'],
    [6.8 * day, 'in 6 days'],
    [-6.99 * day, '6 days ago'],
    [30 * day - 2_000, 'in 30 days'],
    [-30.9 * day, '30 days ago'],
    [-31 * day, '1 month ago'],
    [90 * day - 2_000, 'in 3 months'],
    [-364 * day, '11 months ago'],
    [365 * day - 2_000, 'in 1 year'],
    [-365 * day, '1 year ago'],
    [-3 * 365 * day, '3 years ago'],
  ]
  for (const [distance, text] of cases) {
    it(`${distance} ms away is "${text}"`, () => {
      const now = Date.UTC(2026, 10, 18)
      assert.equal(relativeTime(now + distance, now), text)
    })
  }
})
