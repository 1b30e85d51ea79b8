// A few go on at once, those behind them when connections have been heard meanwhile: whatever comes together does not keep up what
// comes next.
export class CallQueue {
  readonly #waiting: (() => void)[] = []
  readonly #perTurn: number
  readonly #mostWaiting: number
  #inTurn = 0

  /** Beyond `mostWaiting` nobody waits: what they hold would take too much memory. */
  constructor(perTurn: number, mostWaiting = Number.POSITIVE_INFINITY) {
    this.#perTurn = perTurn
    this.#mostWaiting = mostWaiting
  }

  /** Somebody waits. */
  get isBusy(): boolean {
    return this.#waiting.length > 0
  }

  turn(): Promise<void> | undefined {
    if (this.#inTurn === 0) setImmediate(() => this.#next())
    this.#inTurn++
    const mayGoOn = this.#inTurn <= this.#perTurn || this.#waiting.length >= this.#mostWaiting
    return mayGoOn ? undefined : new Promise((resolve) => this.#waiting.push(resolve))
  }

  #next(): void {
    const next = this.#waiting.splice(0, this.#perTurn)
    this.#inTurn = next.length
    if (next.length > 0) setImmediate(() => this.#next())
    for (const goOn of next) goOn()
  }
}
