// A worker: connects, finishes what was left, moves rows, and begins anew after a failure, until it is told to stop or cannot go
// on. Between two attempts nothing is kept in memory that decides anything, except how often an object was tried in vain: what is in
// the database does.
import type { StoredPipe } from '../pipes/pipe.ts'
import { defaultSettings } from '../pipes/settings.ts'
import { pause } from './back-off.ts'
import { type BatchSize, makeBatchSize } from './batch-size.ts'
import { type BuildScheduler, buildSchedulerOfProcess } from './build-scheduler.ts'
import { zeroCounters } from './counters.ts'
import { makeDamage } from './damaged-objects.ts'
import { moveObjects, objectLanes } from './object-worker.ts'
import type { Tries } from './queue/object-trouble.ts'
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
import { moveStream, streamLanes } from './stream-worker.ts'
import type { CommonParts, Worker, WorkerEnd, WorkerParts } from './worker.ts'

/** What has been aborted and still does not end is left to itself. */
const graceMs = 1_000
const measureTimeoutMs = 10_000

/** Only tests bring their own. */
export interface WorkerOptions {
  times?: Partial<WorkerTimes>
  encoders?: Encoders
  turns?: BuildScheduler
  batchSize?: BatchSize
}

/** How the rows of a kind of pipe are moved. */
export interface Mover<End> {
  /** Inserts under way at the same time. */
  lanes: number
  /** Connects to the engine. */
  open(signal: AbortSignal): Promise<End>
  close(end: End): Promise<void>
  /** All that can be tried without moving anything. */
  prepare(end: End, signal: AbortSignal): Promise<void>
  /** What waits in the source, counted from the stored positions. Not called while `move` reports it. */
  measure(signal: AbortSignal): Promise<Measured>
  /** How long `move` waits for new input without a report, beyond `times.idleReadMs`. */
  longestWaitMs?: number
  /** Resolves when the worker was told to stop, or when nothing is left to move. */
  move(session: CommonSession, end: End): Promise<'stopped' | 'completed'>
}

export function makeWorker(parts: WorkerParts, options: WorkerOptions = {}): Worker {
  const { pipe, openSink } = parts
  const settings = { ...defaultSettings, ...pipe.settings }
  const isStream = pipe.kind !== 'objectStorage'
  const tries: Tries = new Map()
  const damage = makeDamage()
  const moveAll = (session: Session): Promise<'stopped' | 'completed'> => {
    if (isStream) return moveStream(session)
    return hasQueue(pipe) ? moveQueue(session, tries) : moveObjects(session, damage)
  }
  return runMover(parts, options, {
    lanes: isStream ? streamLanes(pipe) : objectLanes(pipe.scaling, settings),
    open: openSink,
    close: (sink) => sink.close(),
    async prepare(_sink, signal) {
      const positions = await guardStore(parts.store, signal).listPositions()
      const share = { index: parts.slot, count: parts.slots }
      await withReader({ parts, signal }, positionsOf(positions), { share }, async () => undefined)
    },
    async measure(signal) {
      const positions = (await parts.store.listPositions()).filter((position) => position.slot === undefined)
      const share = { index: parts.slot, count: parts.slots }
      const lag = await parts.source.measureLag?.(positionsOf(positions), { egress: parts.egress, signal }, share)
      return { lag }
    },
    longestWaitMs: isStream ? 0 : settings.object_storage_polling_interval_ms,
    async move(common, sink) {
      const encoders = options.encoders ?? (await import('../formats/encode/encoder.ts'))
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
  const settings = { ...defaultSettings, ...pipe.settings }
  const times = { ...usualTimes, ...options.times }
  const batchSize = options.batchSize ?? makeBatchSize(pipe.scaling, mover.lanes)
  const turn = (options.turns ?? buildSchedulerOfProcess).join(pipe.scaling.replicaCpuMillicores)
  const measuring = measureWhileStalled({
    status: makeStatus(parts.tell),
    measure: (signal) => mover.measure(signal),
    everyMs: times.stalledMs + (mover.longestWaitMs ?? 0),
    timeoutMs: measureTimeoutMs,
  })
  const { status } = measuring
  const patience = makeRetryPolicy(pipe, times, parts.log)
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
      settings,
      times,
      store: guardStore(parts.store, signal),
      signal,
      stopping: AbortSignal.any([signal, stopping.signal]),
      end: () => ending.abort(),
      status,
      turn,
      batchSize,
      well(reason) {
        patience.well()
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

  /** Figures come with what is delivered; while nothing is, these are what can be seen of the attempts. */
  const keepRetries = async (): Promise<void> => {
    const kept = retries
    retries = 0
    try {
      await parts.store.finish({ done: [], behind: [], positions: [], figures: { ...zeroCounters, retries: kept } })
    } catch {
      // Who has lost its place, or its database, learns that with the next attempt.
      retries += kept
    }
  }

  const waitAfter = async ({ waitMs, reason }: { waitMs: number; reason: string }): Promise<void> => {
    retries++
    status.degrade(reason)
    status.doing(`Waiting ${timeOf(waitMs)} before the next attempt: ${reason}`)
    // The next attempt makes the table ready again: it may be that which was wrong.
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
        const next = patience.after(error, stopping.signal.aborted)
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
        turn.leave()
        await closeEngine()
      })
      return orOverdue(ended, aborting.signal)
    },
    stop: () => stopping.abort(),
    abort() {
      aborting.abort()
      // One that is never run is closed by nobody else.
      if (!isRunning) void closeEngine()
    },
  }
}

/** What hangs on a network or a database that does not answer must not hold up whoever aborts it. */
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
