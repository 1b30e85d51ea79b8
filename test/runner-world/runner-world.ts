// Test environment for workers: a source, an engine and a database in memory, in which any call can fail. A worker that dies is
// replaced by another one.
import { type EngineError, EngineError as Refusal } from '../../src/engine/engine.ts'
import { Egress } from '../../src/lib/egress.ts'
import { Log } from '../../src/lib/log.ts'
import type { StoredPipe } from '../../src/pipes/pipe.ts'
import { defaultScaling, type Scaling } from '../../src/pipes/scaling.ts'
import { defaultSettings, type Settings } from '../../src/pipes/settings.ts'
import type { EffectivePipe } from '../../src/runner/configuration.ts'
import { makeWorker, type WorkerOptions } from '../../src/runner/move.ts'
import type { Worker, WorkerEnd, WorkerParts, WorkerStatus } from '../../src/runner/worker.ts'
import { NotConnected } from '../../src/source-shapes/source-failure.ts'
import type { ReadableSource } from '../../src/sources/source.ts'
import { Faults } from './faults.ts'
import { LineEngine } from './line-sink.ts'
import { MemoryStore } from './memory-store.ts'
import { MemoryTables } from './memory-tables.ts'

export type Pass = <Result>(name: string, effect: () => Promise<Result>) => Promise<Result>

export interface RunnerWorld {
  store: MemoryStore
  engine: LineEngine
  faults: Faults
  statuses: WorkerStatus[]
  /** Parts of a worker, except those that depend on its lease. */
  parts: Omit<WorkerParts, 'workerIndex' | 'workerCount' | 'epoch' | 'source' | 'openSink' | 'store'>
  /** Another worker with the next epoch. */
  newWorker(place?: { workerIndex: number; workerCount: number }): Worker
  /** Runs workers until one does not die; a worker that fails for a long time is aborted. */
  runToEnd(): Promise<WorkerEnd>
}

export interface WorldOptions {
  kind: 'kafka' | 'kinesis' | 'objectStorage'
  makeSource(pass: Pass): ReadableSource
  options: WorkerOptions
  scaling?: Partial<Scaling>
  settings?: Partial<Settings>
  /** Whether a queue announces the objects. */
  hasQueue?: boolean
  /** State of the pipe when its workers are created. */
  state?: StoredPipe['state']
  faults?: Faults
}

const longestRunMs = 20_000

const quickTimes = { backOff: { firstMs: 1, longestMs: 2 }, lookAgainMs: 1, idleReadMs: 1, userErrorRetryMs: 200 }

export function makeRunnerWorld(given: WorldOptions): RunnerWorld {
  const { kind, makeSource, options, scaling, settings, state = 'Running', faults } = given
  const world = { store: new MemoryStore(), engine: new LineEngine(), faults: faults ?? new Faults([], 'fail') }
  const statuses: WorkerStatus[] = []
  const pipe = {
    ...pipeOf(kind, { ...defaultScaling, ...scaling }, { streaming_max_insert_wait_ms: 1, ...settings }),
    state,
  }
  if (given.hasQueue)
    pipe.source = { ...pipe.source, isContinuous: true, queueUrl: 'https://queue.example.com/1/lines' }
  const common: RunnerWorld['parts'] = {
    pipe,
    secrets: {},
    tables: new MemoryTables().of({ epoch: 0 }),
    egress: new Egress({ allowLoopback: false, deniedAddresses: [] }),
    context: { caCertificates: undefined, allowPlaintext: false, awsEndpoints: {} },
    log: new Log('silent'),
    report: (status) => statuses.push(status),
  }
  let epoch = 0
  let dead: Promise<unknown> | undefined

  const newWorker = ({ workerIndex, workerCount } = { workerIndex: 0, workerCount: 1 }): Worker => {
    epoch++
    const died = Promise.withResolvers<void>()
    const process = world.faults.newProcess(() => {
      worker.abort()
      died.resolve()
    })
    dead = died.promise
    const passWith =
      (failure: () => Error): Pass =>
      (name, effect) =>
        world.faults.call(name, process, effect, failure)
    const store = world.store.of({ workerIndex, workerCount, epoch })
    const passStore = passWith(() => new Error('the database is away'))
    const parts: WorkerParts = {
      ...common,
      workerIndex,
      workerCount,
      epoch,
      source: makeSource(passWith(() => new NotConnected())),
      openSink: async () => {
        const pass = passWith(engineIsAway)
        return pass('openSink', async () => world.engine.sink(pass))
      },
      store: {
        listPositions: () => passStore('listPositions', () => store.listPositions()),
        listDeliveries: () => passStore('listDeliveries', () => store.listDeliveries()),
        setPositions: (positions) => passStore('setPositions', () => store.setPositions(positions)),
        keepLosses: (change) => passStore('keepLosses', () => store.keepLosses(change)),
        claim: (partitions) => passStore('claim', () => store.claim(partitions)),
        begin: (delivery) => passStore('begin', () => store.begin(delivery)),
        reject: (id, badRows) => passStore('refuse', () => store.reject(id, badRows)),
        finish: (change) => passStore('finish', () => store.finish(change)),
      },
    }
    const worker = makeWorker(parts, { times: quickTimes, ...options })
    return worker
  }

  return {
    ...world,
    statuses,
    parts: common,
    newWorker,
    async runToEnd() {
      for (;;) {
        const worker = newWorker()
        const running = worker.run()
        const overdue = setTimeout(() => worker.abort(), longestRunMs)
        let hasDied = false
        const end = await Promise.race([
          running,
          dead?.then(() => {
            hasDied = true
          }),
        ]).finally(() => clearTimeout(overdue))
        if (!hasDied && end) {
          await Promise.all(world.faults.late.map((effect) => effect().catch(() => undefined)))
          return end
        }
        await running
      }
    },
  }
}

function engineIsAway(): EngineError {
  return new Refusal('passing', 'the engine cannot be reached')
}

const sources = {
  kafka: { brokers: 'kafka.example.com:9092' },
  kinesis: { streamName: 'lines' },
  objectStorage: { url: 'https://bucket.example.com/*' },
}

function pipeOf(kind: WorldOptions['kind'], scaling: Scaling, settings: Partial<Settings>): EffectivePipe {
  const now = new Date(0).toISOString()
  return {
    id: '00000000-0000-7000-8000-000000000001',
    organizationId: '00000000-0000-7000-8000-000000000002',
    serviceId: '00000000-0000-7000-8000-000000000003',
    name: 'lines',
    kind,
    state: 'Running',
    source: sources[kind],
    sealedSecrets: null,
    destination: { database: 'default', table: 'lines', columns: [{ name: 'line', type: 'String' }] },
    fieldMappings: [],
    scaling,
    settings: { ...defaultSettings, ...settings },
    createdAt: now,
    updatedAt: now,
    version: 1,
  }
}
