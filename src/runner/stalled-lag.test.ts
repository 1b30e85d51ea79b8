// Lag of a worker that reads nothing: measured at the source, whatever blocks the worker.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { lineEncoders } from '../../test/runner-world/line-rows.ts'
import { lineStream } from '../../test/runner-world/line-sources.ts'
import { makeRunnerWorld, type RunnerWorld, type WorldOptions } from '../../test/runner-world/runner-world.ts'
import { loopbackEgress } from '../../test/sources/conformance.ts'
import { startKafkaBroker } from '../../test/sources/kafka-broker/broker.ts'
import type { KafkaServer } from '../../test/sources/kafka-server.ts'
import { jsonRecords, numbers, sourceOf, topicWith } from '../../test/sources/kafka-world.ts'
import { type ObjectServer, startObjectServer } from '../../test/sources/object-server.ts'
import { plainContext, s3Source } from '../../test/sources/object-storage-conformance.ts'
import { EngineError } from '../engine/engine.ts'
import type { ReadableSource } from '../sources/source.ts'
import { measureWhileStalled } from './stalled-lag.ts'
import { makeStatus } from './status.ts'
import type { WorkerStatus } from './worker.ts'

const times = {
  backOff: { firstMs: 20, longestMs: 50 },
  lookAgainMs: 1,
  idleReadMs: 10,
  userErrorRetryMs: 60_000,
  stalledMs: 100,
}
/** Smaller than the source: the rest is read after the insert of the first rows. */
const batchSize = { rows: 5, bytes: 1_000_000, note: () => undefined }
const engineDown = new EngineError('passing', 'the engine at db.example.com:8123 cannot be reached')

function worldOf(kind: WorldOptions['kind'], source: ReadableSource): RunnerWorld {
  const open: ReadableSource['open'] = (positions, { signal }, selection) =>
    source.open(positions, { egress: loopbackEgress, signal }, selection)
  const { measureLag } = source
  return makeRunnerWorld({
    kind,
    options: { encoders: lineEncoders({ pieceBytes: [10] }), times, batchSize },
    settings: { object_storage_polling_interval_ms: 10 },
    makeSource: () => ({
      ...source,
      open,
      ...(measureLag && {
        measureLag: (positions, { signal }, assignment) =>
          measureLag(positions, { egress: loopbackEgress, signal }, assignment),
      }),
    }),
  })
}

async function until(isSo: () => boolean, what: () => string): Promise<void> {
  for (let round = 0; round < 1_000 && !isSo(); round++) await wait(10)
  assert.ok(isSo(), what())
}

const untilLag = (world: RunnerWorld, lag: number | undefined): Promise<void> =>
  until(
    () => world.statuses.at(-1)?.lag === lag,
    () => `the lag is ${world.statuses.at(-1)?.lag}, not ${lag}`,
  )

