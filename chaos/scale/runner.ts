// One runner of the simulation: the real leases and the real plan, but workers that do nothing. The fleet decides how many claims
// fit into a step.

import type { WorkerLease } from '../../src/progress/store.ts'
import { type LeasedWorkers, Leases } from '../../src/runner/leases.ts'
import { nextLookMs } from '../../src/runner/pace.ts'
import { type ObservedWorker, planFrom, type Survey } from '../../src/runner/plan.ts'
import type { Random } from '../random.ts'
import type { SimulatedDatabase } from './database.ts'

export const leaseMs = 15_000
const leaseTimes = { leaseMs, renewEveryMs: 5_000, giveUpMs: 12_000 }
const lookEveryMs = 1_000
/** As in src/runner. */
const claimsAtOnce = 16

export interface ClaimBehavior {
  /** Claims always begin with the first pipe and continue to the end of the plan, as in earlier versions. */
  claimsInOrder: boolean
  /** Surveys every second, whatever the number of rows. */
  looksEverySecond: boolean
}

export interface ClaimCounts {
  claims: number
  /** Claims that another runner won. */
  refused: number
  givenBack: number
}

export interface RunnerParts {
  database: SimulatedDatabase
  random: Random
  behavior: ClaimBehavior
  /** Counts of the whole fleet. */
  claimCounts: ClaimCounts
  startsMs: number
}

interface HeldHere {
  worker: { lease: WorkerLease }
  seen: ObservedWorker
}

export class SimulatedRunner {
  readonly id: string
  readonly #claimCounts: ClaimCounts
  readonly #database: SimulatedDatabase
  readonly #random: Random
  readonly #behavior: ClaimBehavior
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
    this.#behavior = parts.behavior
    this.#claimCounts = parts.claimCounts
    this.#nextTickMs = parts.startsMs
    const held = this.#held
    const places: LeasedWorkers<HeldHere> = {
      get all() {
        return [...held.values()]
      },
      claiming: new Set(),
      has: (one) => held.get(one.worker.lease.pipeId) === one,
      find: ({ pipeId }) => held.get(pipeId),
      lose: (one) => held.delete(one.worker.lease.pipeId),
      release: (lease) => this.#release(lease),
    }
    const { database } = parts
    this.#leases = new Leases({ runnerId: id, database, workers: places, isAlone: false, times: leaseTimes })
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
    const { looksEverySecond, claimsInOrder } = this.#behavior
    this.#nextLookMs = nowMs + (looksEverySecond ? 0 : pace - lookEveryMs / 2)
    this.#claimsUntilMs = claimsInOrder ? Number.POSITIVE_INFINITY : nowMs + pace
    const claimFrom = claimsInOrder ? 0 : this.#random.below(1_000_000) / 1_000_000
    const places = [...this.#held.values()].map(({ seen }) => seen)
    const plan = planFrom(survey, { runners, held: places, claimFrom })
    for (const { pipeId } of plan.giveBack) {
      const held = this.#held.get(pipeId)
      if (!held) continue
      this.#held.delete(pipeId)
      this.#claimCounts.givenBack++
      await this.#release(held.worker.lease)
    }
    this.#toClaim = plan.claim.map(({ pipe: { pipeId, organizationId }, limit }) => ({ pipeId, organizationId, limit }))
  }

  /** One batch of claims, as a runner sends it. */
  async claimSome(): Promise<void> {
    const some = this.#toClaim.splice(0, claimsAtOnce)
    for (const { pipeId, organizationId, limit } of some) {
      const { now, expiresAt } = this.#leases.expiry()
      const claim = { organizationId, pipeId, runnerId: this.id, now, expiresAt, limit }
      const { workerCount, epoch, claimed } = await this.#database.write('claimWorkers', claim, organizationId)
      this.#claimCounts.claims++
      if (claimed.length === 0) this.#claimCounts.refused++
      for (const workerIndex of claimed)
        await this.#begin({ organizationId, pipeId, workerIndex, epoch }, workerCount, now)
    }
  }

  async #begin(lease: WorkerLease, workerCount: number, now: string): Promise<void> {
    const { pipeId, workerIndex } = lease
    this.#held.set(pipeId, {
      worker: { lease },
      seen: { pipeId, workerIndex, workerCount, isEnding: false, hasCompleted: false },
    })
    const report = {
      state: 'running',
      reason: null,
      doing: '',
      lag: null,
      phase: null,
      retainedBytes: null,
      deliveredUntil: null,
    } as const
    await this.#database.write('reportWorker', { lease, pipeVersion: 1, ...report, now }, lease.organizationId)
  }

  async #release({ organizationId, pipeId, workerIndex, epoch }: WorkerLease): Promise<void> {
    const now = new Date(Date.now()).toISOString()
    await this.#database.write(
      'releaseWorkers',
      { organizationId, pipeId, leases: [{ workerIndex, epoch }], now },
      organizationId,
    )
  }
}
