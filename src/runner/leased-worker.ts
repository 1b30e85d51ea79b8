// Runs workers under one lease, one after the other. A changed configuration takes effect when a worker could be prepared with it;
// until then the previous worker continues.
import type { Delivery } from '../engine/engine.ts'
import { describeError } from '../lib/describe-error.ts'
import type { Log } from '../lib/log.ts'
import { VaultError } from '../lib/vault.ts'
import type { WorkerPhase, WorkerState } from '../progress/settled-state.ts'
import type { WorkerLease } from '../progress/store.ts'
import { type BackOffTimes, makeBackOff, pause, usualBackOff } from './back-off.ts'
import { classifyFailure } from './classify-failure.ts'
import type { Configuration } from './configuration.ts'
import { ConfigurationChange, type Replacement } from './configuration-change.ts'
import {
  changeOf,
  checkTransition,
  isEndingMode,
  type LeasedWorkerMode,
  replacementOf,
  type ShownChange,
} from './leased-worker-mode.ts'
import type { Worker, WorkerEnd, WorkerStatus } from './worker.ts'

/** What differs between workers; the rest is the same for all workers of a runner. */
export interface WorkerOrder {
  configuration: Configuration
  lease: WorkerLease
  workerCount: number
  report(status: WorkerStatus): void
  reportDelivery(delivery: Delivery): void
}

export interface LeasedWorkerParts {
  lease: WorkerLease
  workerCount: number
  configuration: Configuration
  makeWorker(order: WorkerOrder): Promise<Worker>
  /** The status has changed. */
  changed(): void
  log: Log
  backOff?: BackOffTimes
}

export interface LeasedWorkerStatus {
  pipeVersion: number
  state: WorkerState
  reason: string | null
  doing: string
  lag: number | null
  phase: WorkerPhase | null
  retainedBytes: number | null
  deliveredUntil: string | null
  delivery?: Delivery
}

/** `lost`: nothing may be written any more. */
export type LeasedWorkerEnd =
  | { end: 'stopped' | 'completed' | 'lost' }
  | { end: 'failed'; state: 'Failed' | 'InternalError'; reason: string }

/** After this many consecutive unexpected errors the worker fails: a retry does not fix a defect. */
const maxCrashes = 5
/** A worker that ran for this long resets the count of consecutive crashes. */
const longLifeMs = 60_000

const secretsUnreadable = 'the stored secrets cannot be opened; set the credentials again'
export const internalError = 'Penstock failed in a way that it does not know; its log has more'

const starting: WorkerStatus = { state: 'starting', doing: 'Starting' }

export class LeasedWorker {
  readonly lease: WorkerLease
  readonly workerCount: number
  readonly #parts: LeasedWorkerParts
  #mode: LeasedWorkerMode = { name: 'working' }
  /** Aborted in the modes in which the lease ends. */
  readonly #ending = new AbortController()
  #desired: Configuration
  /** Configuration of the running worker. */
  #current: Configuration
  #worker: Worker | undefined
  /** As reported by the worker. */
  #status: WorkerStatus = starting
  /** Delivery guarantee that the workers of each configuration have reported. */
  readonly #deliveries = new WeakMap<Configuration, Delivery>()

  constructor(parts: LeasedWorkerParts) {
    this.#parts = parts
    this.lease = parts.lease
    this.workerCount = parts.workerCount
    this.#desired = parts.configuration
    this.#current = parts.configuration
  }

