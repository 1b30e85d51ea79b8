// What every drill of the whole system looks like: a promise, and a run that tells whether it was kept.

export interface SystemDrill {
  id: string
  promise: string
  /** How much of it a test run does, and a long one. */
  ci: number
  full: number
  /** What sizes count. */
  unit: string
  run(options: { seed: number; size: number; folder: string }): Promise<SystemResult>
}

const mostRounds = 3

/**
 * For promises of time. Something else on the machine spoils one round; what Penstock does wrong spoils each. A round that was
 * kept, or broke more than such a promise, is the last.
 */
export async function inRounds<Round extends { isOnlySlow: boolean }>(
  run: () => Promise<Round>,
): Promise<Round & { rounds: number }> {
  for (let rounds = 1; ; rounds++) {
    const round = await run()
    if (!round.isOnlySlow || rounds === mostRounds) return { ...round, rounds }
  }
}

export interface SystemResult {
  isKept: boolean
  figures: Record<string, number>
  /** What was not as promised, for whoever looks into it. */
  toLookAt?: string
}
