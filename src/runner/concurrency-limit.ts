// So many deliveries under way at once, and no more. The first that fails is remembered; whoever starts them decides what then.

export interface ConcurrencyLimit {
  readonly isFree: boolean
  readonly busyCount: number
  /** Resolves when there is a free lane, or when one has failed. */
  free(): Promise<void>
  start(work: () => Promise<void>): void
  /** Resolves when nothing is under way. */
  settled(): Promise<void>
  /** Throws what failed first, if anything has. */
  check(): void
}

export function makeConcurrencyLimit(count: number, failed: () => void): ConcurrencyLimit {
  const underWay = new Set<Promise<void>>()
  let failure: { error: unknown } | undefined

  return {
    get isFree() {
      return underWay.size < count
    },
    get busyCount() {
      return underWay.size
    },
    async free() {
      while (underWay.size >= count && !failure) await Promise.race(underWay)
    },
    start(work) {
      const lane = work()
        .catch((error: unknown) => {
          failure ??= { error }
          failed()
        })
        .finally(() => underWay.delete(lane))
      underWay.add(lane)
    },
    async settled() {
      while (underWay.size > 0) await Promise.all(underWay)
    },
    check() {
      if (failure) throw failure.error
    },
  }
}
