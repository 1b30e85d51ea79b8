// A place that this process holds: one worker after the other works in it. A changed configuration comes into effect when a
// worker could be prepared with it; until then the one before goes on.
import type { Delivery } from '../engine/engine.ts'
import { describeError } from '../lib/describe-error.ts'
import type { Log } from '../lib/log.ts'
import { VaultError } from '../lib/vault.ts'
import type { WorkerState } from '../progress/settled-state.ts'
import type { WorkerLease } from '../progress/store.ts'
import { type BackOffTimes, makeBackOff, pause, usualBackOff } from './back-off.ts'
import { classifyFailure } from './classify-failure.ts'
import type { Configuration } from './configuration.ts'
import type { Worker, WorkerEnd, WorkerPhase, WorkerStatus } from './worker.ts'

/** What a worker is made of, beside what is the same for all. */
export interface WorkerOrder {
  configuration: Configuration
  place: WorkerLease
  slots: number
  tell(status: WorkerStatus): void
  tellDelivery(delivery: Delivery): void
}

export interface LeasedWorkerParts {
  place: WorkerLease
  slots: number
  configuration: Configuration
  makeWorker(order: WorkerOrder): Promise<Worker>
  /** There is something to tell. */
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

type Override = { state: 'modifying'; reason: null } | { state: 'degraded'; reason: string }

/** So many unexpected errors in a row, and it is a defect that will not pass. */
const maxCrashes = 5
/** A worker that has lived so long has not crashed in a row with the one before. */
const longLifeMs = 60_000

const secretsUnreadable = 'the stored secrets cannot be opened; set the credentials anew'
export const internalTrouble = 'Penstock failed in a way that it does not know; its log has more'

const starting: WorkerStatus = { state: 'starting', doing: 'Starting' }

export class LeasedWorker {
  readonly place: WorkerLease
  readonly slots: number
  readonly #parts: LeasedWorkerParts
  readonly #ending = new AbortController()
  #isAborted = false
  #hasCompleted = false
  #wanted: Configuration
  /** What the present worker works by. */
  #working: Configuration
  #worker: Worker | undefined
  #replacement: { worker: Worker; configuration: Configuration } | undefined
  #changing: Promise<void> | undefined
  /** Nobody else knows of it until it is the replacement. */
  #preparing: Worker | undefined
  #wakeChange = new AbortController()
  #status: WorkerStatus = starting
  #override: Override | undefined
  /** As the workers of these configurations have found it. */
  readonly #deliveries = new WeakMap<Configuration, Delivery>()

  constructor(parts: LeasedWorkerParts) {
    this.#parts = parts
    this.place = parts.place
    this.slots = parts.slots
    this.#wanted = parts.configuration
    this.#working = parts.configuration
  }

  get isEnding(): boolean {
    return this.#ending.signal.aborted
  }

  get hasCompleted(): boolean {
    return this.#hasCompleted
  }

  /** What it works by is about to be replaced. */
  get isChanging(): boolean {
    return !this.#isInEffect && this.#override?.state === 'modifying'
  }

  get configuration(): Configuration {
    return this.#working
  }

  get status(): LeasedWorkerStatus {
    const { state, reason, doing, lag, phase, retainedBytes, deliveredUntilMs } = this.#status
    const delivery = this.#deliveries.get(this.#working)
    return {
      // Of what it does as of what it was changed to without an effect on its work, such as a name.
      pipeVersion: this.#isInEffect ? this.#wanted.pipe.version : this.#working.pipe.version,
      state: this.#hasCompleted ? 'completed' : (this.#override?.state ?? state),
      reason: this.#override ? this.#override.reason : state === 'degraded' ? (reason ?? null) : null,
      doing,
      lag: lag ?? null,
      phase: this.#hasCompleted ? null : (phase ?? null),
      retainedBytes: retainedBytes ?? null,
      deliveredUntil: deliveredUntilMs === undefined ? null : new Date(deliveredUntilMs).toISOString(),
      ...(delivery ? { delivery } : {}),
    }
  }

  get #isInEffect(): boolean {
    return this.#wanted.digest === this.#working.digest
  }

  /** Resolves when nobody works here any more. */
  async run(): Promise<LeasedWorkerEnd> {
    const end = await this.#workOn()
    this.#endChange()
    this.#replacement?.worker.abort()
    await this.#changing
    if (this.#isAborted) return { end: 'lost' }
    if (end.end === 'completed') this.#hasCompleted = true
    return end
  }

  /** Is to work by this from now on. */
  want(configuration: Configuration): void {
    const isOther = configuration.digest !== this.#wanted.digest
    this.#wanted = configuration
    if (isOther) {
      this.#wakeChange.abort()
      this.#beginChange()
    } else this.#parts.changed()
  }

  /** Ends when what was sent is durable. */
  stop({ isForChange = false } = {}): void {
    if (this.isEnding) return
    if (isForChange) this.#setOverride({ state: 'modifying', reason: null })
    this.#endChange()
    this.#worker?.stop()
  }

  /** Ends at once, whatever is under way. */
  abort(): void {
    this.#isAborted = true
    this.#endChange()
    this.#worker?.abort()
  }

  /** From here on nothing is changed any more. */
  #endChange(): void {
    this.#ending.abort()
    this.#wakeChange.abort()
    this.#preparing?.abort()
  }

