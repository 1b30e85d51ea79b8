// How often runners look at all pipes. Every runner reads all rows, so the load grows with rows times runners: a small installation
// looks every second, a large one less often, at least every 15 s.

/** Read budget of all runners together: about half a core of PostgreSQL (docs/explanation/scaling.md). */
const rowsPerSecond = 200_000
const longestMs = 15_000

export interface PaceSeen {
  rows: number
  runners: number
  /** Interval in a small installation. */
  everyMs: number
  /** From 0 up to 1: jitter that spreads runners that were started together. */
  random: number
}

/** Interval until the next look. */
export function nextLookMs({ rows, runners, everyMs, random }: PaceSeen): number {
  const bearableMs = Math.min(longestMs, (rows * runners * 1000) / rowsPerSecond)
  return bearableMs <= everyMs ? everyMs : bearableMs * (0.75 + random / 2)
}
