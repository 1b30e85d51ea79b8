// Every call that a worker makes to the world outside passes here, and one of them goes wrong. A test that lets the first one go
// wrong, then the second, and so on until there is none left, has seen every moment at which something can happen.
import { setImmediate as nextTurn } from 'node:timers/promises'

/**
 * `fail`: nothing happens. `lost`: it happens, and nobody hears of it. `die`, `die-after`: the process ends before or after it.
 * `late`: the process ends, and what it asked for happens when another has long taken over.
 */
export const faultModes = ['fail', 'lost', 'die', 'die-after', 'late'] as const
export type FaultMode = (typeof faultModes)[number]

export class Faults {
  readonly #at: Set<number>
  readonly #mode: FaultMode
  /** What happens later than it should. */
  readonly late: (() => Promise<unknown>)[] = []
  /** Of all calls. */
  calls: string[] = []
  #asked = 0
  #kill: () => void = () => undefined

  constructor(at: number[], mode: FaultMode) {
    this.#at = new Set(at)
    this.#mode = mode
  }

  /** The process that makes calls from now on; gives whether it is dead. */
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
    // Some take longer than others: what was asked for later may be there first.
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
