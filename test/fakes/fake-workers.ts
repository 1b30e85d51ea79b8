// Workers controlled by a test, and pipes for them.
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { WorkerOrder } from '../../src/runner/leased-worker.ts'
import type { Worker, WorkerEnd } from '../../src/runner/worker.ts'

/** A created worker. It runs until it is stopped, or until the test ends it. */
export interface FakeWorker {
  order: WorkerOrder
  pipeId: string
  workerIndex: number
  did: ('prepare' | 'run' | 'stop' | 'abort')[]
  isRunning: boolean
  end(end: WorkerEnd): void
  crash(): void
}

export interface FakeWorkers {
  made: FakeWorker[]
  make(order: WorkerOrder): Promise<Worker>
  /** Running workers of a pipe. */
  running(pipeId: string): FakeWorker[]
  /** May throw instead of preparing. */
  whenPreparing: ((order: WorkerOrder) => void) | undefined
  /** Called instead of reporting that the worker runs. */
  whenRunning: ((worker: FakeWorker) => void) | undefined
  /** Ignores stop requests. */
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
  const { pipeId, workerIndex } = order.lease
  const fake: FakeWorker = {
    order,
    pipeId,
    workerIndex,
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
      else order.report({ state: 'running', doing: 'Reading' })
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

/** Waits until `look` returns a truthy value; fails after half a minute. */
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
