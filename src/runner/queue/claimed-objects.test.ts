import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ProbeFailure } from '../../source-shapes/source-failure.ts'
import { objectPartition } from '../../sources/object-storage/queued-objects.ts'
import { EndOfInput, type ReadableSource } from '../../sources/source.ts'
import type { Session } from '../session.ts'
import { makeClaimedObjects } from './claimed-objects.ts'

const { signal } = new AbortController()
const partitionOf = (key: string): string => objectPartition({ key, etag: 'e' })

/** Only some of them exist. */
function claimedOf(there: string[]) {
  let [openedCount, closedCount] = [0, 0]
  const open: ReadableSource['open'] = async (_positions, _connectOptions, selection) => {
    openedCount++
    const left = Object.keys(selection?.until ?? {})
    return {
      async read() {
        const partition = left.shift()
        if (partition === undefined) throw new EndOfInput()
        const key = partition.slice(partition.indexOf(' ') + 1)
        if (!there.includes(key)) {
          throw new ProbeFailure({ step: 'read', code: 'source_failed', reason: 'it was changed', remedy: 'wait' })
        }
        const object = { key, sizeBytes: 1, open: () => Promise.reject(new Error('not asked for')) }
        return [{ partition, from: '', next: 'finished', object }]
      },
      acknowledge: async () => undefined,
      lag: () => undefined,
      async close() {
        closedCount++
      },
    }
  }
  const session = { parts: { source: { open }, egress: undefined }, signal, stopping: signal } as unknown as Session
  return { claimed: makeClaimedObjects(session), openCount: () => openedCount - closedCount }
}

describe('objects that were claimed before', () => {
  it('are found unchanged, and their reader stays open until close', async () => {
    const { claimed, openCount } = claimedOf(['a', 'c'])
    const found = await claimed.list(['a', 'b', 'c'].map(partitionOf))
    assert.deepEqual([...found.keys()], ['a', 'c'].map(partitionOf))
    assert.equal(openCount(), 1)
    await claimed.close()
    assert.equal(openCount(), 0)
    await claimed.close()
    assert.equal(openCount(), 0)
  })

  it('leave no reader open when they are missing, however often they are listed', async () => {
    const { claimed, openCount } = claimedOf([])
    for (let look = 0; look < 3; look++) {
      await assert.rejects(claimed.load(partitionOf('a')), { name: 'ProbeFailure', reason: /the object a was changed/ })
      assert.equal((await claimed.list(['a', 'b'].map(partitionOf))).size, 0)
      assert.equal(openCount(), 0)
    }
  })
})
