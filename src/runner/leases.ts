// Renews all leases of a runner by one write, long before they expire. The write contains nothing that a pipe can cause to fail.
// A runner that could not renew for some time, by the monotonic clock, gives its workers up before other runners may claim them.
import type { WorkerLease } from '../progress/store.ts'
import type { RunnerDatabase } from './worker-store.ts'

export interface LeaseTimes {
  leaseMs: number
  renewEveryMs: number
  /** Without a renewal for this long, the workers are given up. Less than `leaseMs`. */
  giveUpMs: number
}

interface Leased {
  worker: { lease: WorkerLease }
}

/** The workers of a runner, as far as renewal is concerned. */
export interface LeasedWorkers<Held extends Leased> {
  readonly all: Held[]
  readonly claiming: ReadonlySet<string>
  has(held: Held): boolean
  find(lease: WorkerLease): Held | undefined
  lose(held: Held): void
  release(lease: WorkerLease): Promise<void>
}

export interface LeasesParts<Held extends Leased> {
  runnerId: string
  database: Pick<RunnerDatabase, 'write'>
  workers: LeasedWorkers<Held>
  /** No other process uses the database. */
  isAlone: boolean
  times: LeaseTimes
}

export class Leases<Held extends Leased> {
  readonly #parts: LeasesParts<Held>
  readonly #startedAt = new Date().toISOString()
  /** Start time of the last successful renewal. */
  #renewedMs = performance.now()
  #hasReported = false
  #renewing: Promise<void> | undefined

  constructor(parts: LeasesParts<Held>) {
    this.#parts = parts
  }

  get areOverdue(): boolean {
    return performance.now() - this.#renewedMs > this.#parts.times.giveUpMs
  }

  /** Other runners can see this one in the database. */
  get areKnown(): boolean {
    return this.#hasReported
  }

  /** Timestamps for a claim. */
  expiry(): { now: string; expiresAt: string } {
    const nowMs = Date.now()
    const expiresAt = new Date(nowMs + this.#parts.times.leaseMs).toISOString()
    return { now: new Date(nowMs).toISOString(), expiresAt }
  }

  /** Renews when it is due, and gives up workers that another runner has claimed. */
  renew(): Promise<void> {
    this.#renewing ??= this.#renewWhenDue().finally(() => {
      this.#renewing = undefined
    })
    return this.#renewing
  }

  async #renewWhenDue(): Promise<void> {
    const { runnerId, database, workers, isAlone, times } = this.#parts
    const begunMs = performance.now()
    if (this.#hasReported && begunMs - this.#renewedMs < times.renewEveryMs) return
    const all = workers.all
    if (!this.#hasReported && isAlone) await database.write('endOtherRunners', runnerId, 'runner')
    const report = { runnerId, startedAt: this.#startedAt, ...this.expiry() }
    const inDatabase = await database.write('reportRunner', report, 'runner')
    this.#hasReported = true
    this.#renewedMs = begunMs
    await this.#compare(all, inDatabase)
  }

  /** Removes this runner from the database. Call after its workers have ended. */
  async end(): Promise<void> {
    // A renewal that arrives later would list this runner again.
    await this.#renewing?.catch(() => undefined)
    if (this.#hasReported) await this.#parts.database.write('endRunner', this.#parts.runnerId, 'runner')
  }

  async #compare(known: Held[], inDatabase: WorkerLease[]): Promise<void> {
    const { workers } = this.#parts
    const epochs = new Map(inDatabase.map(({ pipeId, workerIndex, epoch }) => [`${pipeId}/${workerIndex}`, epoch]))
    for (const held of known) {
      const { pipeId, workerIndex, epoch } = held.worker.lease
      if (workers.has(held) && epochs.get(`${pipeId}/${workerIndex}`) !== epoch) workers.lose(held)
    }
    // Claimed, but the answer was lost: no worker runs, and every renewal would keep other runners from claiming.
    const unknown = inDatabase.filter(
      (lease) => !workers.claiming.has(lease.pipeId) && workers.find(lease)?.worker.lease.epoch !== lease.epoch,
    )
    for (const lease of unknown) await workers.release(lease)
  }
}
