// The leases of a runner: all are renewed by one write, long before they are over. A runner that could not renew them for a
// while, by the clock that nobody sets, leaves its places before another may take them.
import type { WorkerPlace } from '../progress/store.ts'
import type { HeldPlace, Places } from './places.ts'
import type { RunnerDatabase } from './worker-store.ts'

export interface LeaseTimes {
  leaseMs: number
  renewEveryMs: number
  /** So long without a renewal, and the places are left. Less than a lease. */
  giveUpMs: number
  /** How often what workers do is kept. */
  doingEveryMs: number
}

export interface LeasesParts {
  runnerId: string
  database: RunnerDatabase
  places: Places
  /** No other process can be on the database. */
  isAlone: boolean
  times: LeaseTimes
}

export class Leases {
  readonly #parts: LeasesParts
  readonly #startedAt = new Date().toISOString()
  /** When the last renewal that succeeded was begun. */
  #renewedMs = performance.now()
  #hasReported = false
  #renewing: Promise<void> | undefined

  constructor(parts: LeasesParts) {
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

  /** When it is due: renews, keeps what workers do, and leaves the places that are another's. */
  renew(): Promise<void> {
    this.#renewing ??= this.#renewWhenDue().finally(() => {
      this.#renewing = undefined
    })
    return this.#renewing
  }

  async #renewWhenDue(): Promise<void> {
    const { runnerId, database, places, isAlone, times } = this.#parts
    const begunMs = performance.now()
    const sinceMs = begunMs - this.#renewedMs
    const all = places.all
    const changed = all.filter(hasOtherDoing)
    const isDue = sinceMs >= times.renewEveryMs || (changed.length > 0 && sinceMs >= times.doingEveryMs)
    if (this.#hasReported && !isDue) return
    if (!this.#hasReported && isAlone) await database.write('endOtherRunners', runnerId, 'runner')
    const doings = changed.map(({ place }) => {
      const { pipeId, slot, epoch } = place.place
      const { doing, lag } = place.status
      return { pipeId, slot, epoch, doing, lag }
    })
    const report = { runnerId, startedAt: this.#startedAt, ...this.expiry(), doings }
    const inDatabase = await database.write('reportRunner', report, 'runner')
    this.#hasReported = true
    this.#renewedMs = begunMs
    for (const [index, held] of changed.entries()) {
      if (held.told) held.told = { ...held.told, doing: doings[index]!.doing, lag: doings[index]!.lag }
    }
    await this.#compare(all, inDatabase)
  }

  /** Gives up the name of this runner; its places have been left. */
  async end(): Promise<void> {
    // A report that is still on its way would make others count on this one.
    await this.#renewing?.catch(() => undefined)
    if (this.#hasReported) await this.#parts.database.write('endRunner', this.#parts.runnerId, 'runner')
  }

  async #compare(known: HeldPlace[], inDatabase: WorkerPlace[]): Promise<void> {
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

function hasOtherDoing({ place, told }: HeldPlace): boolean {
  const { doing, lag } = place.status
  return !told || told.doing !== doing || told.lag !== lag
}
