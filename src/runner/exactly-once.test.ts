// After any failure at any time, every line of the source is in the table exactly as often as in the source.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type FaultMode, Faults, faultModes } from '../../test/runner-world/faults.ts'
import { lineEncoders } from '../../test/runner-world/line-rows.ts'
import { lineObjects, lineStream } from '../../test/runner-world/line-sources.ts'
import { makeRunnerWorld, type RunnerWorld, type WorldOptions } from '../../test/runner-world/runner-world.ts'

const batchSize = { rows: 3, bytes: 1_000, note: () => undefined }

/** Lines that the source contains more than once. */
const partitions = {
  a: ['a1', 'a2', 'same', 'same', 'a5', 'BAD a6', 'a7', 'a8', 'same'],
  b: ['b1', 'UNREADABLE b2', 'b3', 'same', 'b5', 'BAD b6', 'BAD b7'],
  // Starts after the lines that exist at the first look.
  c: ['gone', 'c2', 'c3', 'same'],
}

function streamWorld(faults: Faults, concurrency = 0): RunnerWorld {
  let looks = 0
  const begin = (partition: string): number => (partition === 'c' ? Math.min(++looks, 3) : 0)
  return makeRunnerWorld({
    kind: 'kafka',
    faults,
    options: { batchSize, encoders: lineEncoders({ pieceBytes: [10, 4, 17, 100] }) },
    scaling: { concurrency },
    makeSource: (pass) => lineStream({ partitions, begin, batchRows: 3 }, pass),
  })
}

const objects = {
  'a/1': 'one\nsame\n',
  'a/2': 'same\nBAD two\nsame\nUNREADABLE four\nfive\nsix is longer\nseven\n',
  'a/3': '',
  'a/4': 'tiny\n',
  'a/5': 'tiny\n',
  'b/1': 'the last of all\nsame\nBAD\nend\n',
}

function objectWorld(faults: Faults, concurrency = 0): RunnerWorld {
  const options: WorldOptions = {
    kind: 'objectStorage',
    faults,
    options: { batchSize, encoders: lineEncoders({ pieceBytes: [10, 4, 17, 100] }) },
    scaling: { concurrency },
    settings: { object_storage_max_file_count: 3 },
    makeSource: (pass) => lineObjects(objects, pass),
  }
  return makeRunnerWorld(options)
}

/** Read while they are sent, as Parquet files are. */
const wholeObjects = { 'a/1': 'one\nsame\n', 'a/2': 'same\n', 'a/3': '', 'b/1': 'the last\n' }

function wholeObjectWorld(faults: Faults): RunnerWorld {
  return makeRunnerWorld({
    kind: 'objectStorage',
    faults,
    options: { batchSize, encoders: lineEncoders({ pieceBytes: [10], isDivisible: false }) },
    makeSource: (pass) => lineObjects(wholeObjects, pass),
  })
}

const isGood = (line: string): boolean => !/BAD|UNREADABLE/.test(line)

function assertExactlyOnce({ engine, store }: RunnerWorld, lines: string[], context: string): void {
  assert.deepEqual(engine.lines.toSorted(), lines.filter(isGood).toSorted(), context)
  const kept = [...engine.badRows.values()].map(({ raw }) => Buffer.from(raw).toString())
  assert.deepEqual(kept.toSorted(), lines.filter((line) => !isGood(line)).toSorted(), context)
  assert.equal(store.deliveries.size, 0, context)
}

function linesOfStream({ store }: RunnerWorld): string[] {
  const begun = Number(store.firstPositions.get('c'))
  return [...partitions.a, ...partitions.b, ...partitions.c.slice(begun)]
}

const linesIn = (texts: Record<string, string>): string[] =>
  Object.values(texts).flatMap((text) => text.split('\n').slice(0, -1))
const linesOfObjects = linesIn(objects)

interface Case {
  name: string
  make(faults: Faults): RunnerWorld
  lines(world: RunnerWorld): string[]
}

