import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it, type Mock, mock } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { giveBackMemoryWhenIdle } from './give-back-memory.ts'

describe('memory that only the start needed', () => {
  const { gc } = globalThis
  let collect: Mock<() => void>

  beforeEach(() => {
    collect = mock.fn()
    globalThis.gc = collect as unknown as NonNullable<typeof gc>
  })

  afterEach(() => {
    globalThis.gc = gc as NonNullable<typeof gc>
  })

  it('is freed by an idle process', async () => {
    giveBackMemoryWhenIdle()
    await sleep(1_500)
    assert.equal(collect.mock.callCount(), 1)
  })

  it('is not freed by a busy process', async () => {
    giveBackMemoryWhenIdle()
    for (const end = performance.now() + 1_100; performance.now() < end; );
    await sleep(500)
    assert.equal(collect.mock.callCount(), 0)
  })
})
