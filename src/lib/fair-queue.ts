// Runs work of many callers, a few at once. ConcurrencyLimit take turns, however many wait in each: a caller who sends without end delays
// those in the same lane and no others.

/** Nothing of the work was begun. */
export class QueueFull extends Error {
  constructor() {
    super('the queue is full')
    this.name = 'QueueFull'
  }
}

interface Waiter {
  begin(): void
  drop(): void
}

export interface FairQueueLimits {
  atOnce: number
  mostWaiting: number
  mostWaitingInLane: number
}

export class FairQueue {
  readonly #limits: FairQueueLimits
  /** In the order of their turns; none is empty. */
  readonly #lanes = new Map<string, Waiter[]>()
  #running = 0
  #waiting = 0

  constructor(limits: FairQueueLimits) {
    this.#limits = limits
  }

  /** Rejects with QueueFull, also later: whoever waits in the longest lane makes room for somebody in a shorter one. */
  async run<Value>(lane: string, work: () => Promise<Value>): Promise<Value> {
    if (this.#running < this.#limits.atOnce) this.#running++
    else await this.#wait(lane)
    try {
      return await work()
    } finally {
      const next = this.#next()
      if (next) next.begin()
      else this.#running--
    }
  }

  #wait(lane: string): Promise<void> {
    if (!this.#hasRoom(lane)) return Promise.reject(new QueueFull())
    return new Promise((resolve, reject) => {
      const waiter: Waiter = { begin: resolve, drop: () => reject(new QueueFull()) }
      const waiting = this.#lanes.get(lane)
      if (waiting) waiting.push(waiter)
      else this.#lanes.set(lane, [waiter])
      this.#waiting++
    })
  }

  #hasRoom(lane: string): boolean {
    const { mostWaiting, mostWaitingInLane } = this.#limits
    const ownLength = this.#lanes.get(lane)?.length ?? 0
    if (ownLength >= mostWaitingInLane) return false
    if (this.#waiting < mostWaiting) return true
    const [longest, waiting] = [...this.#lanes].reduce((one, other) => (other[1].length > one[1].length ? other : one))
    if (waiting.length <= ownLength + 1) return false
    this.#lanes.get(longest)!.pop()!.drop()
    this.#waiting--
    return true
  }

  #next(): Waiter | undefined {
    const [first] = this.#lanes
    if (!first) return undefined
    const [lane, waiting] = first
    const next = waiting.shift()
    this.#waiting--
    this.#lanes.delete(lane)
    if (waiting.length > 0) this.#lanes.set(lane, waiting)
    return next
  }
}
