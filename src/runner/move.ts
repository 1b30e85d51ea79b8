// A worker: connects, finishes what was left, moves rows, and begins anew after a failure, until it is told to stop or cannot go
// on. Between two attempts nothing is kept in memory that decides anything: what is in the database does.
import type { Sink } from '../engine/engine.ts'
import { defaultSettings } from '../pipes/settings.ts'
import { pause } from './back-off.ts'
import { type BatchSize, makeBatchSize } from './batch-size.ts'
import { moveObjects, objectLanes } from './object-worker.ts'
import { makePatience } from './patience.ts'
import {
  type Encoders,
  guardStore,
  positionsOf,
  type Session,
  usualTimes,
  type WorkerTimes,
  withReader,
} from './session.ts'
import { makeStatus, timeOf } from './status.ts'
import { moveStream, streamLanes } from './stream-worker.ts'
import { type Turns, turnsOfProcess } from './turns.ts'
import type { Worker, WorkerEnd, WorkerParts } from './worker.ts'

/** What has been aborted and still does not end is left to itself. */
const graceMs = 1_000

/** Only tests bring their own. */
export interface WorkerOptions {
  times?: Partial<WorkerTimes>
  encoders?: Encoders
  turns?: Turns
  batchSize?: BatchSize
}

export function makeWorker(parts: WorkerParts, options: WorkerOptions = {}): Worker {
  const { pipe } = parts
  const settings = { ...defaultSettings, ...pipe.settings }
  const times = { ...usualTimes, ...options.times }
  const isStream = pipe.kind !== 'objectStorage'
  const lanes = isStream ? streamLanes(pipe.scaling) : objectLanes(pipe.scaling, settings)
  const batchSize = options.batchSize ?? makeBatchSize(pipe.scaling, lanes)
  const turn = (options.turns ?? turnsOfProcess).join(pipe.scaling.replicaCpuMillicores)
  const status = makeStatus(parts.tell)
  const patience = makePatience(pipe, times, parts.log)
  const aborting = new AbortController()
  const stopping = new AbortController()
  let sink: Sink | undefined
  let isRunning = false
  let retries = 0

  const closeSink = async (): Promise<void> => {
    const closed = sink
    sink = undefined
    await closed?.close().catch(() => undefined)
  }

  const runOnce = async (): Promise<'stopped' | 'completed'> => {
    const ending = new AbortController()
    const signal = AbortSignal.any([ending.signal, aborting.signal])
    sink ??= await parts.openSink(AbortSignal.any([aborting.signal, stopping.signal]))
    const session: Session = {
      parts,
      settings,
      times,
      encoders: options.encoders ?? (await import('./encoding/encoder.ts')),
      store: guardStore(parts.store, signal),
      sink,
      signal,
      stopping: AbortSignal.any([signal, stopping.signal]),
      end: () => ending.abort(),
      status,
      turn,
      batchSize,
      well() {
        patience.well()
        status.well()
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
      return await (isStream ? moveStream(session) : moveObjects(session))
    } finally {
      ending.abort()
    }
  }

  const waitAfter = async ({ waitMs, reason }: { waitMs: number; reason: string }): Promise<void> => {
    retries++
    status.degrade(reason)
    status.doing(`Waiting ${timeOf(waitMs)} before the next attempt: ${reason}`)
    // The next attempt makes the table ready again: it may be that which was wrong.
    await closeSink()
    await pause(waitMs, AbortSignal.any([stopping.signal, aborting.signal]))
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
      sink = await parts.openSink(aborting.signal)
      const positions = await guardStore(parts.store, aborting.signal).listPositions()
      const share = { index: parts.slot, count: parts.slots }
      await withReader({ parts, signal: aborting.signal }, positionsOf(positions), { share }, async () => undefined)
    },
    async run() {
      isRunning = true
      const ended = runUntilEnd().finally(async () => {
        status.close()
        turn.leave()
        await closeSink()
      })
      return orOverdue(ended, aborting.signal)
    },
    stop: () => stopping.abort(),
    abort() {
      aborting.abort()
      // One that is never run is closed by nobody else.
      if (!isRunning) void closeSink()
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
