// Readers of objects in changing numbers: every object is returned once.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { objectsInMemory } from '../../../test/sources/object-memory.ts'
import { type Batch, EndOfInput, type Positions, type Selection } from '../source.ts'
import { parsePattern } from './object-pattern.ts'
import { makeObjectReader } from './object-reader.ts'
import type { ObjectStore } from './object-store.ts'

/** Reads at most `most` batches. */
async function readSome(store: ObjectStore, positions: Positions, selection: Selection, most = 1e9): Promise<Batch[]> {
  const signal = AbortSignal.timeout(10_000)
  const pattern = parsePattern('**', { isUrl: false })
  const reader = makeObjectReader({ store, pattern, isContinuous: false, positions, selection, signal })
  const batches: Batch[] = []
  try {
    while (batches.length < most) {
      batches.push(...(await reader.read({ maxRecords: 1, maxBytes: 1, waitMs: 0, signal })))
    }
  } catch (error) {
    if (!(error instanceof EndOfInput)) throw error
  } finally {
    await reader.close()
  }
  return batches
}

const keysOf = (batches: Batch[]): string[] => batches.map(({ object }) => object?.key ?? '')
const moved = (positions: Positions, batches: Batch[]): Positions => ({
  ...positions,
  ...Object.fromEntries(batches.map(({ partition, next }) => [partition, next])),
})

describe('readers of objects', () => {
  it('return every object once, for changing numbers of readers and any stop positions', async () => {
    const phase = fc.record({
      count: fc.integer({ min: 1, max: 6 }),
      /** How many objects each returns before the next phase; the last phase reads to the end. */
      most: fc.array(fc.nat(6), { minLength: 6, maxLength: 6 }),
      addedCount: fc.nat(12),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(phase, { minLength: 1, maxLength: 6 }), async (phases) => {
        const objects = new Map<string, string>()
        const store = objectsInMemory(objects)
        const given: string[] = []
        let positions: Positions = {}
        for (const [number, { count, most, addedCount }] of [...phases, phases[0]!].entries()) {
          const isLast = number === phases.length
          for (let left = addedCount; left > 0; left--) objects.set(`key ${1_000 + objects.size}`, `etag ${left}`)
          for (let index = 0; index < count; index++) {
            const read = await readSome(store, positions, { assignment: { index, count } }, isLast ? 1e9 : most[index])
            const partition = count === 1 ? 'objects' : `objects ${index}/${count}`
            assert.ok(read.every((batch) => batch.partition === partition))
            assert.equal(read[0]?.from ?? positions[partition] ?? '', positions[partition] ?? '')
            given.push(...keysOf(read))
            await assertRepeatable(store, positions, read)
            positions = moved(positions, read)
          }
        }
        assert.deepEqual(given.toSorted(), [...objects.keys()].toSorted())
      }),
      { numRuns: 150 },
    )
  })

  it('do not list keys again that all of them have passed', async () => {
    const objects = new Map(Array.from({ length: 90 }, (_, index) => [`key ${100 + index}`, '']))
    const store = objectsInMemory(objects)
    // Position of a single reader.
    let positions: Positions = { objects: ' key 105' }
    for (const index of [0, 1, 2]) {
      positions = moved(positions, await readSome(store, positions, { assignment: { index, count: 3 } }))
    }
    store.lists.length = 0
    assert.deepEqual(await readSome(store, positions, {}), [])
    const [first] = store.lists
    assert.ok(first && first > 'key 170', `${first}`)
    assert.deepEqual(await readSome(store, positions, { assignment: { index: 5, count: 6 } }), [])
    assert.ok(store.lists.length < 20, `${store.lists.length} lists`)
  })

  it('return a range of another number of readers', async () => {
    const store = objectsInMemory(new Map(['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((key) => [key, ''])))
    const first = await readSome(store, {}, { assignment: { index: 1, count: 2 } })
    assert.ok(first.length >= 2)
    const until = { 'objects 1/2': first.at(-1)!.next }
    const again = await readSome(store, {}, { until, assignment: { index: 2, count: 3 } })
    assert.deepEqual(keysOf(again), keysOf(first))
  })
})

/** The same positions must give the same objects. */
async function assertRepeatable(store: ObjectStore, positions: Positions, read: Batch[]): Promise<void> {
  const last = read.at(-1)
  if (!last) return
  const again = await readSome(store, positions, { until: { [last.partition]: last.next } })
  const rangesOf = (batches: Batch[]) => batches.map(({ partition, from, next }) => [partition, from, next])
  assert.deepEqual(rangesOf(again), rangesOf(read))
}
