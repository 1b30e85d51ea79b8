// Workers that this runner holds leases for, and their state in the database. State changes are written immediately and in order.
// The end of a worker is written before the worker is removed from the pool, unless its lease was lost.
import { setTimeout as sleep } from 'node:timers/promises'
import { describeError } from '../lib/describe-error.ts'
import type { Log } from '../lib/log.ts'
import type { WorkerLease } from '../progress/store.ts'
import { LeasedWorker, type LeasedWorkerEnd, type LeasedWorkerParts, type LeasedWorkerStatus } from './leased-worker.ts'
import type { RunnerDatabase } from './worker-store.ts'

type Activity = Pick<LeasedWorkerStatus, 'doing' | 'lag' | 'retainedBytes' | 'deliveredUntil'>

export interface HeldWorker {
  worker: LeasedWorker
  /** Versions of the pipe and the service whose configuration was read last. */
  version: number
  serviceVersion: number
  ended: Promise<void>
  /** Status in the database. */
  reported: LeasedWorkerStatus | undefined
  reporting: Promise<void> | undefined
  savedActivity: Activity | undefined
  /** No replay is started any more. */
  isLeaving: boolean
}

export interface WorkerPoolParts {
  write: RunnerDatabase['write']
  log: Log
  retryEveryMs: number
  /** How often the activity of workers is saved. */
  activityEveryMs: number
  /** Ends the replay that runs under the lease; resolves when it has ended. */
  stopReplays(lease: WorkerLease): Promise<void>
  /** Called when a worker has ended: its lease may be free. */
  onEnd(): void
}

const keyOf = ({ pipeId, workerIndex }: { pipeId: string; workerIndex: number }): string => `${pipeId}/${workerIndex}`

export class WorkerPool {
  readonly #parts: WorkerPoolParts
  readonly #held = new Map<string, HeldWorker>()
  /** Pipes with a claim in progress: the database may contain leases that are not here yet. */
  readonly claiming = new Set<string>()
  #isClosing = false
  #isInTrouble = false
  #activitySavedMs = -Infinity
  #isSavingActivity = false

  constructor(parts: WorkerPoolParts) {
    this.#parts = parts
  }

