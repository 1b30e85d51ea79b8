// Workers that a test leads by the hand, and a world of pipes for them to work on.
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { WorkerOrder } from '../src/runner/leased-worker.ts'
import type { Worker, WorkerEnd } from '../src/runner/worker.ts'

/** One that was made. It runs until it is told to stop, or until the test ends it. */
export interface FakeWorker {
  order: WorkerOrder
  pipeId: string
  slot: number
  did: ('prepare' | 'run' | 'stop' | 'abort')[]
  isRunning: boolean
  end(end: WorkerEnd): void
  crash(): void
}

export interface FakeWorkers {
  made: FakeWorker[]
  make(order: WorkerOrder): Promise<Worker>
  /** Those that run now, of a pipe. */
  running(pipeId: string): FakeWorker[]
  /** Rejects instead of preparing. */
  whenPreparing: ((order: WorkerOrder) => void) | undefined
  /** Called in place of telling that it runs. */
  whenRunning: ((worker: FakeWorker) => void) | undefined
  /** Told to stop, they go on. */
  isStubborn: boolean
}

export function makeFakeWorkers(): FakeWorkers {
  const workers: FakeWorkers = {
    made: [],
    make: async (order) => makeOne(workers, order),
    running: (pipeId) => workers.made.filter((worker) => worker.pipeId === pipeId && worker.isRunning),
    whenPreparing: undefined,
    whenRunning: undefined,
    isStubborn: false,
  }
  return workers
}

function makeOne(workers: FakeWorkers, order: WorkerOrder): Worker {
  const { promise, resolve, reject } = Promise.withResolvers<WorkerEnd>()
  const { pipeId, slot } = order.place
  const fake: FakeWorker = {
    order,
    pipeId,
    slot,
    did: [],
    isRunning: false,
    end: resolve,
    crash: () => reject(new Error('a defect')),
  }
  workers.made.push(fake)
  return {
    async prepare() {
      fake.did.push('prepare')
      workers.whenPreparing?.(order)
    },
    async run() {
      fake.did.push('run')
      fake.isRunning = true
      if (workers.whenRunning) workers.whenRunning(fake)
      else order.tell({ state: 'running', doing: 'Reading' })
      try {
        return await promise
      } finally {
        fake.isRunning = false
      }
    },
    stop() {
      fake.did.push('stop')
      if (!workers.isStubborn) resolve({ end: 'stopped' })
    },
    abort() {
      fake.did.push('abort')
      resolve({ end: 'stopped' })
    },
  }
}

/** Waits until it gives something that is true; fails after half a minute. */
export async function until<Value>(
  look: () => Promise<Value> | Value,
  what: string | (() => string),
  { everyMs = 10 } = {},
): Promise<NonNullable<Value>> {
  const deadlineMs = Date.now() + 30_000
  for (;;) {
    const found = await look()
    if (found) return found
    if (Date.now() > deadlineMs) assert.fail(`in vain: ${typeof what === 'string' ? what : what()}`)
    await sleep(everyMs)
  }
}
