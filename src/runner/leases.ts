// The leases of a runner: all are renewed by one write, long before they are over; nothing that a pipe may bring is in it. A runner that could not renew them for a
// while, by the clock that nobody sets, leaves its places before another may take them.
import type { WorkerLease } from '../progress/store.ts'
import type { RunnerDatabase } from './worker-store.ts'

export interface LeaseTimes {
  leaseMs: number
  renewEveryMs: number
  /** So long without a renewal, and the places are left. Less than a lease. */
  giveUpMs: number
}

interface Leased {
  place: { place: WorkerLease }
}

/** What a renewal has to know of the places of a runner, and does to them. */
export interface LeasedWorkers<Held extends Leased> {
  readonly all: Held[]
  readonly claiming: ReadonlySet<string>
  has(held: Held): boolean
  find(place: WorkerLease): Held | undefined
  lose(held: Held): void
  release(place: WorkerLease): Promise<void>
}

export interface LeasesParts<Held extends Leased> {
  runnerId: string
  database: Pick<RunnerDatabase, 'write'>
  places: LeasedWorkers<Held>
  /** No other process can be on the database. */
  isAlone: boolean
  times: LeaseTimes
}

export class Leases<Held extends Leased> {
  readonly #parts: LeasesParts<Held>
  readonly #startedAt = new Date().toISOString()
  /** When the last renewal that succeeded was begun. */
  #renewedMs = performance.now()
  #hasReported = false
  #renewing: Promise<void> | undefined

  constructor(parts: LeasesParts<Held>) {
    this.#parts = parts
  }

  get areOverdue(): boolean {
    return performance.now() - this.#renewedMs > this.#parts.times.giveUpMs
  }

  /** Others know of this runner. */
  get areKnown(): boolean {
    return this.#hasReported
  }

  /** For what is claimed now. */
  expiry(): { now: string; expiresAt: string } {
    const nowMs = Date.now()
    const expiresAt = new Date(nowMs + this.#parts.times.leaseMs).toISOString()
    return { now: new Date(nowMs).toISOString(), expiresAt }
  }

  /** When it is due: renews, and leaves the places that are another's. */
  renew(): Promise<void> {
    this.#renewing ??= this.#renewWhenDue().finally(() => {
      this.#renewing = undefined
    })
    return this.#renewing
  }

  async #renewWhenDue(): Promise<void> {
    const { runnerId, database, places, isAlone, times } = this.#parts
    const begunMs = performance.now()
    if (this.#hasReported && begunMs - this.#renewedMs < times.renewEveryMs) return
    const all = places.all
    if (!this.#hasReported && isAlone) await database.write('endOtherRunners', runnerId, 'runner')
    const report = { runnerId, startedAt: this.#startedAt, ...this.expiry() }
    const inDatabase = await database.write('reportRunner', report, 'runner')
    this.#hasReported = true
    this.#renewedMs = begunMs
    await this.#compare(all, inDatabase)
  }

  /** Gives up the name of this runner; its places have been left. */
  async end(): Promise<void> {
    // A report that is still on its way would make others count on this one.
    await this.#renewing?.catch(() => undefined)
    if (this.#hasReported) await this.#parts.database.write('endRunner', this.#parts.runnerId, 'runner')
  }

  async #compare(known: Held[], inDatabase: WorkerLease[]): Promise<void> {
    const { places } = this.#parts
    const epochs = new Map(inDatabase.map(({ pipeId, slot, epoch }) => [`${pipeId}/${slot}`, epoch]))
    for (const held of known) {
      const { pipeId, slot, epoch } = held.place.place
      if (places.has(held) && epochs.get(`${pipeId}/${slot}`) !== epoch) places.lose(held)
    }
    // Claimed, but the answer was lost: nobody works there, and every renewal would keep others away.
    const unknown = inDatabase.filter(
      (place) => !places.claiming.has(place.pipeId) && places.find(place)?.place.place.epoch !== place.epoch,
    )
    for (const place of unknown) await places.release(place)
  }
}