describe('the lag of a worker that reads nothing', () => {
  let kafka: KafkaServer
  let objects: ObjectServer
  before(async () => {
    kafka = await startKafkaBroker()
    objects = await startObjectServer()
    await objects.createBucket('data')
  })
  after(async () => {
    await Promise.all([kafka.stop(), objects.stop()])
  })

  it('grows with the records of a topic while the engine refuses connections, and is 0 after that', async () => {
    const topic = await topicWith(kafka, jsonRecords(30, 3), 3)
    const world = worldOf('kafka', sourceOf(kafka, topic))
    world.engine.refusal = engineDown
    const worker = world.newWorker()
    const running = worker.run()
    await untilLag(world, 30)
    await kafka.produce(topic, jsonRecords(12, 3))
    await untilLag(world, 42)
    assert.equal(world.statuses.at(-1)?.deliveredUntilMs, undefined, 'nothing is delivered')
    const fixedMs = Date.now()
    world.engine.refusal = undefined
    await untilLag(world, 0)
    const isFresh = (): boolean => (world.statuses.at(-1)?.deliveredUntilMs ?? 0) >= fixedMs
    await until(isFresh, () => `delivered until ${world.statuses.at(-1)?.deliveredUntilMs}, not ${fixedMs}`)
    world.engine.refusal = engineDown
    await kafka.produce(topic, jsonRecords(3, 3))
    await untilLag(world, 3)
    const before = world.statuses.at(-1)?.deliveredUntilMs
    await wait(300)
    assert.equal(world.statuses.at(-1)?.deliveredUntilMs, before, 'nothing more is delivered')
    world.engine.refusal = undefined
    await untilLag(world, 0)
    worker.stop()
    await running
    assert.equal(world.engine.lines.length, 45)
  })

  it('grows with the records of a topic while an insert takes long', async () => {
    const topic = await topicWith(kafka, jsonRecords(30, 3), 3)
    const world = worldOf('kafka', sourceOf(kafka, topic))
    const { promise, resolve } = Promise.withResolvers<void>()
    world.engine.held = promise
    const worker = world.newWorker()
    const running = worker.run()
    await untilLag(world, 30)
    await kafka.produce(topic, jsonRecords(12, 3))
    await untilLag(world, 42)
    resolve()
    await untilLag(world, 0)
    worker.stop()
    await running
  })

  it('grows with the files of a bucket while the engine refuses connections', async () => {
    const url = `${objects.endpoint}/data/in/*`
    const source = s3Source(url, objects.accessKey, { isContinuous: true }, plainContext)
    const world = worldOf('objectStorage', source)
    for (const key of ['in/a', 'in/b']) await objects.put('data', key, Buffer.from('{"id":1}\n'))
    world.engine.refusal = engineDown
    const worker = world.newWorker()
    const running = worker.run()
    await untilLag(world, 2)
    for (const key of ['in/c', 'in/d', 'other/e']) await objects.put('data', key, Buffer.from('{"id":1}\n'))
    await untilLag(world, 4)
    world.engine.refusal = undefined
    await untilLag(world, 0)
    worker.stop()
    await running
  })

  it('is unknown when the source cannot count', async () => {
    const lines = numbers(0, 30).map(String)
    const parts = { partitions: { a: lines }, begin: () => 0, batchRows: 20, isEndless: true }
    const world = worldOf(
      'kinesis',
      lineStream(parts, (_name, effect) => effect()),
    )
    world.engine.refusal = engineDown
    const worker = world.newWorker()
    const running = worker.run()
    await until(
      () => world.statuses.some(({ lag }) => lag !== undefined),
      () => 'no lag is reported',
    )
    await untilLag(world, undefined)
    worker.abort()
    await running
  })
})

describe('a measurement', () => {
  const start = (measure: (signal: AbortSignal) => Promise<{ lag?: number }>, timeoutMs = 60_000) => {
    const reports: WorkerStatus[] = []
    const status = makeStatus((one) => reports.push(one))
    const measuring = measureWhileStalled({ status, measure, everyMs: 20, timeoutMs })
    measuring.start()
    const lags = () => {
      // Reports are coalesced for a second; a change of state is reported at once.
      measuring.status.degrade(`look ${reports.length}`)
      return reports.at(-1)?.lag
    }
    return { measuring, lags }
  }

  it('is discarded when the data path has reported since its start', async () => {
    const { promise, resolve } = Promise.withResolvers<{ lag: number }>()
    let asked = 0
    const { measuring, lags } = start(async () => (asked++ === 0 ? promise : {}))
    await until(
      () => asked > 0,
      () => 'nothing is measured',
    )
    measuring.status.lag(3)
    resolve({ lag: 1_000 })
    await until(
      () => asked > 1,
      () => 'nothing is measured again',
    )
    assert.equal(lags(), 3)
    measuring.stop()
  })

  it('that fails or takes too long leaves the last report until it has failed three times', async () => {
    let asked = 0
    const { measuring, lags } = start(async (signal) => {
      if (asked++ === 0) throw new Error('the source does not answer')
      const { promise, reject } = Promise.withResolvers<never>()
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
      // The timers of the code do not keep the process of the test alive.
      return Promise.race([promise, wait(60_000, undefined, { signal }).then(() => ({}))])
    }, 20)
    measuring.status.lag(7)
    await until(
      () => asked === 2,
      () => `measured ${asked} times`,
    )
    assert.equal(lags(), 7)
    await until(
      () => asked > 3,
      () => `measured ${asked} times`,
    )
    assert.equal(lags(), undefined)
    measuring.stop()
  })

  it('ends when the worker ends', async () => {
    const signals: AbortSignal[] = []
    const { measuring } = start(async (signal) => {
      signals.push(signal)
      return Promise.withResolvers<{ lag: number }>().promise
    })
    await until(
      () => signals.length > 0,
      () => 'nothing is measured',
    )
    measuring.stop()
    assert.ok(signals.every(({ aborted }) => aborted))
    await wait(60)
    assert.equal(signals.length, 1)
  })
})