  get isEnding(): boolean {
    return isEndingMode(this.#mode.name)
  }

  get hasCompleted(): boolean {
    return this.#mode.name === 'completed'
  }

  /** A changed configuration is not in effect yet. */
  get isChanging(): boolean {
    return !this.#isInEffect && this.#mode.shown?.state === 'modifying'
  }

  get configuration(): Configuration {
    return this.#current
  }

  get status(): LeasedWorkerStatus {
    const { state, reason, doing, lag, phase, retainedBytes, deliveredUntilMs } = this.#status
    const { shown } = this.#mode
    const delivery = this.#deliveries.get(this.#current)
    return {
      // A change that does not affect workers, such as a name, is in effect at once.
      pipeVersion: this.#isInEffect ? this.#desired.pipe.version : this.#current.pipe.version,
      state: this.hasCompleted ? 'completed' : (shown?.state ?? state),
      reason: shown ? shown.reason : state === 'degraded' ? (reason ?? null) : null,
      doing,
      lag: lag ?? null,
      phase: this.hasCompleted ? null : (phase ?? null),
      retainedBytes: retainedBytes ?? null,
      deliveredUntil: deliveredUntilMs === undefined ? null : new Date(deliveredUntilMs).toISOString(),
      ...(delivery ? { delivery } : {}),
    }
  }

  get #isInEffect(): boolean {
    return this.#desired.digest === this.#current.digest
  }

