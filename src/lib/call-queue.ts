// Runs a limited number of callers per event-loop turn, so that socket events are handled in between and a burst does not delay later
// work.
export class CallQueue {
  readonly #waiting: (() => void)[] = []
  readonly #perTurn: number
  readonly #mostWaiting: number
  #inTurn = 0

  /** Beyond `mostWaiting`, callers continue at once: waiting callers hold memory. */
  constructor(perTurn: number, mostWaiting = Number.POSITIVE_INFINITY) {
    this.#perTurn = perTurn
    this.#mostWaiting = mostWaiting
  }

  /** Whether callers are waiting. */
  get isBusy(): boolean {
    return this.#waiting.length > 0
  }

  turn(): Promise<void> | undefined {
    if (this.#inTurn === 0) setImmediate(() => this.#next())
    this.#inTurn++
    const mayContinue = this.#inTurn <= this.#perTurn || this.#waiting.length >= this.#mostWaiting
    return mayContinue ? undefined : new Promise((resolve) => this.#waiting.push(resolve))
  }

  #next(): void {
    const next = this.#waiting.splice(0, this.#perTurn)
    this.#inTurn = next.length
    if (next.length > 0) setImmediate(() => this.#next())
    for (const resume of next) resume()
  }
}
