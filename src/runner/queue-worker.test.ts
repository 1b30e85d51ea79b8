// A queue announces objects repeatedly and in any order: every line of every announced version is in the table once, and messages
// are deleted only when the rows are durable.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { type FaultMode, Faults, faultModes } from '../../test/runner-world/faults.ts'
import { LineQueue } from '../../test/runner-world/line-queue.ts'
import { lineEncoders } from '../../test/runner-world/line-rows.ts'
import { makeRunnerWorld, type RunnerWorld, type WorldOptions } from '../../test/runner-world/runner-world.ts'
import { EngineError } from '../engine/engine.ts'
import { NotConnected, ProbeFailure } from '../source-shapes/source-failure.ts'
import { endOfListing, messagePartition } from '../sources/object-storage/queued-objects.ts'
import { type Batch, finishedPosition, type SourceReader } from '../sources/source.ts'
import { notARow } from './queue/given-up.ts'
import type { WorkerEnd } from './worker.ts'

const batchSize = { rows: 3, bytes: 1_000, note: () => undefined }

interface QueueWorld extends RunnerWorld {
  queue: LineQueue
  removedTooEarly: string[]
}

function makeQueueWorld(queue: LineQueue, more: Partial<WorldOptions> & { isDivisible?: boolean } = {}): QueueWorld {
  const { isDivisible = true, ...rest } = more
  const world = makeRunnerWorld({
    kind: 'objectStorage',
    hasQueue: true,
    options: { batchSize, encoders: lineEncoders({ pieceBytes: [10, 4, 17, 100], isDivisible }) },
    settings: { object_storage_max_file_count: 3, object_storage_polling_interval_ms: 1 },
    makeSource: (pass) => queue.source(pass),
    ...rest,
  })
  const removedTooEarly: string[] = []
  queue.removed = (partition) => {
    if (!isDurable(world, queue, partition)) removedTooEarly.push(partition)
  }
  return { ...world, queue, removedTooEarly }
}

function linesIn(text: string): string[] {
  return text.split('\n').slice(0, -1)
}

const isGood = (line: string): boolean => !/BAD|UNREADABLE/.test(line)

/** Whether the table or the rejected rows contain it. */
function isDurable({ engine, store }: RunnerWorld, queue: LineQueue, partition: string): boolean {
  if (store.positions.get(partition)?.position !== finishedPosition) return false
  const isKept = [...engine.badRows.values()].some((row) => row.partition === partition && row.meta === notARow)
  const lines = linesIn(queue.versions.get(partition) ?? '').filter(isGood)
  return isKept || lines.every((line) => engine.lines.includes(line))
}

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

function keptTexts({ engine }: RunnerWorld, isOfRows: boolean): string[] {
  const kept = [...engine.badRows.values()].filter(({ meta }) => (meta !== notARow) === isOfRows)
  return kept.map(({ raw }) => Buffer.from(raw).toString()).toSorted()
}

