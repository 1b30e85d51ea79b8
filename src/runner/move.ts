// A worker: connects, finishes recorded deliveries, moves rows, and starts again after a failure, until it is stopped or fails.
// An attempt depends only on the state in the database; memory keeps nothing but the number of failed attempts per object.
import type { StoredPipe } from '../pipes/pipe.ts'
import { readsObjects } from '../source-shapes/source-kinds.ts'
import { pause } from './back-off.ts'
import { type BatchSize, makeBatchSize } from './batch-size.ts'
import { type BuildScheduler, buildSchedulerOfProcess } from './build-scheduler.ts'
import { zeroCounters } from './counters.ts'
import { makeDamage } from './damaged-objects.ts'
import { moveObjects, objectConcurrency } from './object-worker.ts'
import type { ObjectAttempts } from './queue/object-failure.ts'
import { moveQueue } from './queue-worker.ts'
import { makeRetryPolicy } from './retry-policy.ts'
import {
  type CommonSession,
  type Encoders,
  guardStore,
  positionsOf,
  type Session,
  usualTimes,
  type WorkerTimes,
  withReader,
} from './session.ts'
import { type Measured, measureWhileStalled } from './stalled-lag.ts'
import { makeStatus, timeOf } from './status.ts'
import { moveStream, streamConcurrency } from './stream-worker.ts'
import type { CommonParts, Worker, WorkerEnd, WorkerParts } from './worker.ts'

/** An aborted worker that does not end within this time is abandoned. */
const graceMs = 1_000
const measureTimeoutMs = 10_000

/** Overridden only by tests. */
export interface WorkerOptions {
  times?: Partial<WorkerTimes>
  encoders?: Encoders
  buildScheduler?: BuildScheduler
  batchSize?: BatchSize
}

/** Moves the rows of one kind of pipe. */
export interface Mover<End> {
  concurrentInserts: number
  /** Connects to the engine. */
  open(signal: AbortSignal): Promise<End>
  close(end: End): Promise<void>
  /** Checks everything that can be checked without moving rows. */
  prepare(end: End, signal: AbortSignal): Promise<void>
  /** Measures the lag at the source from the stored positions. Not called while `move` reports it. */
  measure(signal: AbortSignal): Promise<Measured>
  /** How long `move` waits for new input without a report, beyond `times.idleReadMs`. */
  longestWaitMs?: number
  /** Resolves when the worker was stopped, or when the source has ended. */
  move(session: CommonSession, end: End): Promise<'stopped' | 'completed'>
}

export function makeWorker(parts: WorkerParts, options: WorkerOptions = {}): Worker {
  const { pipe, openSink } = parts
  const { settings } = pipe
  const isStream = !readsObjects(pipe.kind)
  const attempts: ObjectAttempts = new Map()
  const damage = makeDamage()
  const moveAll = (session: Session): Promise<'stopped' | 'completed'> => {
    if (isStream) return moveStream(session)
    return hasQueue(pipe) ? moveQueue(session, attempts) : moveObjects(session, damage)
  }
  return runMover(parts, options, {
    concurrentInserts: isStream ? streamConcurrency(pipe) : objectConcurrency(pipe.scaling, settings),
    open: openSink,
    close: (sink) => sink.close(),
    async prepare(_sink, signal) {
      const positions = await guardStore(parts.store, signal).listPositions()
      const assignment = { index: parts.workerIndex, count: parts.workerCount }
      await withReader({ parts, signal }, positionsOf(positions), { assignment }, async () => undefined)
    },
    async measure(signal) {
      const positions = (await parts.store.listPositions()).filter((position) => position.workerIndex === undefined)
      const assignment = { index: parts.workerIndex, count: parts.workerCount }
      const lag = await parts.source.measureLag?.(positionsOf(positions), { egress: parts.egress, signal }, assignment)
      return { lag }
    },
    longestWaitMs: isStream ? 0 : settings.object_storage_polling_interval_ms,
    async move(common, sink) {
      const encoders = options.encoders ?? (await import('../formats/encode/make-encoder.ts'))
      const session: Session = { ...common, parts, sink, encoders }
      return await moveAll(session)
    },
  })
}

function hasQueue({ source }: StoredPipe): boolean {
  const { queueUrl, isContinuous } = source as { queueUrl?: string; isContinuous?: boolean }
  return queueUrl !== undefined && isContinuous === true
}

