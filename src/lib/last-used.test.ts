import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { LastUsed } from './last-used.ts'

const used = (id: string) => ({ id })

describe('LastUsed', () => {
  function setUp() {
    const written: { id: string; usedAt: string }[] = []
    const failures: unknown[] = []
    let fails = false
    const uses = new LastUsed<{ id: string }>(
      async (subject, usedAt) => {
        if (fails) throw new Error('the database is away')
        written.push({ ...subject, usedAt })
      },
      (error) => failures.push(error),
    )
    const breakDown = (broken: boolean) => {
      fails = broken
    }
    return { uses, written, failures, breakDown }
  }

  it('writes the first use, and the next one a minute later', async () => {
    const { uses, written } = setUp()
    for (const nowMs of [0, 1, 59_999, 60_000, 60_001, 119_999, 120_000]) uses.note(used('a'), nowMs)
    await uses.settled()
    assert.deepEqual(
      written.map(({ usedAt }) => Date.parse(usedAt)),
      [0, 60_000, 120_000],
    )
    assert.deepEqual(written[0], { id: 'a', usedAt: '1970-01-01T00:00:00.000Z' })
  })

  it('goes on when the clock is set back', async () => {
    const { uses, written } = setUp()
    for (const nowMs of [1_000_000, 999_999, 0]) uses.note(used('a'), nowMs)
    await uses.settled()
    assert.equal(written.length, 2)
  })

  it('counts a failure as a write, and reports it', async () => {
    const { uses, written, failures, breakDown } = setUp()
    breakDown(true)
    uses.note(used('a'), 0)
    await uses.settled()
    assert.equal(failures.length, 1)
    breakDown(false)
    uses.note(used('a'), 1)
    uses.note(used('a'), 60_000)
    await uses.settled()
    assert.equal(written.length, 1)
  })

  it('limits concurrent writes, and writes the others with a later use', async () => {
    const { uses, written } = setUp()
    for (let index = 0; index < 100; index++) uses.note(used(`k${index}`), 0)
    await uses.settled()
    assert.equal(written.length, 64)
    for (let index = 0; index < 100; index++) uses.note(used(`k${index}`), 1)
    await uses.settled()
    assert.equal(new Set(written.map(({ id }) => id)).size, 100)
    assert.equal(written.length, 100)
  })

  it('forgets the oldest entry when it has too many', async () => {
    const { uses, written } = setUp()
    for (let index = 0; index <= 10_000; index++) {
      uses.note(used(`k${index}`), 0)
      if (index % 50 === 0) await uses.settled()
    }
    uses.note(used('k1'), 1)
    await uses.settled()
    assert.equal(written.length, 10_001)
    uses.note(used('k0'), 1)
    await uses.settled()
    assert.equal(written.length, 10_002)
  })
})