  /** Resolves when no worker runs under the lease any more. */
  async run(): Promise<LeasedWorkerEnd> {
    const end = await this.#runWorkers()
    if (end.end === 'lost') this.#end('lost')
    else if (!this.isEnding) this.#end('stopping')
    replacementOf(this.#mode)?.worker.abort()
    await changeOf(this.#mode)?.ended
    if (this.#mode.name === 'lost') return { end: 'lost' }
    if (end.end === 'completed') this.#setMode({ name: 'completed', shown: this.#mode.shown })
    return end
  }

  /** Sets the desired configuration. */
  setDesired(configuration: Configuration): void {
    const isOther = configuration.digest !== this.#desired.digest
    this.#desired = configuration
    const change = changeOf(this.#mode)
    if (!isOther) this.#parts.changed()
    else if (change) change.wake()
    else if (this.#isInEffect) this.#show(undefined)
    else if (!this.isEnding) this.#beginChange()
  }

  /** Ends at a boundary: when what was sent is durable. */
  stop({ isForChange = false } = {}): void {
    if (this.isEnding) return
    if (isForChange) this.#show({ state: 'modifying', reason: null })
    this.#end('stopping')
    this.#worker?.stop()
  }

  /** Ends at once, also in the middle of an insert. */
  abort(): void {
    if (!this.hasCompleted) this.#end('lost')
    this.#worker?.abort()
  }

  /** Configuration changes are ignored from here on. */
  #end(name: 'stopping' | 'lost'): void {
    const mode = this.#mode
    this.#setMode({ name, shown: mode.shown, change: changeOf(mode), replacement: replacementOf(mode) })
  }

  async #runWorkers(): Promise<LeasedWorkerEnd> {
    const backOff = makeBackOff(this.#parts.backOff ?? usualBackOff)
    let crashes = 0
    while (!this.isEnding) {
      const begunMs = performance.now()
      const end = await this.#runWorker()
      if (end.end === 'lost') return { end: 'lost' }
      if (end.end === 'completed' && this.#isInEffect) return { end: 'completed' }
      if (this.isEnding) break
      // The result of an outdated configuration does not count.
      if (replacementOf(this.#mode) || !this.#isInEffect) continue
      if (end.end === 'failed') return { end: 'failed', state: 'Failed', reason: end.reason }
      if (performance.now() - begunMs > longLifeMs) {
        crashes = 0
        backOff.reset()
      }
      if (++crashes === maxCrashes) return { end: 'failed', state: 'InternalError', reason: internalError }
      this.#report({ state: 'degraded', reason: internalError, doing: 'Waiting before the next attempt' })
      await pause(backOff.nextMs(), this.#ending.signal)
    }
    return { end: 'stopped' }
  }

  async #runWorker(): Promise<WorkerEnd | { end: 'crashed' }> {
    const replacement = this.#takeReplacement()
    const configuration = replacement?.configuration ?? this.#desired
    this.#current = configuration
    if (!replacement) this.#report(this.#status.state === 'degraded' ? this.#status : starting)
    try {
      this.#worker = replacement?.worker ?? (await this.#make(configuration))
      if (this.isEnding || replacementOf(this.#mode)) {
        this.#worker.abort()
        return { end: 'stopped' }
      }
      return await this.#worker.run()
    } catch (error) {
      if (error instanceof VaultError) return { end: 'failed', reason: secretsUnreadable }
      this.#warn('a worker of a pipe ended with an unexpected error', error)
      return { end: 'crashed' }
    } finally {
      this.#worker = undefined
    }
  }

  #takeReplacement(): Replacement | undefined {
    const mode = this.#mode
    const prepared = replacementOf(mode)
    if (mode.name === 'changing') this.#setMode({ ...mode, replacement: undefined })
    else this.#setMode({ name: 'working', shown: mode.shown })
    // A change that was reverted never takes effect.
    const replacement = prepared?.configuration.digest === this.#desired.digest ? prepared : undefined
    if (!replacement) prepared?.worker.abort()
    return replacement
  }

  #make(configuration: Configuration): Promise<Worker> {
    const { lease, workerCount } = this
    return this.#parts.makeWorker({
      configuration,
      lease,
      workerCount,
      // A worker that is still being prepared does not report.
      report: (status) => {
        if (configuration === this.#current && !this.isEnding) this.#onReport(status)
      },
      reportDelivery: (delivery) => {
        this.#deliveries.set(configuration, delivery)
        this.#parts.changed()
      },
    })
  }

  #onReport(status: WorkerStatus): void {
    if (status.state !== 'starting' && this.#isInEffect) this.#setMode({ ...this.#mode, shown: undefined })
    this.#report(status)
  }

  #beginChange(): void {
    const change = new ConfigurationChange({
      findPending: () => (this.#isInEffect || this.isEnding ? undefined : this.#desired),
      makeWorker: (configuration) => this.#make(configuration),
      onAttempt: () => this.#show({ state: 'modifying', reason: null }),
      onFailure: (error) =>
        this.#show({ state: 'degraded', reason: `the change is not in effect: ${this.#explain(error)}` }),
      onReady: (replacement) => this.#switchTo(replacement),
      onNotNeeded: () => this.#endChange(),
      backOff: this.#parts.backOff ?? usualBackOff,
      signal: this.#ending.signal,
    })
    const mode = this.#mode
    this.#setMode({ name: 'changing', shown: mode.shown, change, replacement: replacementOf(mode) })
    change.start()
  }

  #switchTo(replacement: Replacement): void {
    const mode = this.#mode
    replacementOf(mode)?.worker.abort()
    this.#setMode({ name: 'switching', shown: mode.shown, replacement })
    this.#worker?.stop()
  }

  /** The change was reverted, the worker that runs now has the desired configuration already, or the lease ends. */
  #endChange(): void {
    const mode = this.#mode
    const { shown } = mode
    const replacement = replacementOf(mode)
    if (mode.name === 'stopping' || mode.name === 'lost') this.#setMode({ ...mode, change: undefined })
    else this.#setMode(replacement ? { name: 'switching', shown, replacement } : { name: 'working', shown })
    if (this.#isInEffect) this.#show(undefined)
  }

  #explain(error: unknown): string {
    if (error instanceof VaultError) return secretsUnreadable
    const failure = classifyFailure(error, this.#desired.pipe)
    if (failure && 'reason' in failure) return failure.reason
    this.#warn('a changed pipe could not be prepared', error)
    return internalError
  }

  #show(shown: ShownChange | undefined): void {
    this.#setMode({ ...this.#mode, shown })
    this.#parts.changed()
  }

  #setMode(mode: LeasedWorkerMode): void {
    checkTransition(this.#mode.name, mode.name)
    this.#mode = mode
    if (this.isEnding) this.#ending.abort()
  }

  #report(status: WorkerStatus): void {
    this.#status = status
    this.#parts.changed()
  }

  #warn(message: string, error: unknown): void {
    const { organizationId, pipeId } = this.lease
    this.#parts.log.error(message, { organizationId, pipeId, error: describeError(error) })
  }
}
