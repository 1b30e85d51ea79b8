// Loads the runner when it is first needed: for a pipe that should run, or for replication slots and other leftovers of pipes that do
// not run. Until then an idle Penstock needs no memory for it.
import type { Sql } from '../database/sql.ts'
import { describeError } from '../lib/describe-error.ts'
import type { Log } from '../lib/log.ts'
import { PokedLoop } from '../lib/poked-loop.ts'
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
  readonly #checks = new PokedLoop(() => this.#check())
  #isStarted = false
  #isStopping = false
  #hasFailed = false
  #runner: LoadedRunner | undefined

  constructor(reader: Sql, load: () => Promise<LoadedRunner>, log: Log) {
    this.#reader = reader
    this.#load = load
    this.#log = log
  }

  start(): void {
    this.#isStarted = true
    this.#checks.start(checkEveryMs)
  }

  /** Called after a change that may concern pipes. */
  poke(): void {
    if (this.#runner) this.#runner.poke()
    else if (this.#isStarted) this.#checks.poke()
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#checks.stop()
    await this.#runner?.stop()
  }

  async #check(): Promise<void> {
    try {
      await this.#loadWhenNeeded()
      this.#hasFailed = false
    } catch (error) {
      // Logged once, not every second.
      if (!this.#hasFailed) this.#log.warn('the runner could not be started', { error: describeError(error) })
      this.#hasFailed = true
    }
  }

  async #loadWhenNeeded(): Promise<void> {
    const isNeeded =
      (await hasPipesToRun(this.#reader)) || (await hasLeftovers(this.#reader)) || (await hasIdleSlots(this.#reader))
    if (!isNeeded) return
    const runner = await this.#load()
    if (this.#isStopping) return
    void this.#checks.stop()
    this.#runner = runner
    runner.start()
  }
}