const cases: Case[] = [
  { name: 'a stream', make: (faults) => streamWorld(faults), lines: linesOfStream },
  { name: 'a stream with three inserts at once', make: (faults) => streamWorld(faults, 3), lines: linesOfStream },
  { name: 'objects', make: (faults) => objectWorld(faults), lines: () => linesOfObjects },
  { name: 'objects with three inserts at once', make: (faults) => objectWorld(faults, 3), lines: () => linesOfObjects },
  { name: 'objects that are one piece', make: wholeObjectWorld, lines: () => linesIn(wholeObjects) },
]

/** Returns the number of calls. */
async function runWith({ name, make, lines }: Case, mode: FaultMode, at: number[]): Promise<number> {
  const faults = new Faults(at, mode)
  const world = make(faults)
  const end = await world.runToEnd()
  const context = `${name}, ${mode} of calls ${at} (${at.map((call) => faults.calls[call - 1])})`
  assert.deepEqual(end, { end: 'completed' }, context)
  assertExactlyOnce(world, lines(world), context)
  return faults.calls.length
}

const worldsAtOnce = 16

/** Fails the first call, in another world the second, and so on through all calls. */
async function failEach(one: Case, mode: FaultMode): Promise<number> {
  for (let first = 1; ; first += worldsAtOnce) {
    const ats = Array.from({ length: worldsAtOnce }, (_, index) => first + index)
    const calls = await Promise.all(ats.map((at) => runWith(one, mode, [at])))
    if (calls.some((count, index) => count < first + index)) return Math.max(...calls)
  }
}

describe('exactly once', () => {
  for (const one of cases) {
    for (const mode of faultModes) {
      it(`${one.name}: any call fails with "${mode}"`, async () => {
        const calls = await failEach(one, mode)
        assert.ok(calls > 20, 'there were too few calls to see anything')
      })
    }

    it(`${one.name}: several calls fail`, async () => {
      const random = makeRandom(1)
      const rounds = Array.from({ length: 60 }, (_, round) => {
        const mode = faultModes[round % faultModes.length] ?? 'fail'
        return runWith(one, mode, [random(40), random(60), random(80)])
      })
      await Promise.all(rounds)
    })
  }

  it('rows that were recorded as rejected are left out of a repeated batch, even if the engine would accept them now', async () => {
    const { lines } = await repeatedAfterChange()
    assert.deepEqual(lines.toSorted(), ['a1', 'a3'])
  })

  it('a stream keeps the order of each partition with one concurrent insert', async () => {
    const world = streamWorld(new Faults([9], 'die'))
    await world.runToEnd()
    const ofA = world.engine.lines.filter((line) => line.startsWith('a'))
    assert.deepEqual(ofA, ['a1', 'a2', 'a5', 'a7', 'a8'])
  })
})

/** Deterministic numbers from 1 to `most`. */
function makeRandom(seed: number): (most: number) => number {
  let state = seed
  return (most) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return 1 + Math.floor((state / 2_147_483_648) * most)
  }
}

/** A worker dies after it has recorded a rejected row and before it sends the others; then the engine would accept all rows. */
async function repeatedAfterChange(): Promise<{ lines: string[] }> {
  const source = { partitions: { a: ['a1', 'BAD a2', 'a3'] }, begin: () => 0, batchRows: 1 }
  const makeWorld = (faults: Faults): RunnerWorld =>
    makeRunnerWorld({
      kind: 'kafka',
      faults,
      options: { batchSize, encoders: lineEncoders({ pieceBytes: [10] }) },
      makeSource: (pass) => lineStream(source, pass),
      settings: { streaming_max_insert_wait_ms: 60_000 },
    })
  const whole = makeWorld(new Faults([], 'fail'))
  await whole.runToEnd()
  const insertOfRest = whole.faults.calls.lastIndexOf('insert') + 1
  const world = makeWorld(new Faults([insertOfRest], 'die'))
  await world.newWorker().run()
  world.engine.takesAll = true
  await world.newWorker().run()
  return { lines: world.engine.lines }
}
