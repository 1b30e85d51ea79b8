// Prepares a worker with the desired configuration, with back-off, until one is ready or none is needed. Does not run the worker.
import { type BackOffTimes, makeBackOff, pause } from './back-off.ts'
import type { Configuration } from './configuration.ts'
import type { Worker } from './worker.ts'

/** A worker that is prepared and can run. */
export interface Replacement {
  worker: Worker
  configuration: Configuration
}

export interface ConfigurationChangeParts {
  /** The desired configuration; undefined when it is in effect, or when no change takes effect any more. */
  findPending(): Configuration | undefined
  makeWorker(configuration: Configuration): Promise<Worker>
  /** Called before the first attempt with each configuration. */
  onAttempt(): void
  /** The pending configuration could not be prepared and is retried. */
  onFailure(error: unknown): void
  onReady(replacement: Replacement): void
  /** No replacement is needed any more. */
  onNotNeeded(): void
  backOff: BackOffTimes
  /** Aborts the preparation. `findPending` returns nothing from then on. */
  signal: AbortSignal
}

export class ConfigurationChange {
  readonly #parts: ConfigurationChangeParts
  #preparing: Worker | undefined
  #waking = new AbortController()
  #ended: Promise<void> | undefined

  constructor(parts: ConfigurationChangeParts) {
    this.#parts = parts
  }

  /** Resolves when a replacement is ready or not needed, and no worker is being prepared. */
  get ended(): Promise<void> {
    return Promise.resolve(this.#ended)
  }

  start(): void {
    const abort = (): void => this.#preparing?.abort()
    this.#parts.signal.addEventListener('abort', abort, { once: true })
    this.#ended = this.#run().finally(() => this.#parts.signal.removeEventListener('abort', abort))
  }

  /** Call when the desired configuration has changed: it does not wait for the back-off of another. */
  wake(): void {
    this.#waking.abort()
  }

  async #run(): Promise<void> {
    const { findPending, onAttempt, onReady, onNotNeeded, signal } = this.#parts
    const backOff = makeBackOff(this.#parts.backOff)
    let tried: Configuration | undefined
    for (let pending = findPending(); pending; pending = findPending()) {
      if (tried?.digest !== pending.digest) {
        backOff.reset()
        onAttempt()
      }
      tried = pending
      const worker = await this.#prepare(pending)
      const isStillPending = this.#isPending(pending)
      if (worker && isStillPending) return onReady({ worker, configuration: pending })
      worker?.abort()
      if (worker || !isStillPending) continue
      this.#waking = new AbortController()
      await pause(backOff.nextMs(), AbortSignal.any([this.#waking.signal, signal]))
    }
    onNotNeeded()
  }

  /** Undefined on failure. */
  async #prepare(configuration: Configuration): Promise<Worker | undefined> {
    const { makeWorker, onFailure, signal } = this.#parts
    let worker: Worker | undefined
    try {
      worker = await makeWorker(configuration)
      if (signal.aborted) return worker
      this.#preparing = worker
      await worker.prepare()
      return worker
    } catch (error) {
      worker?.abort()
      if (this.#isPending(configuration)) onFailure(error)
      return undefined
    } finally {
      this.#preparing = undefined
    }
  }

  #isPending({ digest }: Configuration): boolean {
    return this.#parts.findPending()?.digest === digest
  }
}
