import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { listMatching } from './object-listing.ts'
import { parsePattern } from './object-pattern.ts'
import type { ObjectStore } from './object-store.ts'

const never = (): never => assert.fail('not asked for')

function storeOf(keys: string[]): ObjectStore {
  const objects = keys.map((key) => ({ key, sizeBytes: 1, etag: '', modifiedAt: undefined }))
  return { list: async () => ({ objects, isLast: true }), find: never, read: never, open: never, close: never }
}

describe('objects that match a pattern', () => {
  /** Pattern and keys with the longest matching time. */
  const pattern = parsePattern(`${'*?'.repeat(99)}*z`, { isUrl: false })
  const store = storeOf(Array.from({ length: 1_000 }, (_, index) => `${'a'.repeat(1_000)}${index}`))

  it('are listed without blocking the event loop, until the signal is aborted', async () => {
    const stopping = new AbortController()
    let turns = 0
    const others = setInterval(() => {
      turns += 1
      if (turns === 3) stopping.abort()
    }, 1)
    const looking = listMatching(store, pattern, undefined, stopping.signal)
    await assert.rejects(looking, { name: 'AbortError' }).finally(() => clearInterval(others))
    assert.equal(turns, 3)
  })

  it('are all found, also after many others', async () => {
    const keys = [
      ...Array.from({ length: 20 }, (_, index) => `${'a'.repeat(1_000)}${index}`),
      `${'b'.repeat(200)}z`,
      'z/',
    ]
    const { matches, last } = await listMatching(storeOf(keys), pattern, undefined, AbortSignal.timeout(30_000))
    assert.deepEqual([matches.map(({ key }) => key), last], [[`${'b'.repeat(200)}z`], 'z/'])
  })
})
