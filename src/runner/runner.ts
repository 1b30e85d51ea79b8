// Reconciles pipes with their desired states. It takes no input and is triggered by `poke` and a timer; a second run changes nothing.
// Conflicts between runners are resolved by claims in the database.
import { describeError } from '../lib/describe-error.ts'
import { newId } from '../lib/id.ts'
import type { Log } from '../lib/log.ts'
import { PokedLoop } from '../lib/poked-loop.ts'
import { listPipesToRun, type PipeToRun } from '../pipes/store.ts'
import { listRunners } from '../progress/runners/store.ts'
import { listWorkers } from '../progress/workers/store.ts'
import type { BackOffTimes } from './back-off.ts'
import { findConfiguration } from './configuration.ts'
import { DeadRunners } from './dead-runners.ts'
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
  /** How often the activity of workers is saved. */
  activityEveryMs: number
  /** Time for workers to reach a boundary when the process ends. */
  stopMs: number
  /** Time for aborted workers to end, and for a last write. */
  graceMs: number
  /** Delay before a failed replay is tried again. */
  replayAgainMs: number
}

const usualTimes: RunnerTimes = {
  lookEveryMs: 1_000,
  leaseMs: 15_000,
  renewEveryMs: 5_000,
  giveUpMs: 12_000,
  activityEveryMs: 2_000,
  stopMs: 10_000,
  graceMs: 2_000,
  replayAgainMs: 30_000,
}

const claimsAtOnce = 16

export interface RunnerParts {
  database: RunnerDatabase
  makeWorker(order: WorkerOrder): Promise<Worker>
  /** No other process uses the database. */
  isAlone: boolean
  log: Log
  /** Replays rejected rows. */
  replay?(order: ReplayOrder): Promise<unknown>
  /** Background work beside the pipes. */
  tasks?: PeriodicTask[]
  times?: Partial<RunnerTimes>
  backOff?: BackOffTimes
}

