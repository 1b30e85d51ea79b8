// Work that runs when it is poked and at an interval, never twice at once. Pokes during a run cause one more run after it.
export class PokedLoop {
  readonly #work: () => Promise<void>
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #isPoked = false
  #isStopped = false

  /** `work` must not reject. */
  constructor(work: () => Promise<void>) {
    this.#work = work
  }

  /** The present run. */
  get running(): Promise<void> | undefined {
    return this.#running
  }

  /** Runs the work now and at the interval. Does not keep the process alive. */
  start(everyMs: number): void {
    this.#timer = setInterval(() => this.poke(), everyMs)
    this.#timer.unref()
    this.poke()
  }

  /** Runs the work now, or again after the present run. Also possible without `start`. */
  poke(): void {
    if (this.#isStopped) return
    if (this.#running) {
      this.#isPoked = true
      return
    }
    this.#isPoked = false
    this.#running = this.#work().finally(() => {
      this.#running = undefined
      if (this.#isPoked) this.poke()
    })
  }

  /** No run starts any more. Resolves when the present one has ended; do not await this in the work itself. */
  async stop(): Promise<void> {
    this.#isStopped = true
    clearInterval(this.#timer)
    await this.#running
  }
}
