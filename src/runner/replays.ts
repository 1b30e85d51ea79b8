// Rows that were refused are tried again when somebody asks for it: by whoever has the first place of the pipe, beside the worker
// there. What is asked for meanwhile is done afterwards.
import { describeError, type Log } from '../lib/log.ts'
import type { PipeToRun } from '../pipes/store.ts'
import type { WorkerPlace } from '../progress/store.ts'
import type { Configuration } from './configuration.ts'
import { judge } from './judge.ts'
import type { HeldPlace } from './places.ts'
import type { RunnerDatabase } from './worker-store.ts'

export interface ReplayOrder {
  configuration: Configuration
  place: WorkerPlace
  signal: AbortSignal
}

export interface ReplaysParts {
  replay(order: ReplayOrder): Promise<unknown>
  write: RunnerDatabase['write']
  log: Log
  retryAfterMs: number
}

const internalTrouble = 'Penstock failed in a way that it does not know; its log has more'

export class Replays {
  readonly #parts: ReplaysParts
  readonly #closing = new AbortController()
  readonly #underWay = new Map<string, Promise<void>>()
  /** Of pipes whose replay did not succeed, by the monotonic clock. */
  readonly #notBeforeMs = new Map<string, number>()

  constructor(parts: ReplaysParts) {
    this.#parts = parts
  }

  /** Begins what is asked for, unless it is under way or was tried just now. */
  consider(pipe: PipeToRun, { place }: HeldPlace): void {
    const { pipeId, replayRequestedAt } = pipe
    if (replayRequestedAt === null || place.place.slot !== 0 || this.#closing.signal.aborted) return
    if (this.#underWay.has(pipeId) || performance.now() < (this.#notBeforeMs.get(pipeId) ?? 0)) return
    const work = this.#replay(place.configuration, place.place, replayRequestedAt)
      .catch((error: unknown) => {
        this.#parts.log.warn('rows that were refused could not be tried again', {
          pipeId,
          error: describeError(error),
        })
        this.#notBeforeMs.set(pipeId, performance.now() + this.#parts.retryAfterMs)
      })
      .finally(() => this.#underWay.delete(pipeId))
    this.#underWay.set(pipeId, work)
  }

  /** What is broken off is done again by the next one who has the place. */
  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.all(this.#underWay.values())
  }

  /** Rejects with what may pass. */
  async #replay(configuration: Configuration, place: WorkerPlace, requestedAt: string): Promise<void> {
    const error = await this.#findTrouble(configuration, place)
    const { organizationId, pipeId } = place
    if (this.#closing.signal.aborted) return
    const end = { organizationId, pipeId, requestedAt, error, now: new Date().toISOString() }
    await this.#parts.write('endReplay', end, organizationId)
    this.#notBeforeMs.delete(pipeId)
  }

  /** Why only the user can help; null when all was tried. */
  async #findTrouble(configuration: Configuration, place: WorkerPlace): Promise<string | null> {
    try {
      await this.#parts.replay({ configuration, place, signal: this.#closing.signal })
      return null
    } catch (error) {
      const trouble = judge(error, configuration.pipe)
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
