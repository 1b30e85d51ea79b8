// Runs work of many callers with limited concurrency. Keys are served alternately: a caller that sends without end delays only callers
// with the same key.

/** The work was not started. */
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
  mostWaitingPerKey: number
}

export class FairQueue {
  readonly #limits: FairQueueLimits
  /** Waiting callers by key, in the order in which keys are served; no list is empty. */
  readonly #waitingByKey = new Map<string, Waiter[]>()
  #running = 0
  #waiting = 0

  constructor(limits: FairQueueLimits) {
    this.#limits = limits
  }

  /** Rejects with QueueFull, also while waiting: the key with most waiting callers makes room for a caller with another key. */
  async run<Value>(key: string, work: () => Promise<Value>): Promise<Value> {
    if (this.#running < this.#limits.atOnce) this.#running++
    else await this.#wait(key)
    try {
      return await work()
    } finally {
      const next = this.#next()
      if (next) next.begin()
      else this.#running--
    }
  }

  #wait(key: string): Promise<void> {
    if (!this.#hasRoom(key)) return Promise.reject(new QueueFull())
    return new Promise((resolve, reject) => {
      const waiter: Waiter = { begin: resolve, drop: () => reject(new QueueFull()) }
      const waiting = this.#waitingByKey.get(key)
      if (waiting) waiting.push(waiter)
      else this.#waitingByKey.set(key, [waiter])
      this.#waiting++
    })
  }

  #hasRoom(key: string): boolean {
    const { mostWaiting, mostWaitingPerKey } = this.#limits
    const ownLength = this.#waitingByKey.get(key)?.length ?? 0
    if (ownLength >= mostWaitingPerKey) return false
    if (this.#waiting < mostWaiting) return true
    const [longest, waiting] = [...this.#waitingByKey].reduce((one, other) =>
      other[1].length > one[1].length ? other : one,
    )
    if (waiting.length <= ownLength + 1) return false
    this.#waitingByKey.get(longest)!.pop()!.drop()
    this.#waiting--
    return true
  }

  #next(): Waiter | undefined {
    const [first] = this.#waitingByKey
    if (!first) return undefined
    const [key, waiting] = first
    const next = waiting.shift()
    this.#waiting--
    this.#waitingByKey.delete(key)
    if (waiting.length > 0) this.#waitingByKey.set(key, waiting)
    return next
  }
}