export class Runner {
  readonly id = newId()
  readonly #parts: RunnerParts
  readonly #times: RunnerTimes
  readonly #pool: WorkerPool
  readonly #leases: Leases<HeldWorker>
  readonly #replays: Replays | undefined
  readonly #deadRunners: DeadRunners
  #timer: NodeJS.Timeout | undefined
  readonly #looks = new PokedLoop(() => this.#look())
  /** Looks with every tick, because the installation is small. */
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
    this.#pool = new WorkerPool({
      write: database.write,
      log,
      retryEveryMs: times.lookEveryMs,
      activityEveryMs: times.activityEveryMs,
      stopReplays: async (lease) => this.#replays?.breakOff(lease),
      onEnd: () => {
        // In a large installation, looks are expensive: wait for the next one.
        if (this.#looksOften) this.poke()
      },
    })
    const { replay } = parts
    const { replayAgainMs: retryAfterMs, graceMs } = times
    this.#replays = replay && new Replays({ replay, write: database.write, log, retryAfterMs, graceMs })
    this.#deadRunners = new DeadRunners(times)
    this.#leases = new Leases({ runnerId: this.id, database, workers: this.#pool, isAlone, times })
  }

  start(): void {
    this.#timer = setInterval(() => this.#tick(), this.#times.lookEveryMs)
    this.#timer.unref()
    this.poke()
  }

  /** Triggers a look now. */
  poke(): void {
    this.#looks.poke()
  }

  /** Ends all workers, at a boundary if they reach one in time, and releases their leases. */
  async stop(): Promise<void> {
    if (this.#isStopping) return
    this.#isStopping = true
    const { stopMs, graceMs } = this.#times
    const tasks = Promise.all((this.#parts.tasks ?? []).map((task) => task.close()))
    // The timer keeps renewing leases until the workers have ended.
    await Promise.all([this.#pool.close({ stopMs, graceMs }), this.#replays?.close(), within(tasks, graceMs)])
    clearInterval(this.#timer)
    // A database that does not answer must not delay the shutdown; the leases expire.
    const last = this.#looks.stop().then(() => this.#leases.end())
    await within(
      last.catch((error: unknown) => this.#warn('a runner could not sign off', error)),
      graceMs,
    )
  }

  #tick(): void {
    // Not as part of the look, which may take long.
    const observed = this.#pool.all
    if (observed.length > 0 && this.#leases.areOverdue) {
      this.#warn('leases could not be renewed in time; the workers of this process end')
      for (const held of observed) this.#pool.lose(held)
    }
    this.#leases.renew().catch((error: unknown) => this.#warnOnce('leases could not be renewed', error))
    void this.#pool.saveActivity()
    if (performance.now() >= this.#nextLookMs) this.poke()
  }

  async #look(): Promise<void> {
    try {
      if (!this.#leases.areKnown) await this.#leases.renew()
      for (const held of this.#pool.all) this.#pool.report(held)
      if (!this.#isStopping) await this.#reconcile()
      this.#isInTrouble = false
    } catch (error) {
      this.#warnOnce('pipes could not be looked up', error)
    }
  }

  async #reconcile(): Promise<void> {
    const { reader, write } = this.#parts.database
    const nowMs = Date.now()
    const now = new Date(nowMs).toISOString()
    const seenSince = new Date(nowMs - this.#times.leaseMs).toISOString()
    const [pipes, workers, listed] = await Promise.all([
      listPipesToRun(reader),
      listWorkers(reader),
      listRunners(reader, seenSince),
    ])
    const runners = listed.map(({ id }) => id)
    this.#setPace(pipes.length + workers.length, runners.length)
    if (this.#isStopping) return
    const others = listed.filter(({ id }) => id !== this.id)
    for (const dead of this.#deadRunners.find(others, performance.now())) {
      if (await write('endDeadRunner', { ...dead, now }, 'runner')) this.#warn('the leases of a dead runner were ended')
    }
    for (const task of this.#parts.tasks ?? []) task.consider({ isFirst: runners[0] === this.id })
    const all = this.#pool.all
    const observed = all.map((held) => {
      const { lease, workerCount, isEnding, hasCompleted } = held.worker
      return { held, pipeId: lease.pipeId, workerIndex: lease.workerIndex, workerCount, isEnding, hasCompleted }
    })
    const plan = makePlan({ now, runners, pipes, workers, held: observed, claimFrom: Math.random() })
    for (const { held } of [...plan.stop, ...plan.giveBack]) this.#pool.end(held)
    for (const { held } of plan.rebalance) this.#pool.end(held, { isForChange: true })
    const byId = new Map(pipes.map((pipe) => [pipe.pipeId, pipe]))
    for (const { held, pipeId } of observed) {
      const pipe = byId.get(pipeId)
      if (!pipe) continue
      await this.#pool.attempt(() => this.#follow(held, pipe), pipe)
      this.#replays?.consider(pipe, held)
    }
    for (const pipe of plan.settle) {
      const { organizationId, pipeId } = pipe
      await this.#pool.attempt(() => write('settlePipe', { organizationId, pipeId, now }, organizationId), pipe)
    }
    // Several at a time, because they share commits. Limited in time, so that new runners and commands are noticed.
    const untilMs = performance.now() + this.#paceMs
    for (let begin = 0; begin < plan.claim.length && performance.now() < untilMs; begin += claimsAtOnce) {
      const some = plan.claim.slice(begin, begin + claimsAtOnce)
      await Promise.all(some.map(({ pipe, limit }) => this.#pool.attempt(() => this.#claim(pipe, limit), pipe)))
    }
  }

  #setPace(rows: number, runners: number): void {
    const everyMs = this.#times.lookEveryMs
    this.#paceMs = nextLookMs({ rows, runners, everyMs, random: Math.random() })
    this.#looksOften = this.#paceMs === everyMs
    // Half an interval earlier, because ticks are not exact.
    this.#nextLookMs = performance.now() + this.#paceMs - everyMs / 2
  }

  /** Passes a changed configuration of the pipe or the service to the worker. */
  async #follow(held: HeldWorker, pipe: PipeToRun): Promise<void> {
    const { version, serviceVersion } = pipe
    if (held.worker.isEnding && !held.worker.hasCompleted) return
    if (held.version === version && held.serviceVersion === serviceVersion) return
    const configuration = await findConfiguration(this.#parts.database.reader, pipe)
    if (!configuration || 'hindrance' in configuration) return
    held.version = version
    held.serviceVersion = serviceVersion
    // A completed worker may have more to load with the new configuration.
    if (held.worker.hasCompleted) this.#pool.end(held)
    else held.worker.setDesired(configuration)
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
    this.#pool.claiming.add(pipeId)
    try {
      const { workerCount, epoch, claimed } = await database.write('claimWorkers', claim, organizationId)
      for (const workerIndex of claimed) {
        const lease = { organizationId, pipeId, workerIndex, epoch }
        if (this.#isStopping) await this.#pool.release(lease)
        else this.#pool.begin({ lease, workerCount, configuration, makeWorker, ...(backOff ? { backOff } : {}) }, pipe)
      }
    } finally {
      this.#pool.claiming.delete(pipeId)
    }
  }

  /** Logs a failure once, not every second. */
  #warnOnce(message: string, error: unknown): void {
    if (!this.#isInTrouble) this.#warn(message, error)
    this.#isInTrouble = true
  }

  #warn(message: string, error?: unknown): void {
    this.#parts.log.warn(message, error === undefined ? {} : { error: describeError(error) })
  }
}
