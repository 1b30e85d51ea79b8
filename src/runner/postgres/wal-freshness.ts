// Up to which moment the log of the source is delivered: where the log ends is asked now and then, and when everything up to there is
// delivered, so is all that was committed before it was asked.

export interface WalFreshness {
  /** To be called often, with the position up to which everything is delivered. */
  look(acknowledged: bigint): void
}

export interface WalFreshnessParts {
  everyMs: number
  /** Rejects when the source does not answer: then it is asked again later. */
  findEnd(): Promise<bigint>
  delivered(untilMs: number): void
}

export function makeFreshness({ everyMs, findEnd, delivered }: WalFreshnessParts): WalFreshness {
  let askedAtMs = Number.NEGATIVE_INFINITY
  let isAsking = false
  let mark: { lsn: bigint; untilMs: number } | undefined

  const ask = async (): Promise<void> => {
    isAsking = true
    askedAtMs = performance.now()
    const untilMs = Date.now()
    const lsn = await findEnd().catch(() => undefined)
    isAsking = false
    if (lsn !== undefined) mark = { lsn, untilMs }
  }

  return {
    look(acknowledged) {
      if (mark && acknowledged >= mark.lsn) {
        delivered(mark.untilMs)
        mark = undefined
      }
      // One that is not reached yet stays: a later one would be reached later.
      if (!mark && !isAsking && performance.now() - askedAtMs >= everyMs) void ask()
    },
  }
}
