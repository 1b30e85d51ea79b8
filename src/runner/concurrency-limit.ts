// Limits how many deliveries run concurrently, and keeps the first failure for the caller.

export interface ConcurrencyLimit {
  readonly isFree: boolean
  readonly busyCount: number
  /** Resolves when another one may start, or when one has failed. */
  free(): Promise<void>
  start(work: () => Promise<void>): void
  /** Resolves when none is running. */
  settled(): Promise<void>
  /** Throws the first failure, if there is one. */
  check(): void
}

export function makeConcurrencyLimit(count: number, failed: () => void): ConcurrencyLimit {
  const running = new Set<Promise<void>>()
  let failure: { error: unknown } | undefined

  return {
    get isFree() {
      return running.size < count
    },
    get busyCount() {
      return running.size
    },
    async free() {
      while (running.size >= count && !failure) await Promise.race(running)
    },
    start(work) {
      const task = work()
        .catch((error: unknown) => {
          failure ??= { error }
          failed()
        })
        .finally(() => running.delete(task))
      running.add(task)
    },
    async settled() {
      while (running.size > 0) await Promise.all(running)
    },
    check() {
      if (failure) throw failure.error
    },
  }
}
