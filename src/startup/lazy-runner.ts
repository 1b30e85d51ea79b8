// The runner, loaded when it is first needed: by a pipe that is to run, or for what pipes that do not run have at their sources. As
// long as there is neither, an idle Penstock spends no memory on it.
import type { Sql } from '../database/sql.ts'
import { describeError } from '../lib/describe-error.ts'
import type { Log } from '../lib/log.ts'
import { hasPipesToRun } from '../pipes/store.ts'
import { hasLeftovers } from '../progress/leftovers/store.ts'
import { hasIdleSlots } from '../progress/retained/store.ts'

const lookEveryMs = 1_000

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
  #looking: Promise<void> | undefined
  #lookAgain = false
  #isStopping = false
  #isInTrouble = false
  #runner: LoadedRunner | undefined

  constructor(reader: Sql, load: () => Promise<LoadedRunner>, log: Log) {
    this.#reader = reader
    this.#load = load
    this.#log = log
  }

  start(): void {
    this.#timer = setInterval(() => this.#look(), lookEveryMs)
    this.#timer.unref()
    this.#look()
  }

  /** Something was changed that may concern pipes. */
  poke(): void {
    if (this.#runner) this.#runner.poke()
    else if (this.#timer) this.#look()
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    clearInterval(this.#timer)
    await this.#looking
    await this.#runner?.stop()
  }

  #look(): void {
    if (this.#isStopping || this.#runner) return
    if (this.#looking) {
      this.#lookAgain = true
      return
    }
    this.#lookAgain = false
    this.#looking = this.#loadWhenNeeded()
      .then(() => {
        this.#isInTrouble = false
      })
      .catch((error: unknown) => {
        // Told once, not every second.
        if (!this.#isInTrouble) this.#log.warn('the runner could not be started', { error: describeError(error) })
        this.#isInTrouble = true
      })
      .finally(() => {
        this.#looking = undefined
        if (this.#lookAgain) this.#look()
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
