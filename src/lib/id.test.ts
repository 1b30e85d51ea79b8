import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { firstIdAt, newTimeOrderedId, timeOfId } from './id.ts'

/** Later than all ids of this process: earlier tests may have set the clock forward. */
const later = (ms: number): number => timeOfId(newTimeOrderedId(Date.now())) + ms

describe('time-ordered ids', () => {
  it('grow, also within a millisecond and when the clock goes back', () => {
    const start = later(1_000_000)
    const times = [start, start, start + 1, start - 500_000, start + 1, start + 2]
    const ids = times.map((ms) => newTimeOrderedId(ms))
    assert.deepEqual(ids.toSorted(), ids)
    assert.equal(new Set(ids).size, ids.length)
    assert.deepEqual(
      ids.map((id) => timeOfId(id) - start),
      [0, 0, 1, 1, 1, 2],
    )
  })

  it('borrow the next millisecond when one is full', () => {
    const ms = later(2_000_000)
    const ids = Array.from({ length: 4097 }, () => newTimeOrderedId(ms))
    assert.deepEqual(ids.toSorted(), ids)
    assert.equal(timeOfId(ids[4095]!), ms)
    assert.equal(timeOfId(ids[4096]!), ms + 1)
  })

  it('have the first of a millisecond below them and above those before', () => {
    const ms = later(3_000_000)
    const [before, id] = [newTimeOrderedId(ms - 1), newTimeOrderedId(ms)]
    assert.ok(before < firstIdAt(ms) && firstIdAt(ms) < id)
    assert.equal(timeOfId(firstIdAt(ms)), ms)
    assert.equal(firstIdAt(-1), firstIdAt(0))
    assert.match(firstIdAt(2 ** 60), /^ffffffff-ffff-/)
  })

  it('have time 0 when they are invalid', () => {
    for (const text of ['', 'zzzz']) assert.equal(timeOfId(text), 0)
  })
})
