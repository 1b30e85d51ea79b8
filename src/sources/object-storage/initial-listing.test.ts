// What is listed before a queue is followed: every object is given by one of the readers, however often they begin anew and
// however many there are, as long as what they say of their progress is kept.
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

describe('the list before the queue', () => {
  it('gives every object once, whatever the number of readers was, and lists nothing when it is done', async () => {
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
            const listing = makeInitialListing({ store, pattern, positions, share: { index, count } })
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
          const share = { index: count - 1, count }
          assert.ok(makeInitialListing({ store, pattern, positions, share }).isDone, `${count}`)
        }
      }),
      { numRuns: 100 },
    )
  })

  it('gives an object whose name is too long as refused, once, and goes on behind it', async () => {
    const long = 'é'.repeat(1_024)
    const store = objectsInMemory(new Map([long, 'a', '😀'].map((key) => [key, 'etag'])))
    const listing = makeInitialListing({ store, pattern, positions: {}, share: { index: 0, count: 1 } })
    const batches = await listing.next({ ...limits, maxRecords: 5 }, signal)
    assert.deepEqual(
      batches.map(({ object }) => object?.key),
      ['a', undefined, '😀'],
    )
    const [, refused] = batches
    assert.match(refused?.partition ?? '', /^message:[0-9a-f]{64}$/)
    assert.deepEqual(JSON.parse(Buffer.from(refused?.refused?.raw ?? []).toString()), { key: long, etag: 'etag' })
    assert.match(refused?.refused?.reason ?? '', /has a name that is too long$/)
    assert.ok(batches.at(-1)?.cursor)
  })

  it('gives what it has taken, also when the next page cannot be had', async () => {
    const objects = new Map(Array.from({ length: 7 }, (_, index) => [`key ${index}`, 'etag']))
    const store = objectsInMemory(objects)
    const listing = makeInitialListing({ store, pattern, positions: {}, share: { index: 0, count: 1 } })
    const { list } = store
    const read = async () =>
      (await listing.next({ ...limits, maxRecords: 5 }, signal)).flatMap(({ object }) => object?.key ?? [])
    let isBroken = false
    store.list = async (...wanted) => {
      if (isBroken) throw new Error('broken')
      isBroken = true
      return list(...wanted)
    }
    assert.deepEqual(await read(), ['key 0', 'key 1', 'key 2'])
    await assert.rejects(read(), { message: 'broken' })
    store.list = list
    assert.deepEqual(await read(), ['key 3', 'key 4', 'key 5', 'key 6'])
    assert.ok(listing.isDone)
  })
})
