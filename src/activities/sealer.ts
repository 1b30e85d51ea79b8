// Seals new activities every few seconds.
import { setImmediate as nextLoopIteration } from 'node:timers/promises'
import type { Sql } from '../database/sql.ts'
import { describeError } from '../lib/describe-error.ts'
import type { Log } from '../lib/log.ts'
import { fullSeal } from './seal.ts'
import { findUnsealed } from './store.ts'

const sealEveryMs = 5_000
/** With PostgreSQL, another Penstock process may have ended before it sealed its activities. */
const lookEveryMs = 3_600_000
/** Seals of several organizations share a commit. */
const atOnce = 32
const organizationsPerLook = 200
/** Limits the work for one organization whose activities arrive faster than they are sealed. */
const mostSealsPerRun = 1_000

export interface SealerParts {
  reader: Sql
  /** Returns how many activities it has sealed. */
  seal(organizationId: string): Promise<number>
  log: Log
}

export class Sealer {
  readonly #parts: SealerParts
  #touched = new Set<string>()
  #sealing: Promise<void> | undefined
  #looking: Promise<void> | undefined
  #timers: NodeJS.Timeout[] = []
  #closing = false

  constructor(parts: SealerParts) {
    this.#parts = parts
  }

  start(): void {
    this.#timers = [
      setInterval(() => void this.sealTouched(), sealEveryMs).unref(),
      setInterval(() => void this.look(), lookEveryMs).unref(),
    ]
    void this.look()
  }

  /** Call before a write is sent: its connection then runs the seal after the write, and the seal covers it. */
  touch(organizationId: string): void {
    this.#touched.add(organizationId)
  }

  /** Touches every organization that has something to seal. */
  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined
    })
    return this.#looking
  }

  /** Runs do not overlap. Failed organizations are retried in the next run. */
  sealTouched(): Promise<void> {
    this.#sealing ??= this.#sealTouched().finally(() => {
      this.#sealing = undefined
    })
    return this.#sealing
  }

  /** Seals the remaining activities. Call after the last write, and before the database is closed. */
  async close(): Promise<void> {
    this.#closing = true
    for (const timer of this.#timers) clearInterval(timer)
    await this.#looking
    await this.#sealing
    await this.sealTouched()
  }

  async #look(): Promise<void> {
    try {
      for (let after: string | undefined = ''; after !== undefined && !this.#closing; ) {
        const { unsealed, last } = await findUnsealed(this.#parts.reader, after, organizationsPerLook)
        for (const organizationId of unsealed) this.touch(organizationId)
        after = last
        // On SQLite, reads block the main thread: requests run in between.
        await nextLoopIteration()
      }
    } catch (error) {
      this.#warn('activities that are not sealed yet could not be looked for', error)
    }
  }

  async #sealTouched(): Promise<void> {
    const touched = [...this.#touched]
    this.#touched = new Set()
    let failure: unknown
    for (let index = 0; index < touched.length; index += atOnce) {
      const some = touched.slice(index, index + atOnce)
      await Promise.all(
        some.map((organizationId) =>
          this.#seal(organizationId).catch((error: unknown) => {
            failure ??= error
            this.touch(organizationId)
          }),
        ),
      )
    }
    if (failure !== undefined) this.#warn('activities could not be sealed; they are tried again', failure)
  }

  async #seal(organizationId: string): Promise<void> {
    for (let seals = 0; seals < mostSealsPerRun; seals++) {
      if ((await this.#parts.seal(organizationId)) < fullSeal) return
    }
    this.touch(organizationId)
  }

  #warn(message: string, error: unknown): void {
    // Errors of the writer thread contain their description.
    const { description } = error as { description?: ReturnType<typeof describeError> }
    this.#parts.log.warn(message, { error: description ?? describeError(error) })
  }
}
