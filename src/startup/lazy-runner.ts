// Loads the runner when it is first needed: for a pipe that should run, or for replication slots and other leftovers of pipes that do
// not run. Until then an idle Penstock needs no memory for it.
import type { Sql } from '../database/sql.ts'
import { describeError } from '../lib/describe-error.ts'
import type { Log } from '../lib/log.ts'
import { hasPipesToRun } from '../pipes/store.ts'
import { hasLeftovers } from '../progress/leftovers/store.ts'
import { hasIdleSlots } from '../progress/retained/store.ts'

const checkEveryMs = 1_000

export interface LoadedRunner {
  start(): void
  poke(): void
  stop(): Promise<void>
}

export class LazyRunner {
  readonly #reader: Sql
  readonly #load: () => Promise<LoadedRunner>
  readonly #log: Log
  #timer: NodeJS.Timeout | undefined
  #checking: Promise<void> | undefined
  #checkAgain = false
  #isStopping = false
  #hasFailed = false
  #runner: LoadedRunner | undefined

  constructor(reader: Sql, load: () => Promise<LoadedRunner>, log: Log) {
    this.#reader = reader
    this.#load = load
    this.#log = log
  }

  start(): void {
    this.#timer = setInterval(() => this.#check(), checkEveryMs)
    this.#timer.unref()
    this.#check()
  }

  /** Called after a change that may concern pipes. */
  poke(): void {
    if (this.#runner) this.#runner.poke()
    else if (this.#timer) this.#check()
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    clearInterval(this.#timer)
    await this.#checking
    await this.#runner?.stop()
  }

  #check(): void {
    if (this.#isStopping || this.#runner) return
    if (this.#checking) {
      this.#checkAgain = true
      return
    }
    this.#checkAgain = false
    this.#checking = this.#loadWhenNeeded()
      .then(() => {
        this.#hasFailed = false
      })
      .catch((error: unknown) => {
        // Logged once, not every second.
        if (!this.#hasFailed) this.#log.warn('the runner could not be started', { error: describeError(error) })
        this.#hasFailed = true
      })
      .finally(() => {
        this.#checking = undefined
        if (this.#checkAgain) this.#check()
      })
  }

  async #loadWhenNeeded(): Promise<void> {
    const isNeeded =
      (await hasPipesToRun(this.#reader)) || (await hasLeftovers(this.#reader)) || (await hasIdleSlots(this.#reader))
    if (!isNeeded) return
    const runner = await this.#load()
    if (this.#isStopping) return
    clearInterval(this.#timer)
    this.#runner = runner
    runner.start()
  }
}
