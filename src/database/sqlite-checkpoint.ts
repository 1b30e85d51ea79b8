// Moves what has been committed from the write-ahead log into the database file. The long part runs in a thread of its own:
// the writer, and everybody who waits for it, would stand still while thousands of pages are written and synced.
import { fsyncSync, statSync } from 'node:fs'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { describeError } from '../lib/describe-error.ts'
import type { LogFields } from '../lib/log.ts'
import type { Verdict } from './group-commit.ts'
import { SqliteConnection, walLimitBytes } from './sqlite.ts'

/** A checkpoint that readers got in the way of, or that failed, is not tried again at once. */
const pauseMs = 1_000
/** Each takes what was committed during the one before: what is left for the writer takes it a moment. */
const passes = 3

interface ThreadData {
  checkpointsOf: string
  descriptor: number
}

type Pass = { done: true } | { verdict: Verdict; error: NonNullable<LogFields['error']> }

export interface CheckpointEvents {
  /** Judged like a failed commit: a failed sync must not be tried again, the second one may succeed without the data. */
  onFailure(verdict: Verdict, error: NonNullable<LogFields['error']>): void
}

export class Checkpoints {
  readonly #file: string
  readonly #connection: SqliteConnection
  readonly #events: CheckpointEvents
  #thread: Worker | undefined
  #underWay = false
  #notBefore = 0

  constructor(file: string, connection: SqliteConnection, events: CheckpointEvents) {
    this.#file = file
    this.#connection = connection
    this.#events = events
  }

  /** Call after a commit. The log is cut back to its limit when it starts anew, so a longer one is due. */
  consider(): void {
    if (this.#underWay || performance.now() < this.#notBefore) return
    const size = statSync(`${this.#file}-wal`, { throwIfNoEntry: false })?.size ?? 0
    if (size <= walLimitBytes) return
    this.#underWay = true
    try {
      this.#thread ??= this.#start()
    } catch (error) {
      this.#fail('unavailable', describeError(error))
      return
    }
    this.#thread.postMessage('pass')
  }

  async close(): Promise<void> {
    if (!this.#thread) return
    const exited = new Promise((resolve) => this.#thread!.once('exit', resolve))
    this.#thread.postMessage('close')
    await exited
  }

  #start(): Worker {
    const workerData: ThreadData = { checkpointsOf: this.#file, descriptor: this.#connection.descriptor() }
    const thread = new Worker(new URL(import.meta.url), { workerData })
    thread.on('message', (pass: Pass) => this.#finish(pass))
    thread.on('error', (error) => {
      // It has ended; the next checkpoint starts another.
      this.#thread = undefined
      this.#fail('unavailable', describeError(error))
    })
    thread.unref()
    return thread
  }

  /** What was committed meanwhile is little; when that is in the file as well, the log starts anew. */
  #finish(pass: Pass): void {
    if ('error' in pass) {
      this.#fail(pass.verdict, pass.error)
      return
    }
    try {
      if (!this.#connection.restartLog()) this.#notBefore = performance.now() + pauseMs
      this.#underWay = false
    } catch (error) {
      this.#fail(this.#connection.judge(error), describeError(error))
    }
  }

  #fail(verdict: Verdict, error: NonNullable<LogFields['error']>): void {
    this.#underWay = verdict === 'fatal'
    this.#notBefore = performance.now() + pauseMs
    this.#events.onFailure(verdict, error)
  }
}

if (!isMainThread && workerData?.checkpointsOf) {
  const { checkpointsOf: file, descriptor } = workerData as ThreadData
  const connection = new SqliteConnection(file, { readOnly: false })
  const port = parentPort!
  port.on('message', (message: 'pass' | 'close') => {
    if (message === 'close') {
      connection.close()
      port.close()
      return
    }
    port.postMessage(moveAndSync(connection, descriptor))
  })
}

/** SQLite would leave the sync of all that was moved to the last pass, which is the writer's. */
function moveAndSync(connection: SqliteConnection, descriptor: number): Pass {
  for (let pass = 0; pass < passes; pass++) {
    try {
      connection.moveLog()
    } catch (error) {
      return { verdict: connection.judge(error), error: describeError(error) }
    }
    try {
      fsyncSync(descriptor)
    } catch (error) {
      return { verdict: 'fatal', error: describeError(error) }
    }
  }
  return { done: true }
}
