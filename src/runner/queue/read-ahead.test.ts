import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { NotConnected } from '../../source-shapes/source-failure.ts'
import type { FoundObject } from '../rebuild-objects.ts'
import { readAhead } from './read-ahead.ts'

interface Opened {
  key: string
  stream: Readable
}

const { signal } = new AbortController()

/** Objects that contain their names, and a record of opened ones. */
function makeObjects(keys: string[], sizes: Record<string, number> = {}) {
  const opened: Opened[] = []
  const objects = keys.map((key) => {
    const object: FoundObject = {
      key,
      sizeBytes: sizes[key] ?? key.length,
      async open() {
        const stream = Readable.from([Buffer.from(key.slice(0, 1)), Buffer.from(key.slice(1))])
        opened.push({ key, stream })
        return stream
      },
    }
    return { find: async () => object }
  })
  return { objects, opened, openedKeys: () => opened.map(({ key }) => key) }
}

async function letEventLoopTurn(count = 20): Promise<void> {
  for (let builder = 0; builder < count; builder++) await nextTurn()
}

const many = Array.from({ length: 30 }, (_, index) => `object ${index}`)

describe('objects that are read ahead', () => {
  it('are given in their order, each with what it holds', async () => {
    const { objects } = makeObjects(many)
    const objectAt = readAhead(objects, signal)
    const given: string[] = []
    for (const index of many.keys()) {
      const object = await objectAt(index)
      assert.equal(await text(await object.open(signal)), object.key)
      given.push(object.key)
    }
    assert.deepEqual(given, many)
    await assert.rejects(objectAt(many.length))
  })

  it('are 16 beside the requested one, and are read completely without being requested', async () => {
    const { objects, opened, openedKeys } = makeObjects(many)
    const objectAt = readAhead(objects, signal)
    await objectAt(0)
    await letEventLoopTurn()
    assert.deepEqual(openedKeys(), many.slice(0, 17))
    await objectAt(1)
    await letEventLoopTurn()
    assert.deepEqual(openedKeys(), many.slice(0, 18))
    assert.ok(
      opened.every(({ stream }) => stream.destroyed),
      'nothing is left open',
    )
  })

  it('are read once for the first open, and again for the next', async () => {
    const { objects, openedKeys } = makeObjects(['a one'])
    const object = await readAhead(objects, signal)(0)
    await letEventLoopTurn()
    assert.deepEqual(openedKeys(), ['a one'])
    assert.equal(await text(await object.open(signal)), 'a one')
    assert.deepEqual(openedKeys(), ['a one'])
    assert.equal(await text(await object.open(signal)), 'a one')
    assert.deepEqual(openedKeys(), ['a one', 'a one'])
  })

  it('do not include large ones', async () => {
    const { objects, openedKeys } = makeObjects(['small', 'large', 'last'], {
      large: 256 * 1_024 + 1,
      last: 256 * 1_024,
    })
    const objectAt = readAhead(objects, signal)
    await objectAt(0)
    await letEventLoopTurn()
    assert.deepEqual(openedKeys().toSorted(), ['last', 'small'])
    const large = await objectAt(1)
    assert.equal(await text(await large.open(signal)), 'large')
  })

  it('reject only the request of the one that failed, and read the others', async () => {
    const { objects } = makeObjects(['a', 'b', 'c', 'd'])
    const lost = { find: async () => Promise.reject(new NotConnected()) }
    const broken: FoundObject = {
      key: 'broken',
      sizeBytes: 9,
      open: async () =>
        Readable.from(
          (async function* () {
            yield Buffer.from('half')
            throw new NotConnected()
          })(),
        ),
    }
    const objectAt = readAhead([objects[0]!, lost, { find: async () => broken }, objects[3]!], signal)
    assert.equal(await text(await (await objectAt(0)).open(signal)), 'a')
    await letEventLoopTurn()
    await assert.rejects(objectAt(1), NotConnected)
    const half = await objectAt(2)
    await assert.rejects(half.open(signal), NotConnected)
    assert.equal(await text(await (await objectAt(3)).open(signal)), 'd')
  })

  it('are given up with the session', async () => {
    const session = new AbortController()
    const streams: Readable[] = []
    const endless: FoundObject = {
      key: 'endless',
      sizeBytes: 9,
      async open(opening) {
        const stream = new Readable({ read: () => undefined, signal: opening })
        streams.push(stream)
        return stream
      },
    }
    const objectAt = readAhead([{ find: async () => endless }, { find: async () => endless }], session.signal)
    const object = await objectAt(0)
    await letEventLoopTurn()
    const opening = assert.rejects(object.open(signal), { name: 'AbortError' })
    session.abort()
    await opening
    await letEventLoopTurn()
    assert.equal(streams.length, 2)
    assert.ok(streams.every(({ destroyed }) => destroyed))
  })
})
