// A queue announces objects repeatedly and in any order: every line of every announced version is in the table once, and messages
// are deleted only when the rows are durable.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { type FaultMode, Faults, faultModes } from '../../test/runner-world/faults.ts'
import { LineQueue } from '../../test/runner-world/line-queue.ts'
import { lineEncoders } from '../../test/runner-world/line-rows.ts'
import {
  assertDone,
  batchSize,
  isGood,
  keptTexts,
  linesIn,
  makeQueueWorld,
  type QueueWorld,
  running,
  until,
} from '../../test/runner-world/queue-world.ts'
import { endOfListing } from '../sources/object-storage/queued-objects.ts'
import { notARow } from './queue/given-up.ts'

const before = {
  'a/1': 'one\nsame\n',
  'a/2': 'same\nBAD two\nsame\nUNREADABLE four\nfive\nsix is longer\nseven\n',
  'a/3': 'tiny\n',
}
const later = { 'b/1': 'b one\nsame\n', 'b/2': 'b two\n', 'b/3': 'b three\nBAD b four\n' }
const whole = 'the first is whole\nand the second\n'

function mixedQueue(): LineQueue {
  const queue = new LineQueue()
  for (const [key, text] of Object.entries({ ...before, ...later })) queue.put(key, text)
  queue.put('c/broken', `${whole}BROKEN\nnever\n`)
  queue.notify('b/1')
  queue.notify('a/1', 'b/2')
  queue.sendUnparsable()
  queue.notify('b/1')
  queue.notify('c/broken')
  queue.notify('b/3', 'gone')
  return queue
}

const linesOfMixed = [...Object.values({ ...before, ...later }).flatMap(linesIn)]

function wholeQueue(): LineQueue {
  const queue = new LineQueue()
  queue.put('a', 'a one\nsame\n')
  queue.put('b', 'same\n')
  queue.put('broken', 'x\nBROKEN\n')
  queue.notify('a')
  queue.notify('broken', 'b')
  queue.notify('b')
  return queue
}

interface Case {
  name: string
  make(faults: Faults): QueueWorld
  check(world: QueueWorld, context: string): void
}

function checkMixed(world: QueueWorld, context: string): void {
  // The broken object has the lines before the damage, each once.
  const lines = world.engine.lines.filter((line) => !linesIn(whole).includes(line))
  assert.deepEqual(lines.toSorted(), linesOfMixed.filter(isGood).toSorted(), context)
  const ofBroken = world.engine.lines.filter((line) => linesIn(whole).includes(line))
  assert.equal(new Set(ofBroken).size, ofBroken.length, context)
  assert.deepEqual(keptTexts(world, true), linesOfMixed.filter((line) => !isGood(line)).toSorted(), context)
  const givenUp = keptTexts(world, false)
  assert.equal(givenUp.length, 3, context)
  assert.ok(
    givenUp.some((raw) => raw.includes('c/broken')),
    context,
  )
  assertDone(world, context)
}

function checkWhole(world: QueueWorld, context: string): void {
  assert.deepEqual(world.engine.lines.toSorted(), ['a one', 'same', 'same'], context)
  assert.deepEqual(
    keptTexts(world, false).map((raw) => JSON.parse(raw).key),
    ['broken'],
    context,
  )
  assertDone(world, context)
}

const cases: Case[] = [
  { name: 'a queue', make: (faults) => makeQueueWorld(mixedQueue(), { faults }), check: checkMixed },
  {
    name: 'a queue with three inserts at once',
    make: (faults) => makeQueueWorld(mixedQueue(), { faults, scaling: { concurrency: 3 } }),
    check: checkMixed,
  },
  {
    name: 'a queue of objects that are one piece',
    make: (faults) => makeQueueWorld(wholeQueue(), { faults, isDivisible: false }),
    check: checkWhole,
  },
]

async function runWith({ name, make, check }: Case, mode: FaultMode, at: number[]): Promise<number> {
  const faults = new Faults(at, mode)
  const world = make(faults)
  const end = await world.runToEnd()
  const context = `${name}, ${mode} of calls ${at} (${at.map((call) => faults.calls[call - 1])})`
  assert.deepEqual(end, { end: 'completed' }, context)
  check(world, context)
  return faults.calls.length
}

const worldsAtOnce = 32

async function failEach(one: Case, mode: FaultMode): Promise<number> {
  for (let first = 1; ; first += worldsAtOnce) {
    const ats = Array.from({ length: worldsAtOnce }, (_, index) => first + index)
    const calls = await Promise.all(ats.map((at) => runWith(one, mode, [at])))
    if (calls.some((count, index) => count < first + index)) return Math.max(...calls)
  }
}

const [oneAtATime, severalAtOnce, wholeObjects] = cases as [Case, Case, Case]