  async #workOn(): Promise<LeasedWorkerEnd> {
    const backOff = makeBackOff(this.#parts.backOff ?? usualBackOff)
    let crashes = 0
    while (!this.isEnding) {
      const begunMs = performance.now()
      const end = await this.#runWorker()
      if (end.end === 'lost') return { end: 'lost' }
      if (end.end === 'completed' && this.#isInEffect) return { end: 'completed' }
      if (this.isEnding) break
      // What the configuration before came to is of no interest.
      if (this.#replacement || !this.#isInEffect) continue
      if (end.end === 'failed') return { end: 'failed', state: 'Failed', reason: end.reason }
      if (performance.now() - begunMs > longLifeMs) {
        crashes = 0
        backOff.reset()
      }
      if (++crashes === maxCrashes) return { end: 'failed', state: 'InternalError', reason: internalTrouble }
      this.#tell({ state: 'degraded', reason: internalTrouble, doing: 'Waiting before the next attempt' })
      await pause(backOff.nextMs(), this.#ending.signal)
    }
    return { end: 'stopped' }
  }

  async #runWorker(): Promise<WorkerEnd | { end: 'crashed' }> {
    const prepared = this.#replacement
    this.#replacement = undefined
    // A change that was taken back meanwhile never comes into effect.
    const replacement = prepared?.configuration.digest === this.#wanted.digest ? prepared : undefined
    if (!replacement) prepared?.worker.abort()
    const configuration = replacement?.configuration ?? this.#wanted
    this.#working = configuration
    if (!replacement) this.#tell(this.#status.state === 'degraded' ? this.#status : starting)
    try {
      this.#worker = replacement?.worker ?? (await this.#make(configuration))
      if (this.isEnding || this.#replacement) {
        this.#worker.abort()
        return { end: 'stopped' }
      }
      if (!this.#isInEffect) this.#beginChange()
      return await this.#worker.run()
    } catch (error) {
      if (error instanceof VaultError) return { end: 'failed', reason: secretsUnreadable }
      this.#warn('a worker of a pipe ended with an unexpected error', error)
      return { end: 'crashed' }
    } finally {
      this.#worker = undefined
    }
  }

  #make(configuration: Configuration): Promise<Worker> {
    const { place, slots } = this
    return this.#parts.makeWorker({
      configuration,
      place,
      slots,
      // One that is still being prepared has nothing to say.
      tell: (status) => {
        if (configuration === this.#working && !this.isEnding) this.#heard(status)
      },
      tellDelivery: (delivery) => {
        this.#deliveries.set(configuration, delivery)
        this.#parts.changed()
      },
    })
  }

  #heard(status: WorkerStatus): void {
    if (status.state !== 'starting' && this.#isInEffect) this.#override = undefined
    this.#tell(status)
  }

  #beginChange(): void {
    this.#changing ??= this.#change().finally(() => {
      this.#changing = undefined
      if (!this.#isInEffect && !this.#replacement && !this.isEnding) this.#beginChange()
    })
  }

  async #change(): Promise<void> {
    const backOff = makeBackOff(this.#parts.backOff ?? usualBackOff)
    let tried: Configuration | undefined
    while (!this.#isInEffect && !this.isEnding) {
      const wanted = this.#wanted
      if (tried?.digest !== wanted.digest) {
        backOff.reset()
        this.#setOverride({ state: 'modifying', reason: null })
      }
      tried = wanted
      const worker = await this.#prepare(wanted)
      const isWanted = wanted.digest === this.#wanted.digest && !this.#isInEffect && !this.isEnding
      if (worker && isWanted) {
        this.#replacement?.worker.abort()
        this.#replacement = { worker, configuration: wanted }
        this.#worker?.stop()
        return
      }
      worker?.abort()
      if (worker || !isWanted) continue
      this.#wakeChange = new AbortController()
      await pause(backOff.nextMs(), this.#wakeChange.signal)
    }
    if (this.#isInEffect) this.#setOverride(undefined)
  }

  /** Undefined when it cannot be done; why is told. */
  async #prepare(configuration: Configuration): Promise<Worker | undefined> {
    let worker: Worker | undefined
    try {
      worker = await this.#make(configuration)
      if (this.isEnding) return worker
      this.#preparing = worker
      await worker.prepare()
      return worker
    } catch (error) {
      worker?.abort()
      if (this.isEnding) return undefined
      if (configuration.digest === this.#wanted.digest && !this.#isInEffect) {
        this.#setOverride({ state: 'degraded', reason: `the change is not in effect: ${this.#explain(error)}` })
      }
      return undefined
    } finally {
      this.#preparing = undefined
    }
  }

  #explain(error: unknown): string {
    if (error instanceof VaultError) return secretsUnreadable
    const trouble = classifyFailure(error, this.#wanted.pipe)
    if (trouble && 'reason' in trouble) return trouble.reason
    this.#warn('a changed pipe could not be prepared', error)
    return internalTrouble
  }

  #setOverride(override: Override | undefined): void {
    this.#override = override
    this.#parts.changed()
  }

  #tell(status: WorkerStatus): void {
    this.#status = status
    this.#parts.changed()
  }

  #warn(message: string, error: unknown): void {
    const { organizationId, pipeId } = this.place
    this.#parts.log.error(message, { organizationId, pipeId, error: describeError(error) })
  }
}
