// Fails single calls of a worker to the outside. A test that fails the first call, then the second, and so on, covers every point
// at which a failure can occur.
import { setImmediate as nextTurn } from 'node:timers/promises'

/**
 * `fail`: the call has no effect. `lost`: it has its effect, but the answer is lost. `die`, `die-after`: the process ends before or
 * after it. `late`: the process ends, and the call takes effect after another worker has taken over.
 */
export const faultModes = ['fail', 'lost', 'die', 'die-after', 'late'] as const
export type FaultMode = (typeof faultModes)[number]

export class Faults {
  readonly #at: Set<number>
  readonly #mode: FaultMode
  /** Delayed effects. */
  readonly late: (() => Promise<unknown>)[] = []
  /** Names of all calls. */
  calls: string[] = []
  #asked = 0
  #kill: () => void = () => undefined

  constructor(at: number[], mode: FaultMode) {
    this.#at = new Set(at)
    this.#mode = mode
  }

  /** Sets the process that makes calls from now on. */
  newProcess(kill: () => void): { isDead: boolean } {
    const process = { isDead: false }
    this.#kill = () => {
      process.isDead = true
      kill()
    }
    return process
  }

  async call<Result>(
    name: string,
    process: { isDead: boolean },
    effect: () => Promise<Result>,
    failure: () => Error,
  ): Promise<Result> {
    // Calls take different times: a later call may finish first.
    for (let ticks = this.#asked++ % 3; ticks >= 0; ticks--) await nextTurn()
    if (process.isDead) throw failure()
    const isFault = this.#at.has(this.calls.push(name))
    if (!isFault) return effect()
    switch (this.#mode) {
      case 'fail':
        throw failure()
      case 'lost':
        await effect()
        throw failure()
      case 'die-after':
        await effect()
        this.#kill()
        throw failure()
      case 'late':
        this.late.push(effect)
        this.#kill()
        throw failure()
      case 'die':
        this.#kill()
        throw failure()
    }
  }
}