function assertDone({ store, queue, removedTooEarly }: QueueWorld, context: string): void {
  assert.deepEqual(removedTooEarly, [], context)
  assert.equal(store.deliveries.size, 0, context)
  assert.equal(queue.messages.length, 0, context)
  const open = [...store.positions.values()].filter(
    ({ workerIndex, position }) => workerIndex !== undefined && position === '',
  )
  assert.deepEqual(open, [], context)
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

async function until(isSo: () => boolean): Promise<void> {
  for (let round = 0; round < 2_000 && !isSo(); round++) await wait(5)
  assert.ok(isSo(), 'it did not come to pass')
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

describe('an announced object that cannot be loaded', () => {
  it('is stored once in the rejected rows, and does not block the others of a pipe that never ran before', async () => {
    const queue = new LineQueue()
    queue.put('broken', 'x\nBROKEN\n')
    queue.put('good', 'good\n')
    queue.notify('broken', 'good')
    queue.sendUnparsable()
    queue.notify('never there')
    queue.notify('good')
    const world = makeQueueWorld(queue, { state: 'Provisioning' })
    assert.deepEqual(await world.runToEnd(), { end: 'completed' })
    assert.deepEqual(world.engine.lines, ['good'])
    const kept = [...world.engine.badRows.values()]
    assert.ok(kept.every(({ meta }) => meta === notARow))
    assert.deepEqual(kept.map(({ reason }) => reason).toSorted(), [
      'the message leads nowhere',
      'the message leads nowhere',
      'the object cannot be read: it is broken; nothing of it is in the table',
    ])
    const { rowsRefused, rowsWritten, retries } = world.store.counters
    assert.deepEqual({ rowsRefused, rowsWritten }, { rowsRefused: 3, rowsWritten: 1 })
    assert.equal(retries, 4)
    assert.ok(world.statuses.every(({ state }) => state !== 'degraded'))
    assertDone(world, 'poison')
  })

  it('is stored by the worker that receives it again, whichever worker claimed it', async () => {
    const queue = new LineQueue()
    queue.sendUnparsable()
    const world = makeQueueWorld(queue)
    const partition = messagePartition(queue.messages[0]?.id ?? '')
    world.store.positions.set(partition, { partition, position: '', workerIndex: 0 })
    assert.deepEqual(await world.newWorker({ workerIndex: 1, workerCount: 2 }).run(), { end: 'completed' })
    assert.equal(world.engine.badRows.size, 1)
    assertDone(world, 'of another')
  })

  it('is tried again while others are loaded', async () => {
    const queue = new LineQueue()
    queue.put('a broken', 'BROKEN\n')
    for (const key of ['b', 'c', 'd']) queue.put(key, `${key}\n`)
    const times = { backOff: { firstMs: 60_000, longestMs: 60_000 }, lookAgainMs: 1 }
    queue.isEndless = true
    for (const key of ['a broken', 'b', 'c', 'd']) queue.notify(key)
    const encoders = lineEncoders({ pieceBytes: [10] })
    const { world, stop } = await running(queue, { options: { batchSize, encoders, times } })
    await until(() => queue.messages.length === 1)
    assert.deepEqual(world.engine.lines, ['b', 'c', 'd'])
    await until(() => world.statuses.at(-1)?.doing === 'Waiting for messages; 1 file will be tried again')
    assert.deepEqual(await stop(), { end: 'stopped' })
    assert.equal(queue.messages.length, 1)
  })

  it('is tried five times, also when the worker starts again after each attempt', async () => {
    const queue = new LineQueue()
    queue.put('broken', 'BROKEN\n')
    queue.notify('broken')
    const world = makeQueueWorld(queue, {
      makeSource: (pass) => {
        const source = queue.source(pass)
        const open: typeof source.open = async (positions, surroundings, selection) => {
          const reader = await source.open(positions, surroundings, selection)
          let hasRead = false
          const read: typeof reader.read = async (limits) => {
            if (hasRead && !selection?.until && queue.messages.length > 0) throw new NotConnected()
            hasRead = true
            return reader.read(limits)
          }
          return { ...reader, read }
        }
        return { ...source, open }
      },
    })
    assert.deepEqual(await world.runToEnd(), { end: 'completed' })
    assert.equal(world.faults.calls.filter((name) => name === 'openObject').length, 5)
    assert.ok(world.statuses.some(({ state }) => state === 'degraded'))
    assert.equal(world.engine.badRows.size, 1)
  })

  it('is finally reported as a failure of the source when it is more than one object', async () => {
    const queue = new LineQueue()
    queue.put('a', 'a\n')
    const world = makeQueueWorld(queue, {
      state: 'Provisioning',
      makeSource: (pass) => {
        const source = queue.source(pass)
        const open: typeof source.open = async (...given) => {
          const reader = await source.open(...given)
          return { ...reader, read: async (limits) => (await reader.read(limits)).map(forbidden) }
        }
        return { ...source, open }
      },
    })
    assert.deepEqual(await world.runToEnd(), { end: 'failed', reason: 'the bucket may not be read; grant it' })
    assert.equal(world.engine.badRows.size, 0)
  })
})

function forbidden(batch: Batch): Batch {
  const open = async (): Promise<never> => {
    const reason = 'the bucket may not be read'
    throw new ProbeFailure({ step: 'read', code: 'permission_missing', reason, remedy: 'grant it' })
  }
  return batch.object ? { ...batch, object: { ...batch.object, open } } : batch
}

interface Running {
  world: QueueWorld
  stop(): Promise<WorkerEnd>
}

async function running(queue: LineQueue, more: Partial<WorldOptions> = {}): Promise<Running> {
  const world = makeQueueWorld(queue, more)
  const worker = world.newWorker()
  const ended = worker.run()
  const stop = (): Promise<WorkerEnd> => {
    worker.stop()
    return ended
  }
  return { world, stop }
}

const slowPolls = { object_storage_polling_interval_ms: 60_000 }

/** With the additional parts of its readers. */
function withReaders(queue: LineQueue, more: (reader: SourceReader) => Partial<SourceReader>): Partial<WorldOptions> {
  return {
    makeSource: (pass) => {
      const source = queue.source(pass)
      const open: typeof source.open = async (...given) => {
        const reader = await source.open(...given)
        return { ...reader, ...more(reader) }
      }
      return { ...source, open }
    },
  }
}

describe('a worker that follows a queue', () => {
  it('runs as soon as it knows that there is nothing to load', async () => {
    const queue = new LineQueue()
    queue.isEndless = true
    const { world, stop } = await running(queue, { settings: slowPolls, state: 'Provisioning' })
    await until(() => world.statuses.at(-1)?.doing === 'Waiting for messages')
    assert.equal(world.statuses.at(-1)?.state, 'running')
    assert.deepEqual(await stop(), { end: 'stopped' })
  })

  it('waits for messages, and loads nothing more, after it has given an object up', async () => {
    const queue = new LineQueue()
    queue.isEndless = true
    const { world, stop } = await running(queue, { settings: slowPolls })
    queue.put('broken', 'BROKEN\n')
    queue.notify('broken')
    await until(() => world.engine.badRows.size === 1)
    await until(() => world.statuses.at(-1)?.doing === 'Waiting for messages')
    await until(() => world.statuses.at(-1)?.lag === 0)
    assert.deepEqual(await stop(), { end: 'stopped' })
  })

  it('reports how many messages will be tried again', async () => {
    const queue = new LineQueue()
    queue.isEndless = true
    const note = () => '3 messages will be tried again'
    const { world, stop } = await running(queue, { settings: slowPolls, ...withReaders(queue, () => ({ note })) })
    await until(() => world.statuses.at(-1)?.doing === 'Waiting for messages; 3 messages will be tried again')
    await stop()
  })

  it('reports that the queue cannot be reached', async () => {
    const queue = new LineQueue()
    queue.put('a', 'a\n')
    let reads = 0
    const more = (reader: SourceReader): Partial<SourceReader> => ({
      read: (limits) =>
        ++reads === 1 ? Promise.reject(new NotConnected('the queue at queue.example.com')) : reader.read(limits),
    })
    const world = makeQueueWorld(queue, withReaders(queue, more))
    assert.deepEqual(await world.runToEnd(), { end: 'completed' })
    const reasons = world.statuses.flatMap(({ reason }) => reason ?? [])
    assert.deepEqual(
      new Set(reasons),
      new Set(['the queue at queue.example.com cannot be reached, or broke the connection off']),
    )
  })

  it('releases its messages when it is stopped, and not when it fails', async () => {
    const queue = new LineQueue()
    queue.isEndless = true
    queue.put('a', 'a\n')
    let [reads, givenBack] = [0, 0]
    const more = (reader: SourceReader): Partial<SourceReader> => ({
      read: (limits) => (++reads <= 2 ? Promise.reject(new NotConnected()) : reader.read(limits)),
      giveBack: async () => {
        givenBack++
      },
    })
    const { world, stop } = await running(queue, { settings: slowPolls, ...withReaders(queue, more) })
    await until(() => world.engine.lines.length === 1)
    await until(() => world.statuses.at(-1)?.doing === 'Waiting for messages')
    assert.equal(givenBack, 0)
    assert.deepEqual(await stop(), { end: 'stopped' })
    assert.equal(givenBack, 1)
  })

  it('waits for messages until it is stopped', async () => {
    const queue = new LineQueue()
    queue.isEndless = true
    queue.put('a', 'a\n')
    const settings = { object_storage_polling_interval_ms: 60_000 }
    const { world, stop } = await running(queue, { settings })
    await until(() => world.statuses.at(-1)?.doing === 'Waiting for messages')
    assert.equal(world.statuses.at(-1)?.state, 'running')
    assert.deepEqual(await stop(), { end: 'stopped' })
    assert.deepEqual(world.engine.lines, ['a'])
    assert.equal(world.engine.openSinks, 0)
  })

  it('deletes no message of an object that is only read when it is stopped', async () => {
    const queue = new LineQueue()
    for (const key of ['a', 'b', 'c']) queue.put(key, `${key} is one line\n${key} is another line\n`)
    for (const key of ['a', 'b', 'c']) queue.notify(key)
    const { world, stop } = await running(queue)
    const { promise, resolve } = Promise.withResolvers<void>()
    world.engine.held = promise
    // One that is inserted, and one that is prepared.
    await until(() => world.store.deliveries.size === 2)
    const ended = stop()
    resolve()
    assert.deepEqual(await ended, { end: 'stopped' })
    assert.equal(world.store.deliveries.size, 0)
    assert.equal(queue.messages.length, 3)
    assert.deepEqual(await world.runToEnd(), { end: 'completed' })
    assert.equal(world.engine.lines.length, 6)
    assertDone(world, 'stopped')
  })

  it('ends when another worker has its lease, and leaves its messages to that worker', async () => {
    const queue = new LineQueue()
    for (const key of ['a', 'b', 'c', 'd']) queue.put(key, `${key}\n`)
    for (const key of ['a', 'b', 'c', 'd']) queue.notify(key)
    const world = makeQueueWorld(queue)
    const { promise, resolve } = Promise.withResolvers<void>()
    world.engine.held = promise
    const first = world.newWorker().run()
    // One that is inserted, and one that is prepared.
    await until(() => world.store.deliveries.size === 2)
    const second = world.newWorker().run()
    resolve()
    assert.deepEqual(await first, { end: 'lost' })
    assert.deepEqual(await second, { end: 'completed' })
    assert.deepEqual(world.engine.lines.toSorted(), ['a', 'b', 'c', 'd'])
    assertDone(world, 'lost')
  })

  it('waits for an unavailable engine without counting it as a failure of an object', async () => {
    const queue = new LineQueue()
    queue.put('a', 'a\n')
    queue.notify('a')
    const world = makeQueueWorld(queue)
    world.engine.refusal = new EngineError('passing', 'the engine at db.example.com:8123 cannot be reached')
    const ended = world.newWorker().run()
    await until(() => world.engine.inserts.length > 12)
    assert.equal(world.statuses.at(-1)?.state, 'degraded')
    world.engine.refusal = undefined
    assert.deepEqual(await ended, { end: 'completed' })
    assert.deepEqual(world.engine.lines, ['a'])
    assert.equal(world.engine.badRows.size, 0)
  })
})
