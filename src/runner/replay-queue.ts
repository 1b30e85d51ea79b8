// Rows that were refused are tried again when somebody asks for it: by whoever has the first place of the pipe, beside the worker
// there, and no longer than the place is held. What is asked for meanwhile is done afterwards.
import { describeError } from '../lib/describe-error.ts'
import type { Log } from '../lib/log.ts'
import type { PipeToRun } from '../pipes/store.ts'
import type { WorkerLease } from '../progress/store.ts'
import { classifyFailure } from './classify-failure.ts'
import type { Configuration } from './configuration.ts'
import { internalTrouble } from './leased-worker.ts'
import { type HeldWorker, within } from './worker-pool.ts'
import type { RunnerDatabase } from './worker-store.ts'

export interface ReplayOrder {
  configuration: Configuration
  place: WorkerLease
  signal: AbortSignal
}

export interface ReplaysParts {
  replay(order: ReplayOrder): Promise<unknown>
  write: RunnerDatabase['write']
  log: Log
  retryAfterMs: number
  /** What is broken off and does not end by then is left to itself. */
  graceMs: number
}

interface ReplayUnderWay {
  place: WorkerLease
  ending: AbortController
  work: Promise<void>
}

export class Replays {
  readonly #parts: ReplaysParts
  readonly #underWay = new Map<string, ReplayUnderWay>()
  /** Of pipes whose replay did not succeed, by the monotonic clock. */
  readonly #notBeforeMs = new Map<string, number>()
  /** Requests that are done. Whoever looked up the pipe before that still sees them. */
  readonly #done = new Map<string, string>()
  #isClosed = false

  constructor(parts: ReplaysParts) {
    this.#parts = parts
  }

  /** Begins what is asked for, unless it is under way or was tried just now. A change that is on its way comes first. */
  consider(pipe: PipeToRun, { place: { place, configuration, isChanging }, isLeaving }: HeldWorker): void {
    const { pipeId, replayRequestedAt } = pipe
    if (place.slot !== 0 || isLeaving || isChanging || this.#isClosed) return
    if (replayRequestedAt === null) this.#done.delete(pipeId)
    if (replayRequestedAt === null || replayRequestedAt === this.#done.get(pipeId)) return
    if (this.#underWay.has(pipeId) || performance.now() < (this.#notBeforeMs.get(pipeId) ?? 0)) return
    const ending = new AbortController()
    const work = this.#replay({ configuration, place, signal: ending.signal }, replayRequestedAt)
      .catch((error: unknown) => {
        this.#parts.log.warn('rows that were refused could not be tried again', {
          pipeId,
          error: describeError(error),
        })
        this.#notBeforeMs.set(pipeId, performance.now() + this.#parts.retryAfterMs)
      })
      .finally(() => this.#underWay.delete(pipeId))
    this.#underWay.set(pipeId, { place, ending, work })
  }

  /** Resolves when nothing is under way there. It is done again by the next one who has the place. */
  async breakOff({ pipeId, slot, epoch }: WorkerLease): Promise<void> {
    const underWay = this.#underWay.get(pipeId)
    if (underWay?.place.slot === slot && underWay.place.epoch === epoch) await this.#end(underWay)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#underWay.values()].map((underWay) => this.#end(underWay)))
  }

  async #end({ ending, work }: ReplayUnderWay): Promise<void> {
    ending.abort()
    await within(work, this.#parts.graceMs)
  }

  /** Rejects with what may pass. */
  async #replay(order: ReplayOrder, requestedAt: string): Promise<void> {
    const error = await this.#findTrouble(order)
    if (order.signal.aborted) return
    const { organizationId, pipeId } = order.place
    const end = { organizationId, pipeId, requestedAt, error, now: new Date().toISOString() }
    await this.#parts.write('endReplay', end, organizationId)
    this.#notBeforeMs.delete(pipeId)
    this.#done.set(pipeId, requestedAt)
  }

  /** Why only the user can help; null when all was tried, or when it was broken off. */
  async #findTrouble(order: ReplayOrder): Promise<string | null> {
    const { configuration, place, signal } = order
    try {
      await this.#parts.replay(order)
      return null
    } catch (error) {
      if (signal.aborted) return null
      const trouble = classifyFailure(error, configuration.pipe)
      if (trouble && trouble.kind !== 'user' && trouble.kind !== 'hopeless') throw error
      if (!trouble) {
        const { pipeId } = place
        this.#parts.log.error('trying refused rows again ended with an unexpected error', {
          pipeId,
          error: describeError(error),
        })
      }
      return `the rows that were refused could not be tried again: ${trouble?.reason ?? internalTrouble}`
    }
  }
}
