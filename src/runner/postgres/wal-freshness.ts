// Time up to which the WAL of the source is delivered. The end of the WAL is queried from time to time. When everything up to it is
// delivered, so is everything that was committed before the query.

export interface WalFreshness {
  /** Call often, with the LSN up to which everything is delivered. */
  look(acknowledged: bigint): void
}

export interface WalFreshnessParts {
  everyMs: number
  /** After a rejection it is called again later. */
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
      // A mark that is not reached yet is kept: a newer one would be reached later.
      if (!mark && !isAsking && performance.now() - askedAtMs >= everyMs) void ask()
    },
  }
}
