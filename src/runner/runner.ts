// Makes pipes do what their states say. A reconciler: it takes no input, is woken by a poke and by a timer, and looking twice
// changes nothing. What several runners want at once is decided by claims in the database.
import { describeError } from '../lib/describe-error.ts'
import { newId } from '../lib/id.ts'
import type { Log } from '../lib/log.ts'
import { listPipesToRun, type PipeToRun } from '../pipes/store.ts'
import { listRunners } from '../progress/runners/store.ts'
import { listWorkers } from '../progress/workers/store.ts'
import type { BackOffTimes } from './back-off.ts'
import { findConfiguration } from './configuration.ts'
import type { WorkerOrder } from './leased-worker.ts'
import { Leases, type LeaseTimes } from './leases.ts'
import { nextLookMs } from './pace.ts'
import type { PeriodicTask } from './periodic-task.ts'
import { makePlan } from './plan.ts'
import { type ReplayOrder, Replays } from './replay-queue.ts'
import type { Worker } from './worker.ts'
import { type HeldWorker, WorkerPool, within } from './worker-pool.ts'
import type { RunnerDatabase } from './worker-store.ts'

export interface RunnerTimes extends LeaseTimes {
  lookEveryMs: number
  /** How often what workers do is kept. */
  doingEveryMs: number
  /** What workers have to come to a boundary when the process ends. */
  stopMs: number
  /** For workers that were told to end at once, and for a last write. */
  graceMs: number
  /** Before refused rows are tried again after a failure. */
  replayAgainMs: number
}

const usualTimes: RunnerTimes = {
  lookEveryMs: 1_000,
  leaseMs: 15_000,
  renewEveryMs: 5_000,
  giveUpMs: 12_000,
  doingEveryMs: 2_000,
  stopMs: 10_000,
  graceMs: 2_000,
  replayAgainMs: 30_000,
}

const claimsAtOnce = 16

export interface RunnerParts {
  database: RunnerDatabase
  makeWorker(order: WorkerOrder): Promise<Worker>
  /** No other process can be on the database. */
  isAlone: boolean
  log: Log
  /** Tries rows again that were refused. */
  replay?(order: ReplayOrder): Promise<unknown>
  /** What is to be done beside. */
  chores?: PeriodicTask[]
  times?: Partial<RunnerTimes>
  backOff?: BackOffTimes
}

export class Runner {
  readonly id = newId()
  readonly #parts: RunnerParts
  readonly #times: RunnerTimes
  readonly #places: WorkerPool
  readonly #leases: Leases<HeldWorker>
  readonly #replays: Replays | undefined
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> | undefined
  #lookAgain = false
  /** With every tick: the installation is small enough for it. */
  #looksOften = true
  #paceMs: number
  #nextLookMs = 0
  #isStopping = false
  #isInTrouble = false

