import assert from 'node:assert/strict'
import { describe, it, mock } from 'node:test'
import { makePieceMemory } from './piece-memory.ts'

const mebibyte = 1024 * 1024
const limit = 68 * mebibyte

describe('memory for pieces', () => {
  it('reuses memory for pieces of about the same size', () => {
    const memory = makePieceMemory(limit)
    const first = memory.take(1000)
    memory.giveBack(first)
    assert.notEqual(memory.take(1001), first, 'too small')
    assert.notEqual(memory.take(499), first, 'more than twice as large')
    assert.equal(memory.take(500), first)
    assert.notEqual(memory.take(500), first, 'taken by another')
  })

  it('reuses memory for large pieces that differ by a few bytes', () => {
    const memory = makePieceMemory(limit)
    const first = memory.take(32 * mebibyte + 1)
    memory.giveBack(first)
    assert.equal(memory.take(32 * mebibyte + 100), first)
  })

  it('keeps two of the largest pieces, whatever small ones were returned before', () => {
    const memory = makePieceMemory(limit)
    const small = [2, 2, 4, 4, 4].map((size) => memory.take(size * mebibyte))
    const large = [memory.take(33 * mebibyte), memory.take(33 * mebibyte)]
    for (const piece of [...small, ...large]) memory.giveBack(piece)
    const again = [memory.take(33 * mebibyte), memory.take(33 * mebibyte)]
    assert.deepEqual(new Set(again), new Set(large))
    assert.ok(!small.includes(memory.take(4 * mebibyte)), 'all that it keeps has a limit')
  })

  it('discards memory that was idle for ten seconds', () => {
    mock.timers.enable({ apis: ['setTimeout'] })
    try {
      const memory = makePieceMemory(limit)
      const piece = memory.take(1000)
      memory.giveBack(piece)
      mock.timers.tick(9_999)
      assert.equal(memory.take(1000), piece)
      memory.giveBack(piece)
      mock.timers.tick(10_000)
      assert.notEqual(memory.take(1000), piece)
    } finally {
      mock.timers.reset()
    }
  })
})
