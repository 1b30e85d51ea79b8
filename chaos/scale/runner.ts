// One runner of the simulation: the real leases and the real plan, over places in which nobody works. What takes time in a real one is
// given to it by its fleet, batch by batch.

import type { WorkerLease } from '../../src/progress/store.ts'
import { type LeasedWorkers, Leases } from '../../src/runner/leases.ts'
import { nextLookMs } from '../../src/runner/pace.ts'
import { type ObservedWorker, planFrom, type Survey } from '../../src/runner/plan.ts'
import type { Random } from '../random.ts'
import type { SimulatedDatabase } from './database.ts'

export const leaseMs = 15_000
const leaseTimes = { leaseMs, renewEveryMs: 5_000, giveUpMs: 12_000 }
const lookEveryMs = 1_000
/** As in the runner. */
const claimsAtOnce = 16

export interface Habits {
  /** All begin with the same pipe and go on to the end of their plan, as runners did once. */
  claimsInOrder: boolean
  /** All look every second, however much there is. */
  looksEverySecond: boolean
}

export interface Tally {
  claims: number
  /** Another one was faster. */
  refused: number
  givenBack: number
}

export interface RunnerParts {
  database: SimulatedDatabase
  random: Random
  habits: Habits
  /** Of the whole fleet. */
  tally: Tally
  startsMs: number
}

interface HeldHere {
  place: { place: WorkerLease }
  seen: ObservedWorker
}

export class SimulatedRunner {
  readonly id: string
  readonly #tally: Tally
  readonly #database: SimulatedDatabase
  readonly #random: Random
  readonly #habits: Habits
  readonly #held = new Map<string, HeldHere>()
  readonly #leases: Leases<HeldHere>
  #toClaim: { pipeId: string; organizationId: string; limit: number }[] = []
  #nextTickMs: number
  #nextLookMs = 0
  #claimsUntilMs = 0

  constructor(id: string, parts: RunnerParts) {
    this.id = id
    this.#database = parts.database
    this.#random = parts.random
    this.#habits = parts.habits
    this.#tally = parts.tally
    this.#nextTickMs = parts.startsMs
    const held = this.#held
    const places: LeasedWorkers<HeldHere> = {
      get all() {
        return [...held.values()]
      },
      claiming: new Set(),
      has: (one) => held.get(one.place.place.pipeId) === one,
      find: ({ pipeId }) => held.get(pipeId),
      lose: (one) => held.delete(one.place.place.pipeId),
      release: (place) => this.#release(place),
    }
    const { database } = parts
    this.#leases = new Leases({ runnerId: id, database, places, isAlone: false, times: leaseTimes })
  }

  get workers(): number {
    return this.#held.size
  }

  get isClaiming(): boolean {
    return this.#toClaim.length > 0
  }

  async tick(nowMs: number, look: () => Promise<{ survey: Survey; runners: string[] }>): Promise<void> {
    if (nowMs < this.#nextTickMs) return
    this.#nextTickMs += lookEveryMs
    await this.#leases.renew()
    if (nowMs < (this.isClaiming ? this.#claimsUntilMs : this.#nextLookMs)) return
    const { survey, runners } = await look()
    this.#database.countLook(runners.length)
    const { rows } = this.#database
    const random = this.#random.below(1000) / 1000
    const pace = nextLookMs({ rows, runners: runners.length, everyMs: lookEveryMs, random })
    const { looksEverySecond, claimsInOrder } = this.#habits
    this.#nextLookMs = nowMs + (looksEverySecond ? 0 : pace - lookEveryMs / 2)
    this.#claimsUntilMs = claimsInOrder ? Number.POSITIVE_INFINITY : nowMs + pace
    const claimFrom = claimsInOrder ? 0 : this.#random.below(1_000_000) / 1_000_000
    const places = [...this.#held.values()].map(({ seen }) => seen)
    const plan = planFrom(survey, { runners, places, claimFrom })
    for (const { pipeId } of plan.giveBack) {
      const held = this.#held.get(pipeId)
      if (!held) continue
      this.#held.delete(pipeId)
      this.#tally.givenBack++
      await this.#release(held.place.place)
    }
    this.#toClaim = plan.claim.map(({ pipe: { pipeId, organizationId }, limit }) => ({ pipeId, organizationId, limit }))
  }

  /** As many as a runner sends together. */
  async claimSome(): Promise<void> {
    const some = this.#toClaim.splice(0, claimsAtOnce)
    for (const { pipeId, organizationId, limit } of some) {
      const { now, expiresAt } = this.#leases.expiry()
      const claim = { organizationId, pipeId, runnerId: this.id, now, expiresAt, limit }
      const { slots, epoch, claimed } = await this.#database.write('claimWorkers', claim, organizationId)
      this.#tally.claims++
      if (claimed.length === 0) this.#tally.refused++
      for (const slot of claimed) await this.#begin({ organizationId, pipeId, slot, epoch }, slots, now)
    }
  }

  async #begin(place: WorkerLease, slots: number, now: string): Promise<void> {
    const { pipeId, slot } = place
    this.#held.set(pipeId, { place: { place }, seen: { pipeId, slot, slots, isEnding: false, hasCompleted: false } })
    const told = {
      state: 'running',
      reason: null,
      doing: '',
      lag: null,
      phase: null,
      retainedBytes: null,
      deliveredUntil: null,
    } as const
    await this.#database.write('tellWorker', { place, pipeVersion: 1, ...told, now }, place.organizationId)
  }

  async #release({ organizationId, pipeId, slot, epoch }: WorkerLease): Promise<void> {
    const now = new Date(Date.now()).toISOString()
    await this.#database.write(
      'releaseWorkers',
      { organizationId, pipeId, places: [{ slot, epoch }], now },
      organizationId,
    )
  }
}
