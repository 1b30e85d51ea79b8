// Checkpoints: moves committed pages from the write-ahead log into the database file. The long part runs in its own thread,
// because writing and syncing thousands of pages would block the writer.
import { fsyncSync, statSync } from 'node:fs'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { describeError } from '../lib/describe-error.ts'
import type { LogFields } from '../lib/log.ts'
import type { Verdict } from './group-commit.ts'
import { SqliteConnection, walLimitBytes } from './sqlite.ts'

/** Delay after a checkpoint that failed or was blocked by readers. */
const pauseMs = 1_000
/** Each pass moves what was committed during the previous one, so that little is left for the writer. */
const passes = 3

interface ThreadData {
  checkpointsOf: string
  descriptor: number
}

type Pass = { done: true } | { verdict: Verdict; error: NonNullable<LogFields['error']> }

export interface CheckpointEvents {
  /** Classified like a failed commit: a failed sync must not be retried, because the second one may succeed without the data. */
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

  /** Must be called after a commit. SQLite truncates the log to its limit when it restarts, so a longer log needs a checkpoint. */
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
      // The thread has ended; the next checkpoint starts another.
      this.#thread = undefined
      this.#fail('unavailable', describeError(error))
    })
    thread.unref()
    return thread
  }

  /** Moves the few pages committed since the last pass, after which the log restarts. */
  #finish(pass: Pass): void {
    if ('error' in pass) {
      this.#fail(pass.verdict, pass.error)
      return
    }
    try {
      if (!this.#connection.restartLog()) this.#notBefore = performance.now() + pauseMs
      this.#underWay = false
    } catch (error) {
      this.#fail(this.#connection.classify(error), describeError(error))
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

/** Syncs each pass here: SQLite would leave it all to the last pass, which runs in the writer. */
function moveAndSync(connection: SqliteConnection, descriptor: number): Pass {
  for (let pass = 0; pass < passes; pass++) {
    try {
      connection.moveLog()
    } catch (error) {
      return { verdict: connection.classify(error), error: describeError(error) }
    }
    try {
      fsyncSync(descriptor)
    } catch (error) {
      return { verdict: 'fatal', error: describeError(error) }
    }
  }
  return { done: true }
}