export function runMover<End>(parts: CommonParts, options: WorkerOptions, mover: Mover<End>): Worker {
  const { pipe } = parts
  const times = { ...usualTimes, ...options.times }
  const batchSize = options.batchSize ?? makeBatchSize(pipe.scaling, mover.concurrentInserts)
  const builder = (options.buildScheduler ?? buildSchedulerOfProcess).join(pipe.scaling.replicaCpuMillicores)
  const measuring = measureWhileStalled({
    status: makeStatus(parts.report),
    measure: (signal) => mover.measure(signal),
    everyMs: times.stalledMs + (mover.longestWaitMs ?? 0),
    timeoutMs: measureTimeoutMs,
  })
  const { status } = measuring
  const retryPolicy = makeRetryPolicy(pipe, times, parts.log)
  const aborting = new AbortController()
  const stopping = new AbortController()
  let engine: { end: End } | undefined
  let isRunning = false
  let retries = 0

  const closeEngine = async (): Promise<void> => {
    const closed = engine
    engine = undefined
    if (closed) await mover.close(closed.end).catch(() => undefined)
  }

  const runOnce = async (): Promise<'stopped' | 'completed'> => {
    const ending = new AbortController()
    const signal = AbortSignal.any([ending.signal, aborting.signal])
    engine ??= { end: await mover.open(AbortSignal.any([aborting.signal, stopping.signal])) }
    const session: CommonSession = {
      settings: pipe.settings,
      times,
      store: guardStore(parts.store, signal),
      signal,
      stopping: AbortSignal.any([signal, stopping.signal]),
      end: () => ending.abort(),
      status,
      builder,
      batchSize,
      well(reason) {
        retryPolicy.well()
        if (reason === undefined) status.well()
        else status.degrade(reason)
      },
      countRetry: () => {
        retries++
      },
      takeRetries: () => {
        const taken = retries
        retries = 0
        return taken
      },
    }
    try {
      return await mover.move(session, engine.end)
    } finally {
      ending.abort()
    }
  }

  /** Counters are written with deliveries; while nothing is delivered, retries have to be written on their own. */
  const keepRetries = async (): Promise<void> => {
    const kept = retries
    retries = 0
    try {
      await parts.store.finish({ done: [], behind: [], positions: [], counters: { ...zeroCounters, retries: kept } })
    } catch {
      // A lost lease or an unavailable database shows in the next attempt.
      retries += kept
    }
  }

  const waitAfter = async ({ waitMs, reason }: { waitMs: number; reason: string }): Promise<void> => {
    retries++
    status.degrade(reason)
    status.doing(`Waiting ${timeOf(waitMs)} before the next attempt: ${reason}`)
    // The next attempt prepares the table again, since the table may be the cause.
    await closeEngine()
    await Promise.all([keepRetries(), pause(waitMs, AbortSignal.any([stopping.signal, aborting.signal]))])
  }

  const runUntilEnd = async (): Promise<WorkerEnd> => {
    for (;;) {
      if (stopping.signal.aborted || aborting.signal.aborted) return { end: 'stopped' }
      try {
        return { end: await runOnce() }
      } catch (error) {
        if (aborting.signal.aborted) return { end: 'stopped' }
        const next = retryPolicy.after(error, stopping.signal.aborted)
        if ('end' in next) return next
        await waitAfter(next)
      }
    }
  }

  return {
    async prepare() {
      engine = { end: await mover.open(aborting.signal) }
      await mover.prepare(engine.end, aborting.signal)
    },
    async run() {
      isRunning = true
      measuring.start()
      const ended = runUntilEnd().finally(async () => {
        measuring.stop()
        status.close()
        builder.leave()
        await closeEngine()
      })
      return orOverdue(ended, aborting.signal)
    },
    stop: () => stopping.abort(),
    abort() {
      aborting.abort()
      // `run`, which closes it otherwise, was never called.
      if (!isRunning) void closeEngine()
    },
  }
}

/** A network or database that does not answer must not delay an abort. */
async function orOverdue(ended: Promise<WorkerEnd>, signal: AbortSignal): Promise<WorkerEnd> {
  const { promise: overdue, resolve } = Promise.withResolvers<WorkerEnd>()
  let timer: NodeJS.Timeout | undefined
  const wait = (): void => {
    timer = setTimeout(() => resolve({ end: 'stopped' }), graceMs)
  }
  if (signal.aborted) wait()
  else signal.addEventListener('abort', wait, { once: true })
  try {
    return await Promise.race([ended, overdue])
  } finally {
    signal.removeEventListener('abort', wait)
    clearTimeout(timer)
  }
}
