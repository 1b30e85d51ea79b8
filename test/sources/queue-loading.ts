// Objects that a source with a queue returns, for all stores and queues.
import assert from 'node:assert/strict'
import { buffer } from 'node:stream/consumers'
import { it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { type Batch, EndOfInput } from '../../src/sources/source.ts'
import { line } from './object-storage-common.ts'
import { finished, keysOf, none, type QueueWorld, reading, setUp } from './queue-common.ts'

export function loadsObjects(world: () => QueueWorld): void {
  it('loads existing objects first, then those of the queue, and lists nothing twice', async () => {
    const { bucket, source, notify, counts } = await setUp(world(), ['in/a', 'in/b', 'in/c', 'other'])
    await world().put(bucket, 'in/empty', new Uint8Array())
    let cursor: Batch['cursor']
    await reading(source({ skipInitialLoad: false }), async ({ read }) => {
      const first = await read({ maxRecords: 2 })
      assert.deepEqual(keysOf(first), ['in/a', 'in/b'])
      assert.equal(first[0]!.cursor, undefined)
      cursor = first[1]!.cursor
    })
    await reading(
      source({ skipInitialLoad: false }),
      async ({ read, finish }) => {
        const rest = await read()
        assert.deepEqual(keysOf(rest), ['in/c'])
        cursor = rest[0]!.cursor
        await world().put(bucket, 'in/0', line(9))
        await notify('in/0')
        const [came] = await read({ waitMs: 5_000 })
        const { partition, from, next, object } = came!
        assert.deepEqual([object!.key, from, next], ['in/0', '', finished])
        assert.match(partition, /^object:\S+ in\/0$/)
        assert.deepEqual(await buffer(await object!.open(AbortSignal.timeout(5_000))), Buffer.from(line(9)))
        await finish([came!])
        assert.deepEqual(await counts(), none)
      },
      { [cursor!.partition]: cursor!.position },
    )
    for (const count of [1, 3]) {
      await reading(
        source({ skipInitialLoad: false }),
        async ({ read }) => assert.deepEqual(await read(), [], `nothing is listed again by ${count}`),
        { [cursor!.partition]: cursor!.position },
        { assignment: { index: count - 1, count } },
      )
    }
  })

  it('finishes listing an empty bucket', async () => {
    const { source } = await setUp(world())
    await reading(source({ skipInitialLoad: false }), async ({ read }) => {
      const [only] = await read()
      assert.deepEqual([only!.object, only!.rejected, only!.cursor!.partition], [undefined, undefined, 'objects'])
      assert.deepEqual([only!.partition, only!.next], ['objects', only!.cursor!.position])
      assert.deepEqual(await read(), [])
    })
  })

  it('lists the assigned objects of several readers', async () => {
    const keys = Array.from({ length: 12 }, (_, index) => `in/${index}`)
    const { source } = await setUp(world(), keys)
    const given: Batch[] = []
    for (const index of [0, 1, 2]) {
      await reading(
        source({ skipInitialLoad: false }),
        async ({ read }) => {
          given.push(...(await read()))
        },
        {},
        { assignment: { index, count: 3 } },
      )
    }
    assert.deepEqual(keysOf(given), keys.toSorted())
  })

  it('loads no existing objects with skipInitialLoad', async () => {
    const { source, notify } = await setUp(world(), ['in/a', 'in/b'])
    await notify('in/b')
    await reading(source(), async ({ read }) => {
      assert.deepEqual(keysOf(await read({ waitMs: 5_000 })), ['in/b'])
      assert.deepEqual(await read(), [])
    })
  })

  it('waits for a message', async () => {
    const { source, notify } = await setUp(world(), ['in/a'])
    await reading(source(), async ({ read }) => {
      const startedAtMs = performance.now()
      const waiting = read({ waitMs: 10_000 })
      await wait(500)
      await notify('in/a')
      assert.deepEqual(keysOf(await waiting), ['in/a'])
      assert.ok(performance.now() - startedAtMs < 9_000)
    })
  })

  it('finds keys with any characters', async () => {
    const keys = ['in/a b+c', 'in/é/😀 &<>"\'', 'in/per%cent/100%25', 'in/plain,=;@$!()~']
    const { source, notify } = await setUp(world(), keys)
    for (const key of keys) await notify(key)
    await reading(source(), async ({ read }) => {
      const given: Batch[] = []
      for (let round = 0; round < 8 && given.length < keys.length; round++)
        given.push(...(await read({ waitMs: 1_000 })))
      assert.deepEqual(keysOf(given), keys.toSorted())
    })
  })

  it('returns many objects, up to the limit of each read', async () => {
    const keys = Array.from({ length: 45 }, (_, index) => `in/${100 + index}`)
    const { source, notify, counts } = await setUp(world(), keys)
    for (const key of keys) await notify(key)
    await reading(source(), async ({ read, finish }) => {
      const given: Batch[] = []
      for (let round = 0; round < 30 && given.length < keys.length; round++) {
        const some = await read({ waitMs: 1_000, maxRecords: 7 })
        assert.ok(some.length <= 7)
        given.push(...some)
      }
      assert.deepEqual(keysOf(given), keys)
      await finish(given)
      assert.deepEqual(await counts(), none)
    })
  })

  it('returns an overwritten object as another partition, and the same version as the same one', async () => {
    const { bucket, source, notify } = await setUp(world(), ['in/a'])
    const partitions: string[] = []
    await reading(source(), async ({ read, finish }) => {
      for (const change of [false, false, true]) {
        if (change) await world().put(bucket, 'in/a', Buffer.from('{"id":"changed"}\n'))
        await notify('in/a')
        const given = await read({ waitMs: 5_000 })
        partitions.push(...given.map(({ partition }) => partition))
        await finish(given)
      }
    })
    assert.equal(partitions.length, 3)
    assert.equal(partitions[0], partitions[1])
    assert.notEqual(partitions[1], partitions[2])
  })

  it('reads exactly the requested versions, and reports those that are gone', async () => {
    const { bucket, source, notify } = await setUp(world(), ['in/a', 'in/b', 'in/c'])
    await notify('in/a', 'in/b', 'in/c')
    let given: Batch[] = []
    await reading(source(), async ({ read }) => {
      given = await read({ waitMs: 5_000 })
    })
    assert.equal(given.length, 3)
    const until = Object.fromEntries(given.map(({ partition }) => [partition, finished]))
    await world().put(bucket, 'in/b', Buffer.from('{"id":"changed"}\n'))
    await reading(
      source(),
      async ({ read }) => {
        const again: Batch[] = []
        const changed = { name: 'ProbeFailure', code: 'source_failed', reason: /"in\/b" was changed or deleted/ }
        const readOn = async () => again.push(...(await read()))
        await readOn()
        await assert.rejects(readOn(), changed)
        await readOn()
        assert.deepEqual(keysOf(again), ['in/a', 'in/c'])
        assert.ok(again.every(({ partition, next }) => until[partition] === next))
        await assert.rejects(readOn(), EndOfInput)
      },
      {},
      { until },
    )
  })
}