describe('objects that a queue announces', () => {
  for (const one of [oneAtATime, wholeObjects]) {
    for (const mode of faultModes) {
      it(`are in the table once, ${one.name}, when any call fails with "${mode}"`, async () => {
        const calls = await failEach(one, mode)
        assert.ok(calls > 20, 'there were too few calls to see anything')
      })
    }
  }

  it(`are in the table once, ${severalAtOnce.name}, when several calls fail`, async () => {
    const rounds = Array.from({ length: 50 }, (_, round) => {
      const mode = faultModes[round % faultModes.length] ?? 'fail'
      const at = [3, 5, 7].map((step) => 1 + ((round * step * 7) % (20 * step)))
      return runWith(severalAtOnce, mode, at)
    })
    await Promise.all(rounds)
  })

  it('are loaded again when they are rewritten, and not when they are announced again', async () => {
    const queue = new LineQueue()
    queue.isEndless = true
    queue.put('a', 'first\n')
    queue.notify('a')
    queue.notify('a')
    const { world, stop } = await running(queue)
    await until(() => queue.messages.length === 0)
    queue.put('a', 'second\n')
    queue.notify('a')
    await until(() => world.engine.lines.length === 2)
    queue.notify('a')
    await until(() => queue.messages.length === 0)
    await stop()
    assert.deepEqual(world.engine.lines, ['first', 'second'])
    assertDone(world, 'rewritten')
  })

  it('are not listed again after they are claimed, and never when listing is off', async () => {
    const queue = new LineQueue()
    for (const key of ['a', 'b', 'c', 'd']) queue.put(key, `${key}\n`)
    const world = makeQueueWorld(queue)
    assert.deepEqual(await world.runToEnd(), { end: 'completed' })
    const claims = world.faults.calls.filter((name) => name === 'claim').length
    assert.deepEqual(world.engine.lines.toSorted(), ['a', 'b', 'c', 'd'])
    assert.deepEqual(await world.runToEnd(), { end: 'completed' })
    assert.equal(world.faults.calls.filter((name) => name === 'claim').length, claims)
  })

  it('are loaded once by two workers that receive the same messages', async () => {
    const queue = new LineQueue()
    const keys = Array.from({ length: 30 }, (_, index) => `key ${index}`)
    for (const key of keys) queue.put(key, `${key}\n`)
    for (const key of [...keys, ...keys]) queue.notify(key)
    const world = makeQueueWorld(queue)
    const workers = [0, 1].map((workerIndex) => world.newWorker({ workerIndex, workerCount: 2 }).run())
    assert.deepEqual(await Promise.all(workers), [{ end: 'completed' }, { end: 'completed' }])
    assert.deepEqual(world.engine.lines.toSorted(), keys.toSorted())
    assertDone(world, 'two workers')
    const owners = new Set([...world.store.positions.values()].map(({ workerIndex }) => workerIndex))
    assert.ok(owners.has(0) && owners.has(1), 'one of them had nothing to do')
  })

  it('are loaded once when they are announced again just before they are finished', async () => {
    const queue = new LineQueue()
    queue.put('a', 'a\n')
    queue.notify('a')
    const world = makeQueueWorld(queue)
    const partition = queue.findPartition('a') ?? ''
    world.store.positions.set(partition, { partition, position: '', workerIndex: 0 })
    world.store.positions.set('objects', { partition: 'objects', position: endOfListing })
    const { promise, resolve } = Promise.withResolvers<void>()
    world.engine.held = promise
    const storeOf = world.store.of.bind(world.store)
    let claims = 0
    world.store.of = (lease) => {
      const store = storeOf(lease)
      const claim: typeof store.claim = async (partitions) => {
        const answer = await store.claim(partitions)
        if (++claims > 1) {
          assert.deepEqual(answer, ['mine'])
          resolve()
          await until(() => world.store.deliveries.size === 0)
          await wait(5)
        }
        return answer
      }
      return { ...store, claim }
    }
    assert.deepEqual(await world.newWorker().run(), { end: 'completed' })
    assert.equal(claims, 2)
    assert.deepEqual(world.engine.lines, ['a'])
    assertDone(world, 'announced again')
  })

  it('are loaded once when the worker count changes during the load', async () => {
    for (const calls of [20, 35, 50, 65, 80]) {
      const queue = new LineQueue()
      const keys = Array.from({ length: 12 }, (_, index) => `key ${index}`)
      const textOf = (key: string): string => `${key} is the first line\n${key} is the second line\n`
      for (const key of keys) queue.put(key, textOf(key))
      for (const key of keys) queue.notify(key)
      const world = makeQueueWorld(queue)
      for (const workerCount of [3, 2]) {
        const workers = Array.from({ length: workerCount }, (_, workerIndex) =>
          world.newWorker({ workerIndex, workerCount }),
        )
        const ends = workers.map((worker) => worker.run())
        const enough = world.faults.calls.length + calls
        await until(() => world.faults.calls.length >= enough || queue.messages.length === 0)
        for (const worker of workers) worker.abort()
        await Promise.all(ends)
      }
      assert.deepEqual(await world.newWorker().run(), { end: 'completed' })
      const lines = keys.flatMap((key) => linesIn(textOf(key)))
      assert.deepEqual(world.engine.lines.toSorted(), lines.toSorted(), `after ${calls} calls`)
      assertDone(world, `after ${calls} calls`)
    }
  })

  it('that are deleted before they are read again are left out of the repeated delivery, and the others are loaded once', async () => {
    for (const mode of ['die', 'die-after'] satisfies FaultMode[]) {
      const make = (faults: Faults): QueueWorld => {
        const queue = new LineQueue()
        for (const key of ['a', 'b', 'c']) queue.put(key, `${key} one\nBAD ${key}\n`)
        return makeQueueWorld(queue, { faults })
      }
      const whole = make(new Faults([], 'fail'))
      await whole.runToEnd()
      const insertOfRest = whole.faults.calls.lastIndexOf('insert') + 1
      const world = make(new Faults([insertOfRest], mode))
      await world.newWorker().run()
      assert.equal(world.store.deliveries.size, 1)
      world.queue.objects.delete('b')
      assert.deepEqual(await world.runToEnd(), { end: 'completed' })
      const isThere = mode === 'die-after'
      assert.deepEqual(world.engine.lines.toSorted(), isThere ? ['a one', 'b one', 'c one'] : ['a one', 'c one'])
      const [kept, ...others] = [...world.engine.badRows.values()].filter(({ meta }) => meta === notARow)
      assert.deepEqual(others, [])
      assert.match(kept?.reason ?? '', /the object b was changed or deleted .* may be in the table/)
      assert.deepEqual(keptTexts(world, true), ['BAD a', 'BAD b', 'BAD c'], mode)
      assertDone(world, mode)
    }
  })

  it('that are missing temporarily are neither lost nor duplicated, and no row is rejected instead of another', async () => {
    const make = (at: number[]): QueueWorld => {
      const queue = new LineQueue()
      for (const key of ['a', 'c']) queue.put(key, `${key} one\nBAD ${key}\n`)
      queue.put('b', 'b one\nb two\nBAD b\n')
      const options = { batchSize, encoders: lineEncoders({ pieceBytes: [100] }) }
      return makeQueueWorld(queue, { faults: new Faults(at, 'die'), options })
    }
    let b: ReturnType<LineQueue['objects']['get']>
    const lastInsert = ({ faults }: QueueWorld): number => faults.calls.lastIndexOf('insert') + 1
    /** First all objects, then without b. */
    const runTwice = async (at: number[]): Promise<QueueWorld> => {
      const world = make(at)
      await world.newWorker().run()
      b = world.queue.objects.get('b')
      world.queue.objects.delete('b')
      await world.newWorker().run()
      return world
    }
    const whole = make([])
    await whole.newWorker().run()
    const first = lastInsert(whole)
    const second = lastInsert(await runTwice([first]))
    const world = await runTwice([first, second])
    assert.equal(world.store.deliveries.size, 1)
    if (b) world.queue.objects.set('b', b)
    assert.deepEqual(await world.runToEnd(), { end: 'completed' })
    assert.deepEqual(world.engine.lines.toSorted(), ['a one', 'b one', 'b two', 'c one'])
    assert.deepEqual(keptTexts(world, true), ['BAD a', 'BAD b', 'BAD c'])
    assert.deepEqual(
      keptTexts(world, false).map((raw) => JSON.parse(raw).key),
      ['b'],
    )
    assertDone(world, 'gone for a while')
  })

  it('that are changed during the load are given up, with a reason that says how much of them is in the table', async () => {
    const queue = new LineQueue()
    queue.put('a', 'the first line\nthe second line\nthe third line\n')
    const world = makeQueueWorld(queue, { options: { batchSize, encoders: lineEncoders({ pieceBytes: [10] }) } })
    const { promise, resolve } = Promise.withResolvers<void>()
    world.engine.held = promise
    const worker = world.newWorker()
    const first = worker.run()
    await until(() => world.store.deliveries.size > 0)
    worker.abort()
    resolve()
    await first
    queue.put('a', 'another one\n')
    queue.notify('a')
    assert.deepEqual(await world.runToEnd(), { end: 'completed' })
    assert.deepEqual(world.engine.lines, ['another one'])
    const kept = [...world.engine.badRows.values()]
    assert.equal(kept.length, 1)
    assert.deepEqual(JSON.parse(Buffer.from(kept[0]?.raw ?? []).toString()), { key: 'a', etag: 'e1' })
    assertDone(world, 'changed')
  })
})