  get all(): HeldWorker[] {
    return [...this.#held.values()]
  }

  has(held: HeldWorker): boolean {
    return this.#held.get(keyOf(held.worker.lease)) === held
  }

  find(lease: { pipeId: string; workerIndex: number }): HeldWorker | undefined {
    return this.#held.get(keyOf(lease))
  }

  /** Starts a worker under a claimed lease. */
  begin(
    parts: Omit<LeasedWorkerParts, 'changed' | 'log'>,
    versions: { version: number; serviceVersion: number },
  ): void {
    const worker = new LeasedWorker({ ...parts, log: this.#parts.log, changed: () => this.report(held) })
    const { version, serviceVersion } = versions
    const held: HeldWorker = {
      worker,
      version,
      serviceVersion,
      ended: Promise.resolve(),
      reported: undefined,
      reporting: undefined,
      savedActivity: undefined,
      isLeaving: false,
    }
    const before = this.find(worker.lease)
    if (before) this.lose(before)
    this.#held.set(keyOf(worker.lease), held)
    held.ended = worker
      .run()
      .then((end) => this.#leave(held, end))
      .catch((error: unknown) => this.#warn('a lease of a pipe could not be released', error, worker.lease))
      .finally(() => this.#parts.onEnd())
  }

  /** Ends the worker at a boundary. A completed worker does not run any more, so only its lease is released. */
  end(held: HeldWorker, options: { isForChange?: boolean } = {}): void {
    if (held.worker.hasCompleted) {
      if (!held.isLeaving) void this.#giveBack(held)
      return
    }
    void this.#stopReplays(held)
    held.worker.stop(options)
  }

  /** Ends all workers, at a boundary if they reach one in time. Resolves when leases are released, or after `graceMs`. */
  async close({ stopMs, graceMs }: { stopMs: number; graceMs: number }): Promise<void> {
    this.#isClosing = true
    const all = this.all
    for (const { worker } of all) worker.stop()
    const ended = Promise.all(all.map((held) => held.ended.then(() => held.reporting)))
    if (await within(ended, stopMs)) return
    for (const { worker } of all) worker.abort()
    await within(ended, graceMs)
  }

  /** The lease is lost, or may be soon: aborts the worker and writes nothing more for it. */
  lose(held: HeldWorker): void {
    void this.#stopReplays(held)
    held.worker.abort()
    this.#forget(held)
  }

  /** A failed release is repeated after the next renewal, which finds a lease without a worker. */
  async release(lease: WorkerLease): Promise<void> {
    const { organizationId, pipeId, workerIndex, epoch } = lease
    const release = { organizationId, pipeId, leases: [{ workerIndex, epoch }], now: new Date().toISOString() }
    await this.attempt(() => this.#parts.write('releaseWorkers', release, organizationId), lease)
  }

  report(held: HeldWorker): void {
    if (held.reporting || !hasNewState(held)) return
    held.reporting = this.attempt(() => this.#reportAll(held), held.worker.lease).then(() => {
      held.reporting = undefined
    })
  }

  /** Saves the activity of workers when it is due. A failure for one is retried and does not affect the others. */
  async saveActivity(): Promise<void> {
    const nowMs = performance.now()
    if (this.#isSavingActivity || nowMs - this.#activitySavedMs < this.#parts.activityEveryMs) return
    this.#isSavingActivity = true
    this.#activitySavedMs = nowMs
    await Promise.all(this.all.filter(hasNewActivity).map((held) => this.#saveActivityOf(held)))
    this.#isSavingActivity = false
  }

  async #saveActivityOf(held: HeldWorker): Promise<void> {
    const { organizationId, pipeId, workerIndex, epoch } = held.worker.lease
    const { doing, lag, retainedBytes, deliveredUntil } = held.worker.status
    const activity = { pipeId, slot: workerIndex, epoch, doing, lag, retainedBytes, deliveredUntil }
    const save = () => this.#parts.write('keepDoing', activity, organizationId)
    if (await this.attempt(save, held.worker.lease)) held.savedActivity = { doing, lag, retainedBytes, deliveredUntil }
  }

  /** Logs a failure instead of throwing it: one pipe must not block the others. */
  async attempt(work: () => Promise<unknown>, pipe: { pipeId: string }): Promise<boolean> {
    try {
      await work()
      this.#isInTrouble = false
      return true
    } catch (error) {
      // Logged once, not every second.
      if (!this.#isInTrouble) this.#warn('a write for a pipe failed', error, pipe)
      this.#isInTrouble = true
      return false
    }
  }

  async #reportAll(held: HeldWorker): Promise<void> {
    const { lease } = held.worker
    while (this.has(held) && hasNewState(held)) {
      const status = held.worker.status
      const { delivery, ...rest } = status
      const report = {
        lease,
        ...rest,
        ...(delivery ? { delivery: { delivery: delivery.delivery, reason: reasonOf(delivery) } } : {}),
        now: new Date().toISOString(),
      }
      if (!(await this.#parts.write('reportWorker', report, lease.organizationId))) return this.lose(held)
      held.reported = status
      held.savedActivity = status
    }
  }

  async #giveBack(held: HeldWorker): Promise<void> {
    await this.#stopReplays(held)
    await this.release(held.worker.lease)
    this.#forget(held)
  }

  #stopReplays(held: HeldWorker): Promise<void> {
    held.isLeaving = true
    return this.#parts.stopReplays(held.worker.lease)
  }

  async #leave(held: HeldWorker, end: LeasedWorkerEnd): Promise<void> {
    if (end.end === 'completed') {
      held.isLeaving = false
      return this.report(held)
    }
    await this.#stopReplays(held)
    if (end.end === 'failed') await this.#fail(held, end)
    else if (end.end === 'stopped' || this.#isClosing) await this.release(held.worker.lease)
    this.#forget(held)
  }

  /** Retries until the failure is written or the lease is lost. */
  async #fail(held: HeldWorker, { state, reason }: Extract<LeasedWorkerEnd, { end: 'failed' }>): Promise<void> {
    const { organizationId, pipeId, workerIndex, epoch } = held.worker.lease
    while (this.has(held)) {
      const now = new Date().toISOString()
      const failure = { organizationId, pipeId, lease: { workerIndex, epoch }, state, reason, now }
      const fail = () => this.#parts.write('failPipe', failure, organizationId)
      if ((await this.attempt(fail, held.worker.lease)) || this.#isClosing) return
      await sleep(this.#parts.retryEveryMs, undefined, { ref: false })
    }
  }

  #warn(message: string, error: unknown, { pipeId }: { pipeId: string }): void {
    this.#parts.log.warn(message, { pipeId, error: describeError(error) })
  }

  #forget(held: HeldWorker): void {
    if (this.has(held)) this.#held.delete(keyOf(held.worker.lease))
  }
}

function hasNewState({ worker, reported }: HeldWorker): boolean {
  const { state, reason, phase, pipeVersion, delivery } = worker.status
  if (!reported) return state !== 'starting' || phase !== null || delivery !== undefined
  return (
    reported.state !== state ||
    reported.reason !== reason ||
    reported.phase !== phase ||
    reported.pipeVersion !== pipeVersion ||
    reported.delivery?.delivery !== delivery?.delivery ||
    reasonOf(reported.delivery) !== reasonOf(delivery)
  )
}

function reasonOf(delivery: LeasedWorkerStatus['delivery']): string | null {
  return delivery && 'reason' in delivery ? delivery.reason : null
}

function hasNewActivity({ worker, savedActivity: saved }: HeldWorker): boolean {
  const { doing, lag, retainedBytes, deliveredUntil } = worker.status
  if (saved?.doing !== doing || saved.lag !== lag || saved.retainedBytes !== retainedBytes) return true
  if (deliveredUntil === null || saved.deliveredUntil === null) return saved.deliveredUntil !== deliveredUntil
  // It advances all the time; a pipe that waits for records is not written every second.
  return Date.parse(deliveredUntil) - Date.parse(saved.deliveredUntil) >= deliveredEveryMs
}

/** Longest delay of `freshnessSeconds`. */
const deliveredEveryMs = 5_000

/** Whether the work ended in time. */
export async function within(work: Promise<unknown>, limitMs: number): Promise<boolean> {
  const limit = new AbortController()
  const late = sleep(limitMs, false, { signal: limit.signal }).catch(() => false)
  try {
    return await Promise.race([work.then(() => true), late])
  } finally {
    limit.abort()
  }
}
