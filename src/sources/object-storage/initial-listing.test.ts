// Initial listing before a queue is read: one of the readers returns each object, for any number of readers and restarts, if their
// positions are stored.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { objectsInMemory } from '../../../test/sources/object-memory.ts'
import type { Positions } from '../source.ts'
import { makeInitialListing } from './initial-listing.ts'
import { parsePattern } from './object-pattern.ts'

const pattern = parsePattern('**', { isUrl: false })
const { signal } = new AbortController()
const limits = { maxRecords: 2, maxBytes: 1e9 }

describe('the initial listing', () => {
  it('returns every object once for changing numbers of readers, and lists nothing when it is done', async () => {
    const phase = fc.record({
      count: fc.integer({ min: 1, max: 4 }),
      reads: fc.array(fc.nat(4), { minLength: 4, maxLength: 4 }),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(phase, { minLength: 1, maxLength: 5 }), fc.nat(20), async (phases, objectCount) => {
        const objects = new Map(Array.from({ length: objectCount }, (_, index) => [`key ${100 + index}`, 'etag']))
        const store = objectsInMemory(objects)
        const given: string[] = []
        let positions: Positions = {}
        for (const [number, { count, reads }] of [...phases, { count: 3, reads: [] }].entries()) {
          const isLast = number === phases.length
          for (let index = 0; index < count; index++) {
            const listing = makeInitialListing({ store, pattern, positions, assignment: { index, count } })
            for (let read = 0; !listing.isDone && (isLast || read < reads[index]!); read++) {
              const batches = await listing.next(limits, signal)
              given.push(...batches.flatMap(({ object }) => (object ? [object.key] : [])))
              const { cursor } = batches.at(-1)!
              positions = { ...positions, [cursor!.partition]: cursor!.position }
            }
          }
        }
        assert.deepEqual(given.toSorted(), [...objects.keys()])
        store.lists.length = 0
        objects.set('later', 'etag')
        for (const count of [1, 2, 3, 6]) {
          const assignment = { index: count - 1, count }
          assert.ok(makeInitialListing({ store, pattern, positions, assignment }).isDone, `${count}`)
        }
      }),
      { numRuns: 100 },
    )
  })

  it('rejects an object with a too long name once, and continues after it', async () => {
    const long = 'é'.repeat(1_024)
    const store = objectsInMemory(new Map([long, 'a', '😀'].map((key) => [key, 'etag'])))
    const listing = makeInitialListing({ store, pattern, positions: {}, assignment: { index: 0, count: 1 } })
    const batches = await listing.next({ ...limits, maxRecords: 5 }, signal)
    assert.deepEqual(
      batches.map(({ object }) => object?.key),
      ['a', undefined, '😀'],
    )
    const [, rejected] = batches
    assert.match(rejected?.partition ?? '', /^message:[0-9a-f]{64}$/)
    assert.deepEqual(JSON.parse(Buffer.from(rejected?.rejected?.raw ?? []).toString()), { key: long, etag: 'etag' })
    assert.match(rejected?.rejected?.reason ?? '', /has a name that is too long$/)
    assert.ok(batches.at(-1)?.cursor)
  })

  it('returns objects that were taken, also when the next page fails', async () => {
    const objects = new Map(Array.from({ length: 7 }, (_, index) => [`key ${index}`, 'etag']))
    const store = objectsInMemory(objects)
    const listing = makeInitialListing({ store, pattern, positions: {}, assignment: { index: 0, count: 1 } })
    const { list } = store
    const read = async () =>
      (await listing.next({ ...limits, maxRecords: 5 }, signal)).flatMap(({ object }) => object?.key ?? [])
    let isBroken = false
    store.list = async (...matching) => {
      if (isBroken) throw new Error('broken')
      isBroken = true
      return list(...matching)
    }
    assert.deepEqual(await read(), ['key 0', 'key 1', 'key 2'])
    await assert.rejects(read(), { message: 'broken' })
    store.list = list
    assert.deepEqual(await read(), ['key 3', 'key 4', 'key 5', 'key 6'])
    assert.ok(listing.isDone)
  })
})
