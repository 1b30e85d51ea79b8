// How often runners look at all pipes. Everyone reads everything, so what the database has to give grows with rows and runners:
// a small installation looks every second, a large one as often as the database bears, never less often than the longest interval.

/** What all runners together may read: about half a core of PostgreSQL (docs/scale.md). */
const rowsPerSecond = 200_000
const longestMs = 15_000

export interface PaceSeen {
  rows: number
  runners: number
  /** In a small installation. */
  everyMs: number
  /** From 0 up to 1. Runners that were started together drift apart by it. */
  random: number
}

/** From one look to the next. */
export function nextLookMs({ rows, runners, everyMs, random }: PaceSeen): number {
  const bearableMs = Math.min(longestMs, (rows * runners * 1000) / rowsPerSecond)
  return bearableMs <= everyMs ? everyMs : bearableMs * (0.75 + random / 2)
}
