// Life cycle of a worker: its reports, when it gives up, and what stopping and aborting leave behind.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { Faults } from '../../test/runner-world/faults.ts'
import { lineEncoders } from '../../test/runner-world/line-rows.ts'
import { lineObjects, lineStream } from '../../test/runner-world/line-sources.ts'
import { makeRunnerWorld, type RunnerWorld, type WorldOptions } from '../../test/runner-world/runner-world.ts'
import { EngineError } from '../engine/engine.ts'
import { ProbeFailure } from '../source-shapes/source-failure.ts'
import type { SourceReader } from '../sources/source.ts'
import { notARow } from './queue/given-up.ts'

const batchSize = { rows: 2, bytes: 1_000, note: () => undefined }
const encoders = lineEncoders({ pieceBytes: [10] })
const lines = ['1', '2', '3', '4', '5', '6']

function worldOf(more: Partial<WorldOptions> & { isEndless?: boolean } = {}): RunnerWorld {
  const { isEndless = true, ...rest } = more
  return makeRunnerWorld({
    kind: 'kafka',
    options: { batchSize, encoders },
    makeSource: (pass) => lineStream({ partitions: { a: lines }, begin: () => 0, batchRows: 2, isEndless }, pass),
    ...rest,
  })
}

async function until(isSo: () => boolean): Promise<void> {
  for (let round = 0; round < 2_000 && !isSo(); round++) await wait(5)
  assert.ok(isSo(), 'it did not come to pass')
}

const unreadableReason = 'S3 does not let this user read the object; grant s3:GetObject'

/** Objects can be listed but not opened. */
function unreadableWorld(state: NonNullable<WorldOptions['state']>): { world: RunnerWorld; opens(): number } {
  const [reason = '', remedy = ''] = unreadableReason.split('; ')
  let opens = 0
  const open = async (): Promise<never> => {
    opens++
    throw new ProbeFailure({ step: 'read', code: 'permission_missing', reason, remedy })
  }
  const makeSource: WorldOptions['makeSource'] = (pass) => {
    const source = lineObjects({ one: 'line\n' }, pass)
    return {
      ...source,
      async open(...given) {
        const reader = await source.open(...given)
        const read: SourceReader['read'] = async (limits) =>
          (await reader.read(limits)).map((batch) => ({
            ...batch,
            ...(batch.object ? { object: { ...batch.object, open } } : {}),
          }))
        return { ...reader, read }
      },
    }
  }
  const times = { backOff: { firstMs: 20, longestMs: 200 }, userErrorRetryMs: 300 }
  return {
    world: worldOf({ kind: 'objectStorage', state, makeSource, options: { batchSize, encoders, times } }),
    opens: () => opens,
  }
}

const wrongPassword = new EngineError('user', 'the engine at db.example.com:8123 refuses the password', 'Code: 516')

