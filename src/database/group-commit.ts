// Group commit: writes that arrive during a commit run one after another and are made durable by one commit. No write is
// answered before that commit. A failed write is rolled back alone; a failed commit rolls back the whole group.
// Most writes fail before changing anything, so a group first runs without savepoints, which take a quarter of the time.
// If a write fails after a change, the group is rolled back and each write runs again in a savepoint: a write may run twice.
import { Problem } from '../lib/problem.ts'
import type { Sql } from './sql.ts'

/** Classification of a database error. */
export type Verdict =
  /** A defect or a Problem: this write failed, the others continue. */
  | 'write-failed'
  /** Deadlock or serialization failure: retry the write. */
  | 'try-again'
  /** The database accepts no writes now (full, unreachable, timed out). */
  | 'unavailable'
  /** Committed data may not be on disk: the process must exit. */
  | 'fatal'

export interface WriteConnection extends Sql {
  /** Number of executed statements that change data. */
  readonly changeCount: number
  begin(): Promise<void>
  savepoint(): Promise<void>
  release(): Promise<void>
  /** Rolls back to the current savepoint. False when the whole transaction has been rolled back. */
  undo(): Promise<boolean>
  commit(): Promise<void>
  rollback(): Promise<void>
  classify(error: unknown): Verdict
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
   * Writes with the same key keep their order, and keys run in alphabetical order. Two processes that lock the same rows
   * then lock them in the same order and do not deadlock.
   */
  orderKey?(job: Job): string
  /** Called once per group after its commit, with the outcome of every write. */
  settle(settled: [Job, Outcome][], metrics: CommitGroupMetrics): void
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

  /** Refuses all further writes, as after a failed sync. */
  stop(error: unknown): void {
    this.#fatal ??= error
  }

  /** Resolves when all added writes have been settled. */
  async idle(): Promise<void> {
    while (this.#running) await this.#running
  }

  async #drain(): Promise<void> {
    // Lets `add` set `#running` first. It is cleared synchronously after the last check of the queue, so that no added write
    // is missed.
    await Promise.resolve()
    while (this.#queue.length > 0) {
      const group = this.#queue.splice(0, maxGroupSize)
      const { orderKey } = this.#options
      if (orderKey) group.sort((a, b) => compareText(orderKey(a.job), orderKey(b.job)))
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
      const verdict = connection.classify(error)
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
    // Jitter: two groups that deadlocked would deadlock again if both retried at once.
    if (again.length > 0) await new Promise((resolve) => setTimeout(resolve, Math.random() * 10))
  }

  /** After a failed sync no further commit may be confirmed. */
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
      // A failed fsync must not be retried: the second one may succeed without the data.
      throw connection.classify(error) === 'fatal' ? error : new SavepointsNeeded()
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
      const verdict = connection.classify(error)
      if (verdict === 'fatal' || !(await connection.undo())) throw error
      return { error, verdict }
    }
  }
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
