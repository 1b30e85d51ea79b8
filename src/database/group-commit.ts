// Group commit: writes that arrive while a commit runs are executed one after another and made durable by one commit.
// Nobody is answered before that commit. One write that fails takes back only itself; a commit that fails takes back them all.
// A write that fails has seldom changed anything yet, so a group is first run without savepoints, which cost a quarter of the
// time. When one fails that has, the group is rolled back and run again, each write in a savepoint: a write may be run twice.
import { Problem } from '../lib/problem.ts'
import type { Sql } from './sql.ts'

/** What the database meant by an error. */
export type Verdict =
  /** Our own mistake, or a Problem: this write failed, the others go on. */
  | 'write-failed'
  /** Deadlock or serialization failure: the same write may succeed when run again. */
  | 'try-again'
  /** The database cannot take writes now (full, away, timed out). */
  | 'unavailable'
  /** What was said to be on disk may not be: the process must end. */
  | 'fatal'

export interface WriteConnection extends Sql {
  /** How many statements that change something have been run. */
  readonly changeCount: number
  begin(): Promise<void>
  savepoint(): Promise<void>
  release(): Promise<void>
  /** Undoes the current savepoint. False when the whole transaction is already gone. */
  undo(): Promise<boolean>
  commit(): Promise<void>
  rollback(): Promise<void>
  judge(error: unknown): Verdict
}

export type Outcome = { value: unknown } | { error: unknown; verdict: Verdict }

export interface CommitGroupMetrics {
  writes: number
  runMs: number
  commitMs: number
}

interface PendingWrite<Job> {
  job: Job
  tries: number
}

export interface GroupCommitOptions<Job> {
  connection: WriteConnection
  work(sql: Sql, job: Job): Promise<unknown>
  /**
   * Writes of one lane keep their order; lanes are run in the order of their names. Two processes that lock the same rows
   * then lock them in the same order, and do not deadlock.
   */
  lane?(job: Job): string
  /** Called once per group, after its commit: every write with its outcome. */
  settle(settled: [Job, Outcome][], figures: CommitGroupMetrics): void
}

class SavepointsNeeded extends Error {}

const maxGroupSize = 256
const maxTries = 8

export class GroupCommit<Job> {
  readonly #options: GroupCommitOptions<Job>
  #queue: PendingWrite<Job>[] = []
  #running: Promise<void> | undefined
  #fatal: unknown

  constructor(options: GroupCommitOptions<Job>) {
    this.#options = options
  }

  add(jobs: Job[]): void {
    for (const job of jobs) this.#queue.push({ job, tries: 0 })
    this.#running ??= this.#drain()
  }

  /** From now on every write is refused, as after a commit that the disk failed to keep. */
  stop(error: unknown): void {
    this.#fatal ??= error
  }

  /** Resolves when all that was added has been settled. */
  async idle(): Promise<void> {
    while (this.#running) await this.#running
  }

  async #drain(): Promise<void> {
    // `#running` is set before this can end, and cleared in the same breath as the last look at the queue: whoever adds
    // something finds somebody at work.
    await Promise.resolve()
    while (this.#queue.length > 0) {
      const group = this.#queue.splice(0, maxGroupSize)
      const { lane } = this.#options
      if (lane) group.sort((a, b) => compareText(lane(a.job), lane(b.job)))
      if (this.#fatal) this.#refuse(group, this.#fatal)
      else await this.#commitGroup(group)
    }
    this.#running = undefined
  }

  async #commitGroup(group: PendingWrite<Job>[], inSavepoints = false): Promise<void> {
    const { connection } = this.#options
    const settled: [Job, Outcome][] = []
    const again: PendingWrite<Job>[] = []
    const started = performance.now()
    let commitStarted = started
    try {
      await connection.begin()
      for (const write of group) {
        const outcome = inSavepoints ? await this.#runInSavepoint(write) : await this.#runPlainly(write)
        if ('error' in outcome && outcome.verdict === 'try-again' && ++write.tries < maxTries) again.push(write)
        else settled.push([write.job, outcome])
      }
      commitStarted = performance.now()
      await connection.commit()
    } catch (error) {
      await connection.rollback().catch(() => undefined)
      if (error instanceof SavepointsNeeded) return this.#commitGroup(group, true)
      const verdict = connection.judge(error)
      if (verdict === 'fatal') this.#fatal = error
      settled.length = again.length = 0
      for (const write of group) {
        if (verdict === 'try-again' && ++write.tries < maxTries) again.push(write)
        else settled.push([write.job, { error, verdict: verdict === 'fatal' ? 'fatal' : 'unavailable' }])
      }
    }
    this.#queue.unshift(...again)
    this.#options.settle(settled, {
      writes: settled.length,
      runMs: commitStarted - started,
      commitMs: performance.now() - commitStarted,
    })
    // Two groups that met in a deadlock would meet again if both came back at once.
    if (again.length > 0) await new Promise((resolve) => setTimeout(resolve, Math.random() * 10))
  }

  /** After a disk has failed to keep a commit, nothing more may be said to be kept. */
  #refuse(group: PendingWrite<Job>[], error: unknown): void {
    const settled = group.map(({ job }): [Job, Outcome] => [job, { error, verdict: 'fatal' }])
    this.#options.settle(settled, { writes: 0, runMs: 0, commitMs: 0 })
  }

  async #runPlainly(write: PendingWrite<Job>): Promise<Outcome> {
    const { connection, work } = this.#options
    const changesBefore = connection.changeCount
    try {
      return { value: await work(connection, write.job) }
    } catch (error) {
      if (error instanceof Problem && connection.changeCount === changesBefore)
        return { error, verdict: 'write-failed' }
      // A failed fsync must not be tried again: the second one may succeed without the data.
      throw connection.judge(error) === 'fatal' ? error : new SavepointsNeeded()
    }
  }

  async #runInSavepoint(write: PendingWrite<Job>): Promise<Outcome> {
    const { connection, work } = this.#options
    await connection.savepoint()
    try {
      const value = await work(connection, write.job)
      await connection.release()
      return { value }
    } catch (error) {
      const verdict = connection.judge(error)
      if (verdict === 'fatal' || !(await connection.undo())) throw error
      return { error, verdict }
    }
  }
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