describe('a worker', () => {
  it('completes when the source has ended, and reports that it runs', async () => {
    const world = worldOf({ isEndless: false })
    assert.deepEqual(await world.newWorker().run(), { end: 'completed' })
    assert.deepEqual(world.engine.lines, lines)
    assert.ok(world.statuses.some(({ state, reason }) => state === 'running' && reason === undefined))
    assert.equal(world.engine.openSinks, 0)
    const { rowsRead, rowsWritten, rowsRefused, inserts } = world.store.counters
    assert.deepEqual({ rowsRead, rowsWritten, rowsRefused }, { rowsRead: 6, rowsWritten: 6, rowsRefused: 0 })
    assert.ok(inserts >= 3)
  })

  it('fails at once on an error that the user has to fix when it has never run', async () => {
    const failure = new ProbeFailure({
      step: 'authenticate',
      code: 'credentials_refused',
      reason: 'Kafka at kafka.example.com:9092 refuses the password',
      remedy: 'check the credentials',
    })
    const world = worldOf({
      state: 'Provisioning',
      makeSource: () => ({ probe: async () => ({ samples: [] }), open: () => Promise.reject(failure) }),
    })
    const reason = 'Kafka at kafka.example.com:9092 refuses the password; check the credentials'
    assert.deepEqual(await world.newWorker().run(), { end: 'failed', reason })
  })

  it('counts as never run until the engine has accepted rows', async () => {
    const world = worldOf({ state: 'Provisioning' })
    world.engine.refusal = wrongPassword
    assert.deepEqual(await world.newWorker().run(), { end: 'failed', reason: wrongPassword.message })
    assert.equal(world.engine.inserts.length, 1)
    assert.ok(world.statuses.every(({ state }) => state === 'starting'))
  })

  it('retries when the pipe was running before the worker was created', async () => {
    // Longer than a pause of the machine.
    const times = { backOff: { firstMs: 1, longestMs: 2 }, userErrorRetryMs: 30_000 }
    for (const state of ['Running', 'Modifying', 'Degraded'] as const) {
      const world = worldOf({ state, isEndless: false, options: { batchSize, encoders, times } })
      world.engine.refusal = wrongPassword
      const running = world.newWorker().run()
      await until(() => world.engine.inserts.length > 1)
      world.engine.refusal = undefined
      assert.deepEqual(await running, { end: 'completed' })
    }
  })

  it('fails at once when a listed file cannot be loaded and it has never run', async () => {
    const { world, opens } = unreadableWorld('Provisioning')
    assert.deepEqual(await world.runToEnd(), { end: 'failed', reason: unreadableReason })
    assert.equal(opens(), 1)
  })

  it('waits longer each time, and finally fails, when a listed file cannot be loaded', async () => {
    const { world, opens } = unreadableWorld('Running')
    assert.deepEqual(await world.runToEnd(), { end: 'failed', reason: unreadableReason })
    assert.ok(opens() > 1 && opens() < 30, `${opens()} attempts`)
    assert.ok(world.statuses.every(({ state }) => state !== 'running'))
  })

  it('is degraded for a while before it fails when it was running', async () => {
    const world = worldOf({ state: 'Provisioning' })
    const running = world.newWorker().run()
    await until(() => world.engine.lines.length === lines.length)
    world.engine.refusal = wrongPassword
    lines.push('7')
    assert.deepEqual(await running, { end: 'failed', reason: wrongPassword.message })
    lines.pop()
    const degraded = world.statuses.filter(({ state }) => state === 'degraded')
    assert.ok(degraded.length > 0)
    assert.equal(degraded[0]?.reason, wrongPassword.message)
    assert.ok(world.engine.inserts.filter(({ isRepeat }) => isRepeat).length > 0, 'it was tried again')
    assert.equal(world.store.deliveries.size, 1, 'what may have been sent stays recorded')
  })

  it('waits for an unavailable engine without a limit, and runs again when it is back', async () => {
    const world = worldOf({ isEndless: false })
    world.engine.refusal = new EngineError(
      'passing',
      'the engine at db.example.com:8123 cannot be reached',
      'ECONNREFUSED',
    )
    const running = world.newWorker().run()
    await until(() => world.engine.inserts.length > 12)
    assert.equal(world.statuses.at(-1)?.state, 'degraded')
    assert.match(world.statuses.at(-1)?.reason ?? '', /cannot be reached/)
    assert.ok(world.store.counters.retries > 0, 'it can be seen that it tries')
    assert.equal(world.store.counters.inserts, 0)
    world.engine.refusal = undefined
    assert.deepEqual(await running, { end: 'completed' })
    assert.deepEqual(world.engine.lines, lines)
    assert.equal(world.statuses.at(-1)?.state, 'running')
    assert.ok(world.store.counters.retries > 5)
    assert.doesNotMatch(JSON.stringify(world.statuses), /ECONNREFUSED/)
  })

  it('names an unreachable source as the user named it', async () => {
    const world = worldOf({ isEndless: false, faults: new Faults([4, 5, 6], 'fail') })
    assert.deepEqual(await world.newWorker().run(), { end: 'completed' })
    const reasons = world.statuses.map(({ reason }) => reason)
    assert.ok(reasons.includes('Kafka at kafka.example.com:9092 cannot be reached, or broke the connection off'))
  })

  it('ends when another worker has its lease', async () => {
    const world = worldOf()
    const first = world.newWorker().run()
    await until(() => world.engine.lines.length > 0)
    const second = world.newWorker()
    lines.push('7')
    assert.deepEqual(await first, { end: 'lost' })
    const running = second.run()
    await until(() => world.engine.lines.includes('7'))
    second.stop()
    assert.deepEqual(await running, { end: 'stopped' })
    lines.pop()
    assert.equal(world.engine.lines.length, 7)
  })

  it('finishes sent deliveries when it is stopped, and gives up rows that are only read', async () => {
    const world = worldOf()
    const { promise, resolve } = Promise.withResolvers<void>()
    world.engine.held = promise
    const worker = world.newWorker()
    const running = worker.run()
    await until(() => world.store.deliveries.size === 1)
    await wait(20)
    worker.stop()
    await wait(20)
    assert.equal(world.engine.lines.length, 0)
    resolve()
    assert.deepEqual(await running, { end: 'stopped' })
    const [sent, ...others] = world.engine.inserts
    assert.deepEqual([world.engine.lines, others], [sent?.lines, []])
    assert.equal(world.store.positions.get('a')?.position, String(sent?.lines.length))
    assert.equal(world.store.deliveries.size, 0)
    assert.equal(world.engine.openSinks, 0)
  })

  it('ends at once when it is aborted, and makes no further calls', async () => {
    const world = worldOf()
    world.engine.held = new Promise(() => undefined)
    const worker = world.newWorker()
    const running = worker.run()
    await until(() => world.store.deliveries.size === 1)
    worker.abort()
    const calls = world.faults.calls.length
    assert.deepEqual(await running, { end: 'stopped' })
    await wait(20)
    // A read may have been started before.
    assert.deepEqual(
      world.faults.calls.slice(calls).filter((name) => name !== 'read'),
      [],
    )
    assert.equal(world.store.deliveries.size, 1)
  })

  it('stores the start of a partition before any of its rows is sent', async () => {
    const added = ['before']
    const makeSource: WorldOptions['makeSource'] = (pass) =>
      lineStream({ partitions: { a: added }, begin: () => added.length, batchRows: 2, isEndless: true }, pass)
    const world = worldOf({ makeSource, settings: { streaming_max_insert_wait_ms: 60_000 } })
    const first = world.newWorker()
    const running = first.run()
    await until(() => world.store.positions.size === 1)
    first.abort()
    await running
    added.push('after')
    const second = worldOf({ makeSource })
    second.store.positions.set('a', { partition: 'a', position: world.store.positions.get('a')?.position ?? '' })
    const worker = second.newWorker()
    const ran = worker.run()
    await until(() => second.engine.lines.length === 1)
    worker.stop()
    await ran
    assert.deepEqual(second.engine.lines, ['after'])
  })

  it('prepares without moving rows, and leaves nothing open when it is never run', async () => {
    const world = worldOf()
    const worker = world.newWorker()
    await worker.prepare()
    assert.deepEqual(world.faults.calls, ['openSink', 'listPositions', 'open'])
    assert.equal(world.engine.openSinks, 1)
    worker.abort()
    assert.equal(world.engine.openSinks, 0)
  })

  it('fails when the engine rejects rows that its table would accept', async () => {
    const world = worldOf({ isEndless: false })
    for (const [code, said] of [
      [0, ''],
      [306, ': it has a limit on the size or the depth of a value (its error 306)'],
      [395, ': it runs throwIf, which fails on purpose (its error 395)'],
      [9_999, ': it gives a reason of its own (its error 9999)'],
    ] as const) {
      world.engine.refusal = new EngineError('data', 'refused', 'words of the engine', code)
      assert.deepEqual(await world.newWorker().run(), {
        end: 'failed',
        reason:
          `the engine refuses a batch of rows although its table would take every single one${said}; ` +
          'check the materialized views and limits that depend on the table',
      })
    }
  })

  it('continues after an object that has nothing left to load', async () => {
    const objects = { one: 'first line\n', two: 'second line\n' }
    const world = worldOf({ kind: 'objectStorage', makeSource: (pass) => lineObjects(objects, pass) })
    const { length } = objects.one
    world.store.positions.set('objects', {
      partition: 'objects',
      position: '',
      within: 'etag one',
      offsetBytes: length,
    })
    assert.deepEqual(await world.newWorker().run(), { end: 'completed' })
    assert.deepEqual(world.engine.lines, ['second line'])
  })

  it('rejects the rest of an object that was replaced during the load, and continues with the others', async () => {
    const objects = { one: 'first line\nsecond line\nthird line\n', two: 'fourth line\n' }
    const world = worldOf({ kind: 'objectStorage', makeSource: (pass) => lineObjects(objects, pass) })
    world.store.positions.set('objects', { partition: 'objects', position: '', within: 'etog one', offsetBytes: 11 })
    assert.equal((await world.newWorker().run()).end, 'completed')
    assert.deepEqual(world.engine.lines, ['fourth line'])
    const [rejected, ...others] = [...world.engine.badRows.values()]
    assert.equal(others.length, 0)
    assert.equal(rejected?.position, 'the object one')
    assert.match(rejected?.reason ?? '', /"one" was changed or deleted .*a part of it is in the table$/)
  })

  describe('with an object that cannot be read', () => {
    const worldWith = (objects: Record<string, string>) =>
      worldOf({ kind: 'objectStorage', makeSource: (pass) => lineObjects(objects, pass), state: 'Provisioning' })

    it('fails when it is the first, and names it', async () => {
      const world = worldWith({ one: 'BROKEN\n', two: 'second line\n' })
      const end = await world.newWorker().run()
      assert.match(end.end === 'failed' ? end.reason : '', /it is broken/)
      assert.deepEqual(world.engine.lines, [])
      assert.equal(world.engine.badRows.size, 0)
    })

    it('rejects it when others could be read, and continues', async () => {
      const world = worldWith({ one: 'first line\n', three: 'third line\n', two: 'BROKEN\n' })
      assert.equal((await world.newWorker().run()).end, 'completed')
      assert.deepEqual(world.engine.lines.toSorted(), ['first line', 'third line'])
      const rejected = [...world.engine.badRows.values()]
      assert.deepEqual(
        rejected.map(({ position, meta }) => [position, meta]),
        [['the object two', notARow]],
      )
      assert.equal(world.store.counters.rowsRefused, 1)
      assert.equal(world.statuses.at(-1)?.state, 'degraded')
      assert.match(world.statuses.at(-1)?.reason ?? '', /it is broken/)
    })
  })
})
