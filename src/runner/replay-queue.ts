// Replays rejected rows on request. The holder of the lease with worker index 0 does it beside its worker, while it holds the lease.
// A request that arrives during a replay is done afterwards.
import { describeError } from '../lib/describe-error.ts'
import type { Log } from '../lib/log.ts'
import type { PipeToRun } from '../pipes/store.ts'
import type { WorkerLease } from '../progress/store.ts'
import { classifyFailure } from './classify-failure.ts'
import type { Configuration } from './configuration.ts'
import { internalError } from './leased-worker.ts'
import { type HeldWorker, within } from './worker-pool.ts'
import type { RunnerDatabase } from './worker-store.ts'

export interface ReplayOrder {
  configuration: Configuration
  lease: WorkerLease
  signal: AbortSignal
}

export interface ReplaysParts {
  replay(order: ReplayOrder): Promise<unknown>
  write: RunnerDatabase['write']
  log: Log
  retryAfterMs: number
  /** An aborted replay that does not end within this time is abandoned. */
  graceMs: number
}

interface RunningReplay {
  lease: WorkerLease
  ending: AbortController
  work: Promise<void>
}

export class Replays {
  readonly #parts: ReplaysParts
  readonly #running = new Map<string, RunningReplay>()
  /** Earliest next attempt of pipes whose replay failed, by the monotonic clock. */
  readonly #notBeforeMs = new Map<string, number>()
  /** Finished requests: a pipe that was read before that still shows its request. */
  readonly #done = new Map<string, string>()
  #isClosed = false

  constructor(parts: ReplaysParts) {
    this.#parts = parts
  }

  /** Starts a requested replay, unless one is running or has just failed, or the configuration is being changed. */
  consider(pipe: PipeToRun, { worker: { lease, configuration, isChanging }, isLeaving }: HeldWorker): void {
    const { pipeId, replayRequestedAt } = pipe
    if (lease.workerIndex !== 0 || isLeaving || isChanging || this.#isClosed) return
    if (replayRequestedAt === null) this.#done.delete(pipeId)
    if (replayRequestedAt === null || replayRequestedAt === this.#done.get(pipeId)) return
    if (this.#running.has(pipeId) || performance.now() < (this.#notBeforeMs.get(pipeId) ?? 0)) return
    const ending = new AbortController()
    const work = this.#replay({ configuration, lease, signal: ending.signal }, replayRequestedAt)
      .catch((error: unknown) => {
        this.#parts.log.warn('rejected rows could not be replayed', {
          pipeId,
          error: describeError(error),
        })
        this.#notBeforeMs.set(pipeId, performance.now() + this.#parts.retryAfterMs)
      })
      .finally(() => this.#running.delete(pipeId))
    this.#running.set(pipeId, { lease, ending, work })
  }

  /** Aborts the replay of this lease and resolves when it has ended. The next holder of the lease repeats it. */
  async breakOff({ pipeId, workerIndex, epoch }: WorkerLease): Promise<void> {
    const running = this.#running.get(pipeId)
    if (running?.lease.workerIndex === workerIndex && running.lease.epoch === epoch) await this.#end(running)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#running.values()].map((running) => this.#end(running)))
  }

  async #end({ ending, work }: RunningReplay): Promise<void> {
    ending.abort()
    await within(work, this.#parts.graceMs)
  }

  /** Rejects with temporary errors. */
  async #replay(order: ReplayOrder, requestedAt: string): Promise<void> {
    const error = await this.#findFailure(order)
    if (order.signal.aborted) return
    const { organizationId, pipeId } = order.lease
    const end = { organizationId, pipeId, requestedAt, error, now: new Date().toISOString() }
    await this.#parts.write('endReplay', end, organizationId)
    this.#notBeforeMs.delete(pipeId)
    this.#done.set(pipeId, requestedAt)
  }

  /** The error that the user has to fix; null when all rows were tried, or when the replay was aborted. */
  async #findFailure(order: ReplayOrder): Promise<string | null> {
    const { configuration, lease, signal } = order
    try {
      await this.#parts.replay(order)
      return null
    } catch (error) {
      if (signal.aborted) return null
      const failure = classifyFailure(error, configuration.pipe)
      if (failure && failure.kind !== 'user' && failure.kind !== 'hopeless') throw error
      if (!failure) {
        const { pipeId } = lease
        this.#parts.log.error('a replay of rejected rows ended with an unexpected error', {
          pipeId,
          error: describeError(error),
        })
      }
      return `the rejected rows could not be replayed: ${failure?.reason ?? internalError}`
    }
  }
}