  constructor(parts: RunnerParts) {
    const { database, log, isAlone } = parts
    const times = { ...usualTimes, ...parts.times }
    this.#parts = parts
    this.#times = times
    this.#paceMs = times.lookEveryMs
    this.#places = new WorkerPool({
      write: database.write,
      log,
      retryEveryMs: times.lookEveryMs,
      doingEveryMs: times.doingEveryMs,
      stopReplays: async (place) => this.#replays?.breakOff(place),
      left: () => {
        // Where looks are dear, the next one is soon enough.
        if (this.#looksOften) this.poke()
      },
    })
    const { replay } = parts
    const { replayAgainMs: retryAfterMs, graceMs } = times
    this.#replays = replay && new Replays({ replay, write: database.write, log, retryAfterMs, graceMs })
    this.#leases = new Leases({ runnerId: this.id, database, places: this.#places, isAlone, times })
  }

  start(): void {
    this.#timer = setInterval(() => this.#tick(), this.#times.lookEveryMs)
    this.#timer.unref()
    this.poke()
  }

  /** Looks for what is to be done, now. */
  poke(): void {
    if (this.#looking) {
      this.#lookAgain = true
      return
    }
    this.#lookAgain = false
    this.#looking = this.#look().finally(() => {
      this.#looking = undefined
      if (this.#lookAgain && !this.#isStopping) this.poke()
    })
  }

  /** Ends all workers, at a boundary if they come to one in time, and gives their places back. */
  async stop(): Promise<void> {
    if (this.#isStopping) return
    this.#isStopping = true
    const { stopMs, graceMs } = this.#times
    const chores = Promise.all((this.#parts.chores ?? []).map((chore) => chore.close()))
    // Leases are renewed meanwhile.
    await Promise.all([this.#places.close({ stopMs, graceMs }), this.#replays?.close(), within(chores, graceMs)])
    clearInterval(this.#timer)
    // A database that does not answer must not hold up the end; the leases end by themselves.
    const last = Promise.resolve(this.#looking).then(() => this.#leases.end())
    await within(
      last.catch((error: unknown) => this.#warn('a runner could not sign off', error)),
      graceMs,
    )
  }

  #tick(): void {
    // Not within the look, which may take its time.
    const places = this.#places.all
    if (places.length > 0 && this.#leases.areOverdue) {
      this.#warn('leases could not be renewed in time; the workers of this process end')
      for (const held of places) this.#places.lose(held)
    }
    this.#leases.renew().catch((error: unknown) => this.#tellTrouble('leases could not be renewed', error))
    void this.#places.saveActivity()
    if (performance.now() >= this.#nextLookMs) this.poke()
  }

  async #look(): Promise<void> {
    try {
      if (!this.#leases.areKnown) await this.#leases.renew()
      for (const held of this.#places.all) this.#places.tell(held)
      if (!this.#isStopping) await this.#reconcile()
      this.#isInTrouble = false
    } catch (error) {
      this.#tellTrouble('pipes could not be looked up', error)
    }
  }

  async #reconcile(): Promise<void> {
    const { reader, write } = this.#parts.database
    const nowMs = Date.now()
    const now = new Date(nowMs).toISOString()
    const seenSince = new Date(nowMs - this.#times.leaseMs).toISOString()
    const [pipes, workers, runners] = await Promise.all([
      listPipesToRun(reader),
      listWorkers(reader),
      listRunners(reader, seenSince),
    ])
    this.#setPace(pipes.length + workers.length, runners.length)
    if (this.#isStopping) return
    for (const chore of this.#parts.chores ?? []) chore.consider({ isFirst: runners[0] === this.id })
    const all = this.#places.all
    const places = all.map((held) => {
      const { place, slots, isEnding, hasCompleted } = held.place
      return { held, pipeId: place.pipeId, slot: place.slot, slots, isEnding, hasCompleted }
    })
    const plan = makePlan({ now, runners, pipes, workers, places, claimFrom: Math.random() })
    for (const { held } of [...plan.stop, ...plan.giveBack]) this.#places.end(held)
    for (const { held } of plan.rebalance) this.#places.end(held, { isForChange: true })
    const byId = new Map(pipes.map((pipe) => [pipe.pipeId, pipe]))
    for (const { held, pipeId } of places) {
      const pipe = byId.get(pipeId)
      if (!pipe) continue
      await this.#places.attempt(() => this.#follow(held, pipe), pipe)
      this.#replays?.consider(pipe, held)
    }
    for (const pipe of plan.settle) {
      const { organizationId, pipeId } = pipe
      await this.#places.attempt(() => write('settlePipe', { organizationId, pipeId, now }, organizationId), pipe)
    }
    // Some at a time: they share commits. Not for long: others may have come that are to have a part, and commands too.
    const untilMs = performance.now() + this.#paceMs
    for (let begin = 0; begin < plan.claim.length && performance.now() < untilMs; begin += claimsAtOnce) {
      const some = plan.claim.slice(begin, begin + claimsAtOnce)
      await Promise.all(some.map(({ pipe, limit }) => this.#places.attempt(() => this.#claim(pipe, limit), pipe)))
    }
  }

  #setPace(rows: number, runners: number): void {
    const everyMs = this.#times.lookEveryMs
    this.#paceMs = nextLookMs({ rows, runners, everyMs, random: Math.random() })
    this.#looksOften = this.#paceMs === everyMs
    // Ticks are not on time to the millisecond.
    this.#nextLookMs = performance.now() + this.#paceMs - everyMs / 2
  }

  /** Looks at a pipe or a service that was changed since. */
  async #follow(held: HeldWorker, pipe: PipeToRun): Promise<void> {
    const { version, serviceVersion } = pipe
    if (held.place.isEnding && !held.place.hasCompleted) return
    if (held.version === version && held.serviceVersion === serviceVersion) return
    const configuration = await findConfiguration(this.#parts.database.reader, pipe)
    if (!configuration || 'hindrance' in configuration) return
    held.version = version
    held.serviceVersion = serviceVersion
    // There may be more to load now.
    if (held.place.hasCompleted) this.#places.end(held)
    else held.place.want(configuration)
  }

  async #claim(pipe: PipeToRun, limit: number): Promise<void> {
    const { database, makeWorker, backOff } = this.#parts
    const { organizationId, pipeId } = pipe
    const configuration = await findConfiguration(database.reader, pipe)
    if (!configuration || this.#isStopping) return
    const { now, expiresAt } = this.#leases.expiry()
    if ('hindrance' in configuration) {
      const failure = { organizationId, pipeId, state: 'Failed' as const, reason: configuration.hindrance, now }
      await database.write('failPipe', failure, organizationId)
      return
    }
    const claim = { organizationId, pipeId, runnerId: this.id, now, expiresAt, limit }
    this.#places.claiming.add(pipeId)
    try {
      const { slots, epoch, claimed } = await database.write('claimWorkers', claim, organizationId)
      for (const slot of claimed) {
        const place = { organizationId, pipeId, slot, epoch }
        if (this.#isStopping) await this.#places.release(place)
        else this.#places.begin({ place, slots, configuration, makeWorker, ...(backOff ? { backOff } : {}) }, pipe)
      }
    } finally {
      this.#places.claiming.delete(pipeId)
    }
  }

  /** Told once, not every second. */
  #tellTrouble(message: string, error: unknown): void {
    if (!this.#isInTrouble) this.#warn(message, error)
    this.#isInTrouble = true
  }

  #warn(message: string, error?: unknown): void {
    this.#parts.log.warn(message, error === undefined ? {} : { error: describeError(error) })
  }
}
