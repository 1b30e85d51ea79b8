// Many runners on one simulated database, in simulated time. Within a step all runners see the same rows, as with concurrent
// reads of one database; their claims are then decided one after another.
import { type Survey, survey } from '../../src/runner/plan.ts'
import type { Random } from '../random.ts'
import { type Load, SimulatedDatabase } from './database.ts'
import { type ClaimBehavior, type ClaimCounts, leaseMs, SimulatedRunner } from './runner.ts'

const stepMs = 250
/** One batch of claims takes 25 ms. */
const batchesPerStep = 10

const realClock = { date: Date.now, performance: performance.now }

export interface SimulationResult {
  /** Simulated time, including the quiet period at its end. */
  seconds: number
  /** Time until the last change. */
  movingSeconds: number
  load: Load
  /** In the busiest second. */
  mostStatements: number
  mostRowsRead: number
  claimCounts: ClaimCounts
  /** Time until half of the largest number of vacant pipes had a worker again; undefined when this did not happen. */
  halfTakenSeconds: number | undefined
  allTakenSeconds: number | undefined
  fewest: number
  most: number
}

export class Fleet {
  readonly database: SimulatedDatabase
  readonly #random: Random
  readonly #behavior: ClaimBehavior
  readonly #pipes: number
  #runners: SimulatedRunner[] = []
  readonly #claimCounts: ClaimCounts = { claims: 0, refused: 0, givenBack: 0 }
  #nowMs: number
  #started = 0
  #stepKey: string | undefined
  #seen: { key: string; survey: Survey } | undefined

  constructor(parts: { pipes: number; random: Random; behavior: ClaimBehavior; nowMs: number }) {
    this.database = new SimulatedDatabase(parts.pipes)
    this.#pipes = parts.pipes
    this.#random = parts.random
    this.#behavior = parts.behavior
    this.#nowMs = parts.nowMs
    // Leases read the clock of the process.
    Date.now = () => this.#nowMs
    performance.now = () => this.#nowMs
  }

  /** Restores the real clock. */
  close(): void {
    Date.now = realClock.date
    performance.now = realClock.performance
  }

  get size(): number {
    return this.#runners.length
  }

  start(count: number, withinMs: number): void {
    const { database } = this
    for (let index = 0; index < count; index++) {
      const startsMs = this.#nowMs + this.#random.below(withinMs)
      const parts = {
        database,
        random: this.#random,
        behavior: this.#behavior,
        claimCounts: this.#claimCounts,
        startsMs,
      }
      this.#runners.push(new SimulatedRunner(`runner-${this.#started++}`, parts))
    }
  }

  /** Stops runners without releasing their leases. */
  kill(count: number): void {
    this.#runners = this.#random.shuffle(this.#runners).slice(count)
  }

  /** Runs for a time, or until nothing changes any more. */
  async run(options: { seconds: number; untilCalm: boolean }): Promise<SimulationResult> {
    const beginMs = this.#nowMs
    const load = { ...this.database.load }
    const claimCounts = { ...this.#claimCounts }
    let second = { ...load }
    let mostStatements = 0
    let mostRowsRead = 0
    let mostVacant = 0
    let halfMs: number | undefined
    let allMs: number | undefined
    let calmSinceMs = beginMs
    while (this.#nowMs - beginMs < options.seconds * 1000) {
      const changesBefore = this.database.changes
      await this.#step()
      const vacant = this.database.countVacant(this.#now())
      if (vacant > mostVacant) {
        mostVacant = vacant
        halfMs = allMs = undefined
      }
      if (vacant <= mostVacant / 2) halfMs ??= this.#nowMs
      if (vacant === 0) allMs ??= this.#nowMs
      else allMs = undefined
      const isClaiming = this.#runners.some((runner) => runner.isClaiming)
      if (vacant > 0 || isClaiming || this.database.changes !== changesBefore) calmSinceMs = this.#nowMs
      if ((this.#nowMs - beginMs) % 1000 === 0) {
        const now = this.database.load
        mostStatements = Math.max(mostStatements, now.statements - second.statements)
        mostRowsRead = Math.max(mostRowsRead, now.rowsRead - second.rowsRead)
        second = { ...now }
      }
      // All leases have expired by then, and every runner has surveyed since.
      if (options.untilCalm && this.#nowMs - calmSinceMs > leaseMs + 20_000) break
    }
    const after = this.#claimCounts
    const workers = this.#runners.map((runner) => runner.workers)
    const inSeconds = (ms: number | undefined) =>
      ms === undefined || mostVacant === 0 ? undefined : (ms - beginMs) / 1000
    return {
      seconds: (this.#nowMs - beginMs) / 1000,
      movingSeconds: (calmSinceMs - beginMs) / 1000,
      load: {
        statements: this.database.load.statements - load.statements,
        rowsRead: this.database.load.rowsRead - load.rowsRead,
        rowsWritten: this.database.load.rowsWritten - load.rowsWritten,
      },
      mostStatements,
      mostRowsRead,
      claimCounts: {
        claims: after.claims - claimCounts.claims,
        refused: after.refused - claimCounts.refused,
        givenBack: after.givenBack - claimCounts.givenBack,
      },
      halfTakenSeconds: inSeconds(halfMs),
      allTakenSeconds: inSeconds(allMs),
      fewest: workers.reduce((one, other) => Math.min(one, other), this.#pipes),
      most: workers.reduce((one, other) => Math.max(one, other), 0),
    }
  }

  async #step(): Promise<void> {
    const seenSince = new Date(this.#nowMs - leaseMs).toISOString()
    const look = async () => ({ survey: await this.#survey(), runners: this.database.listRunners(seenSince) })
    // Before any runner changes something in this step.
    await this.#survey()
    for (const runner of this.#random.shuffle(this.#runners)) await runner.tick(this.#nowMs, look)
    for (let batch = 0; batch < batchesPerStep; batch++) {
      const claiming = this.#runners.filter((runner) => runner.isClaiming)
      for (const runner of this.#random.shuffle(claiming)) await runner.claimSome()
    }
    this.#nowMs += stepMs
    this.#stepKey = undefined
  }

  /** Shared by all runners of a step; rebuilt only when its result would differ. */
  async #survey(): Promise<Survey> {
    const now = this.#now()
    this.#stepKey ??= `${this.database.changes}/${this.database.countVacant(now)}`
    if (this.#seen?.key !== this.#stepKey) {
      const { pipes, workers } = await this.database.listAll()
      this.#seen = { key: this.#stepKey, survey: survey({ now, pipes, workers }) }
    }
    return this.#seen.survey
  }

  #now(): string {
    return new Date(this.#nowMs).toISOString()
  }
}
